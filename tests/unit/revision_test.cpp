// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/revision.hpp"

#include "tests/unit/unit.hpp"

using namespace cohort;

namespace {

RevisionSettings defaults() {
    return {{"worker_image",
             "ghcr.io/slinkyproject/slurmd:26.05-ubuntu26.04@sha256:"
             "f06ab7b1ce18b3d59c54c8c6f6b03698a28973d4d8fb30985bd0dfd673bd6dd9"},
            {"flox_env", "flox/echoip"},
            {"flox_generation", "2"},
            {"activate_mode", "run"},
            {"skip_containers", "logfile"},
            {"profile_schema", "1"},
            {"env_exports", ""},
            {"path_precedence", "prepend"},
            {"worker_cpus", "6"},
            {"worker_mem_mb", "6144"},
            {"home_path", "/home"}};
}

std::string hash_with(const std::string& key, const std::string& value) {
    auto settings = defaults();
    settings[key] = value;
    return revision_hash(canonical_settings(settings).value_or(""));
}

}  // namespace

int main() {
    return unit::run(
        "revision",
        {
            {"the seed's defaults are 365 bytes and hash to the published vector",
             [] {
                 const auto text = canonical_settings(defaults());
                 unit::expect(text.has_value(), "canonical");
                 unit::expect_equal(text->size(), 365U);
                 unit::expect_equal(
                     revision_hash(*text),
                     std::string(
                         "e3b81339a88a54396198493848a9331e16d286cb011a2a3c6a0383f2127103ed"));
             }},
            {"append gives the second vector",
             [] {
                 unit::expect_equal(
                     hash_with("path_precedence", "append"),
                     std::string(
                         "569bc01fa86baf903bf95968cda2b2e48f33123fb55302904930170d8adf2444"));
             }},
            {"any one setting changes it",
             [] {
                 const std::pair<const char*, const char*> changes[] = {
                     {"worker_image", "x@sha256:1"},
                     {"flox_env", "a/b"},
                     {"flox_generation", "3"},
                     {"activate_mode", "dev"},
                     {"skip_containers", ""},
                     {"profile_schema", "2"},
                     {"env_exports", "A"},
                     {"path_precedence", "append"},
                     {"worker_cpus", "7"},
                     {"worker_mem_mb", "1"},
                     {"home_path", ""}};
                 for (const auto& [key, value] : changes)
                     unit::expect(hash_with(key, value) != hash_with("worker_cpus", "6"), key);
             }},
            {"spellings of one value are one revision",
             [] {
                 unit::expect_equal(hash_with("env_exports", " B, A,B "),
                                    hash_with("env_exports", "A,B"));
                 unit::expect_equal(hash_with("worker_cpus", "06"), hash_with("worker_cpus", "6"));
                 unit::expect_equal(hash_with("home_path", "//home/"),
                                    hash_with("home_path", "/home"));
             }},
            {"absent and empty differ",
             [] {
                 auto settings = defaults();
                 settings.erase("home_path");
                 unit::expect(
                     revision_hash(*canonical_settings(settings)) != hash_with("home_path", ""),
                     "differ");
             }},
            {"unknown keys, control characters and wrong kinds are refused by name",
             [] {
                 const std::pair<const char*, std::string> bad[] = {
                     {"compute_replicas", "2"},
                     {"flox_env", "a\nb"},
                     {"worker_cpus", "six"},
                     {"path_precedence", "first"},
                     {"home_path", "home"},
                     {"home_path", "/a/../b"},
                     {"flox_env", ""},
                     {"flox_env", "echoip"},
                     {"flox_env", "flox/echoip:2"},
                     {"flox_env", "a/b/c"},
                     {"flox_env", "./b"},
                     {"flox_generation", "0"},
                     {"flox_generation", "latest"},
                     {"flox_generation", "-1"},
                     {"activate_mode", "prod"},
                     {"worker_mem_mb", "6G"},
                     {"worker_cpus", ""},
                     {"worker_image", "a b"},
                     {"worker_image", ""},
                     {"skip_containers", "logfile,slurmd"},
                     {"skip_containers", "flox-task-profile-init"},
                     {"env_exports", "A,B-C"},
                     {"env_exports", "PATH"},
                     {"env_exports", "SLURM_X"},
                     {"env_exports", "FLOX_FLOXHUB_TOKEN"},
                     {"home_path", std::string(5000, '/')}};
                 for (const auto& [key, value] : bad) {
                     auto settings = defaults();
                     settings[key] = value;
                     auto text = canonical_settings(settings);
                     unit::expect(!text.has_value(), key);
                     unit::expect_contains(text.error().message, key);
                 }
             }},
            {"an environment and its generation are set together or not at all",
             [] {
                 auto settings = defaults();
                 settings.erase("flox_generation");
                 unit::expect(!canonical_settings(settings), "environment alone");
                 settings.erase("flox_env");
                 unit::expect(canonical_settings(settings).has_value(), "neither");
                 settings.emplace("flox_generation", std::string("2"));
                 unit::expect(!canonical_settings(settings), "generation alone");
             }},
            {"a canonical text gives its settings back, and nothing else is taken for one",
             [] {
                 const auto text = *canonical_settings(defaults());
                 const auto back = parse_canonical(text);
                 unit::expect(back.has_value() && *back == defaults(), "back");
                 for (const std::string& bad :
                      {std::string(), text + "x", text.substr(0, text.size() - 1), "x" + text,
                       text + "worker_cpus=1:6\n",
                       std::string("flox-runtime-revision/1\nhome_path=5:/a\n"),
                       std::string("flox-runtime-revision/1\nhome_path=2:a/\n"),
                       std::string("flox-runtime-revision/1\nhome_path=99999999999999999999:/a\n"),
                       std::string(
                           "flox-runtime-revision/1\nworker_mem_mb=1:1\nworker_cpus=1:1\n")})
                     unit::expect(!parse_canonical(bad).has_value(), bad);
             }},
            {"a revision's name is rev_ and 16 hexadecimal digits",
             [] {
                 const auto name = revision_name_of_stamp("lab/v1");
                 unit::expect(is_revision_name(name), name);
                 unit::expect(
                     !is_revision_name("rev_0123") && !is_revision_name("rev_0123456789ABCDEF"),
                     "others");
                 unit::expect(name != revision_name_of_stamp("lab/v2"), "differ");
             }},
        });
}
