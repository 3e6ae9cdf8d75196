// SPDX-License-Identifier: GPL-2.0-or-later
//
// Wanted settings, their store on the controller, and what a profile is made of on a node.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "rebootprog/node/profile_source.hpp"
#include "rebootprog/node/settings_store.hpp"
#include "rebootprog/node/worker_settings.hpp"
#include "tests/unit/profile_fixture.hpp"
#include "tests/unit/unit.hpp"

using namespace cohort;
using unit::Scratch;

namespace {

const std::string pinned = unit::sample_settings().at("worker_image");

// An activated environment with what a daemon's has besides.
struct Activated {
    Scratch scratch;
    std::string realized = std::filesystem::canonical(scratch.path).string() + "/store/env";
    std::string link = scratch.path + "/run-link";
    Activated() {
        std::filesystem::create_directories(realized + "/bin");
        std::filesystem::create_directory_symlink(realized, link);
    }
    ProfileSource source() const {
        ProfileSource s;
        s.settings = {{"worker_image", pinned},
                      {"flox_env", "myorg/hpc"},
                      {"flox_generation", "17"},
                      {"activate_mode", "run"},
                      {"env_exports", "TOOL_HOME,GATK_HOME"}};
        s.environment = {{"FLOX_ENV", link},
                         {"PATH", link + "/bin:/usr/bin:" + realized + "/sbin:" + link +
                                      "/bin/:" + link + "x/bin"},
                         {"TOOL_HOME", "/opt/tool"},
                         {"FLOX_FLOXHUB_TOKEN", "flox-s3cret"},
                         {"KUBERNETES_SERVICE_HOST", "10.96.0.1"},
                         {"OS_PASSWORD", "os-s3cret"},
                         {"_FLOX_ACTIVE_ENVIRONMENTS", "x"},
                         {"HOME", "/root"}};
        return s;
    }
};

std::string all_text(const Profile& profile) {
    std::string text;
    for (const auto& [name, content] : profile_files(profile).value_or(ProfileFiles{}))
        text += content;
    return text;
}

void expect_no_profile(const ProfileSource& source, const char* sentence) {
    const auto profile = make_profile(source);
    unit::expect(!profile.has_value(), sentence);
    unit::expect_contains(profile.error().message, sentence);
}

std::vector<unit::Rule> source_rules() {
    return {
        {"a profile has the environment's PATH entries in their order, pinned to the realized "
         "path, and no others",
         [] {
             const Activated node;
             const auto profile = make_profile(node.source());
             unit::expect(profile.has_value(), profile ? "" : profile.error().message);
             unit::expect_equal(profile->env_path, node.realized);
             unit::expect(profile->path == std::vector<std::string>{node.realized + "/bin",
                                                                    node.realized + "/sbin"},
                          profile->path.at(0));
             unit::expect_equal(profile->env_ref, std::string("myorg/hpc:17"));
             unit::expect_equal(profile->settings.at("profile_schema"), std::string("1"));
         }},
        {"nothing of the daemon's environment and no credential gets in",
         [] {
             const Activated node;
             const auto text = all_text(*make_profile(node.source()));
             unit::expect_contains(text, "TOOL_HOME=/opt/tool");
             for (const char* leak : {"s3cret", "10.96.0.1", "FLOX_", "KUBERNETES", "OS_", "/root",
                                      "/usr/bin", "run-link"})
                 unit::expect(text.find(leak) == std::string::npos, leak);
         }},
        {"an allow-listed variable that is not set is recorded; with --require-exports it is an "
         "error",
         [] {
             const Activated node;
             auto source = node.source();
             unit::expect(make_profile(source)->unset == std::vector<std::string>{"GATK_HOME"},
                          "recorded");
             source.require_exports = true;
             expect_no_profile(source, "GATK_HOME of env_exports is not set");
             source.environment["GATK_HOME"] = std::string();
             unit::expect(make_profile(source).has_value(), "set to nothing is set");
         }},
        {"what is refused, and why",
         [] {
             const Activated node;
             const std::pair<const char*, std::function<void(ProfileSource&)>> rows[] = {
                 {"FLOX_ENV is not set", [](ProfileSource& s) { s.environment.erase("FLOX_ENV"); }},
                 {"is not there",
                  [](ProfileSource& s) {
                      s.environment["FLOX_ENV"] = std::string("/nonexistent/env");
                  }},
                 {"PATH has no entry",
                  [](ProfileSource& s) { s.environment["PATH"] = std::string("/usr/bin"); }},
                 {"go together", [](ProfileSource& s) { s.settings.erase("flox_generation"); }},
                 {"flox_generation",
                  [](ProfileSource& s) { s.settings["flox_generation"] = std::string("latest"); }},
                 {"flox_env",
                  [](ProfileSource& s) { s.settings["flox_env"] = std::string("hpc"); }},
                 {"not pinned is not sealed",
                  [](ProfileSource& s) {
                      s.settings.erase("flox_env");
                      s.settings.erase("flox_generation");
                  }},
                 {"repository:tag@sha256",
                  [](ProfileSource& s) {
                      s.settings["worker_image"] = std::string("repo:latest");
                  }},
                 {"which image this is",
                  [](ProfileSource& s) { s.settings.erase("worker_image"); }},
                 {"reserved names",
                  [](ProfileSource& s) { s.settings["env_exports"] = std::string("LD_PRELOAD"); }},
                 {"make the runtime",
                  [](ProfileSource& s) {
                      s.settings["skip_containers"] = std::string("logfile,slurmd");
                  }},
             };
             for (const auto& [sentence, change] : rows) {
                 auto source = node.source();
                 change(source);
                 expect_no_profile(source, sentence);
             }
         }},
        {"a value of several lines is not written",
         [] {
             const Activated node;
             auto source = node.source();
             source.environment["TOOL_HOME"] = std::string("a\nb");
             const auto profile = make_profile(source);
             unit::expect(profile.has_value() && !profile_files(*profile).has_value(),
                          "refused when written");
         }},
        {"images: pinned by digest or not",
         [] {
             const std::string digest = "@sha256:" + std::string(64, 'a');
             for (const std::string& good :
                  {"repo:1" + digest, "reg.example:5000/a/b:tag" + digest})
                 unit::expect(is_pinned_image(good), good);
             for (const std::string& bad :
                  {std::string("repo:1"), "repo" + digest, "reg.example:5000/a/b" + digest,
                   std::string("repo:1@sha256:abc"), "repo:1" + digest + "0",
                   "repo:1@sha256:" + std::string(64, 'A'), ":1" + digest, "repo:" + digest,
                   std::string("7f0c3a52-6c1e-4f0e-9d57-1f6f3b3f0c11")})
                 unit::expect(!is_pinned_image(bad), bad);
         }},
        {"a plain VM is its stamp, whatever FLOX is not there",
         [] {
             ProfileSource source;
             source.stamp = "lab/v2";
             const auto profile = make_profile(source);
             unit::expect(profile.has_value(), profile ? "" : profile.error().message);
             unit::expect_equal(profile->revision(), revision_name_of_stamp("lab/v2"));
             unit::expect(profile->path.empty() && profile->vars.empty(), "nothing injected");
         }},
    };
}

std::vector<unit::Rule> settings_rules() {
    return {
        {"the environment's ten names, empty ones too, and no other",
         [] {
             const Environment environment{{"WORKER_FLOX_ENV", "a/b"},
                                           {"WORKER_HOME_PATH", ""},
                                           {"WORKER_UNKNOWN", "x"},
                                           {"COMPUTE_REPLICAS", "2"},
                                           {"WORKER_PROFILE_SCHEMA", "9"}};
             const auto settings = settings_of_environment(environment);
             unit::expect(settings == RevisionSettings{{"flox_env", "a/b"}, {"home_path", ""}},
                          "two");
             std::size_t named = 0;
             for (const auto key : revision_keys())
                 if (!worker_name(key).empty()) ++named;
             unit::expect_equal(named, 10U);
         }},
        {"a settings file: both spellings, comments, empty values; errors name file, line and the "
         "nearest key",
         [] {
             const auto parsed =
                 parse_worker_settings("# x\n\nflox_env = a/b\nWORKER_HOME_PATH=\n", "f");
             unit::expect(parsed.has_value() &&
                              *parsed == RevisionSettings{{"flox_env", "a/b"}, {"home_path", ""}},
                          "parsed");
             const std::pair<const char*, const char*> bad[] = {
                 {"flox_env", "f:1: not KEY=VALUE"},
                 {"\nflox_envy=a/b",
                  "f:2: flox_envy is not a runtime setting, did you mean flox_env?"},
                 {"flox_env=a/b\nWORKER_FLOX_ENV=c/d", "f:2: WORKER_FLOX_ENV is set twice"}};
             for (const auto& [text, sentence] : bad) {
                 const auto refused = parse_worker_settings(text, "f");
                 unit::expect(!refused.has_value(), text);
                 unit::expect_contains(refused.error().message, sentence);
             }
         }},
    };
}

std::string file_of(const Scratch& scratch, const char* cohort) {
    std::ifstream in(scratch.path + "/settings/" + cohort + ".env");
    return {std::istreambuf_iterator<char>(in), {}};
}

Result<RevisionSettings> set(const SettingsStore& store, const std::vector<std::string>& words) {
    const auto changes = parse_setting_changes(words);
    if (!changes) return tl::unexpected<Error>(changes.error());
    return store.set("default", *changes);
}

std::vector<unit::Rule> store_rules() {
    return {
        {"store: nothing set is nothing kept, and no default is written",
         [] {
             const Scratch scratch;
             const SettingsStore store(scratch.path);
             unit::expect(store.get("default")->empty(), "empty");
             unit::expect(set(store, {"activate_mode=dev"}).has_value(), "set");
             unit::expect_equal(file_of(scratch, "default"),
                                std::string("WORKER_FLOX_ACTIVATE_MODE=dev\n"));
         }},
        {"store: of two who set at once neither's change is lost",
         [] {
             const std::vector<std::string> words{
                 "worker_cpus=1", "worker_mem_mb=2",   "home_path=/h",          "activate_mode=dev",
                 "env_exports=A", "skip_containers=b", "path_precedence=append"};
             for (int round = 0; round < 10; ++round) {
                 const Scratch scratch;
                 std::atomic<std::size_t> ready = 0;
                 std::vector<std::thread> setters;
                 for (const auto& word : words)
                     setters.emplace_back([&, word] {
                         ++ready;
                         while (ready < words.size()) std::this_thread::yield();
                         (void)set(SettingsStore(scratch.path), {word});
                     });
                 for (auto& setter : setters) setter.join();
                 unit::expect_equal(SettingsStore(scratch.path).get("default")->size(),
                                    words.size());
             }
         }},
        {"store: an explicitly empty value is kept, and differs from a forgotten one",
         [] {
             const Scratch scratch;
             const SettingsStore store(scratch.path);
             (void)set(store, {"WORKER_HOME_PATH=", "env_exports=A"});
             unit::expect_equal(store.get("default")->at("home_path"), std::string());
             (void)set(store, {"home_path-"});
             unit::expect(!store.get("default")->contains("home_path"), "forgotten");
             unit::expect(store.get("default")->contains("env_exports"), "the other stays");
         }},
        {"store: a later value replaces, the rest stays",
         [] {
             const Scratch scratch;
             const SettingsStore store(scratch.path);
             (void)set(store, {"flox_env=a/b", "flox_generation=1"});
             (void)set(store, {"WORKER_FLOX_GENERATION=2"});
             unit::expect(*store.get("default") ==
                              RevisionSettings{{"flox_env", "a/b"}, {"flox_generation", "2"}},
                          "merged");
         }},
        {"store: an explicit value beats a kept one",
         [] {
             const RevisionSettings kept{{"activate_mode", "dev"}, {"home_path", "/home"}};
             const auto merged = merge_settings(kept, {{"home_path", ""}});
             unit::expect(merged == RevisionSettings{{"activate_mode", "dev"}, {"home_path", ""}},
                          "merged");
         }},
        {"store: what the revision would refuse is not kept, and the old stays",
         [] {
             const Scratch scratch;
             const SettingsStore store(scratch.path);
             (void)set(store, {"worker_cpus=6"});
             for (const char* bad :
                  {"worker_cpus=six", "flox_env=a/b", "path_precedence=first", "home_path=home",
                   "env_exports=PATH", "nonsense=1", "worker_cpus", "flox_env=a/b\nc"})
                 unit::expect(!set(store, {bad}).has_value(), bad);
             unit::expect(!set(store, {"worker_cpus=7", "WORKER_CPUS=8"}).has_value(), "twice");
             unit::expect(*store.get("default") == RevisionSettings{{"worker_cpus", "6"}}, "old");
         }},
        {"store: cohorts are apart, and a name is no path",
         [] {
             const Scratch scratch;
             const SettingsStore store(scratch.path);
             (void)store.set("gpu", *parse_setting_changes({"worker_cpus=1"}));
             unit::expect(store.get("default")->empty() && store.get("gpu")->size() == 1, "apart");
             for (const char* bad : {"", "../x", "a/b", ".hidden"})
                 unit::expect(!store.get(bad).has_value(), bad);
         }},
        {"store: a damaged file is an error, not an empty one",
         [] {
             const Scratch scratch;
             std::filesystem::create_directories(scratch.path + "/settings");
             std::ofstream(scratch.path + "/settings/default.env") << "rubbish\n";
             const SettingsStore store(scratch.path);
             unit::expect(
                 !store.get("default").has_value() && !set(store, {"worker_cpus=1"}).has_value(),
                 "error");
             unit::expect_equal(file_of(scratch, "default"), std::string("rubbish\n"));
         }},
        {"store: what is kept and read back gives the same revision as the environment",
         [] {
             const Scratch scratch;
             const SettingsStore store(scratch.path);
             (void)set(store, {"worker_image=" + pinned, "flox_env=a/b", "flox_generation=3",
                               "env_exports=B, A"});
             const auto kept = sealed_settings(*store.get("default"), "");
             const auto direct = sealed_settings({{"worker_image", pinned},
                                                  {"flox_env", "a/b"},
                                                  {"flox_generation", "03"},
                                                  {"env_exports", "A,B"}},
                                                 "");
             unit::expect(kept.has_value() && direct.has_value() && *kept == *direct, "same");
         }},
    };
}

}  // namespace

int main() {
    std::vector<unit::Rule> rules;
    for (auto make : {source_rules, settings_rules, store_rules})
        for (auto& rule : make()) rules.push_back(std::move(rule));
    return unit::run("worker_profile", std::move(rules));
}
