// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/node/node_profile.hpp"

#include <cstdio>

#include <fmt/core.h>

#include "common/file.hpp"
#include "common/json.hpp"
#include "common/log.hpp"
#include "common/published.hpp"
#include "common/slurm/node_writer.hpp"
#include "common/text.hpp"
#include "rebootprog/node/node_dynamic.hpp"
#include "rebootprog/node/node_facts.hpp"
#include "rebootprog/node/node_gate.hpp"

namespace cohort {
namespace {

constexpr std::size_t max_settings_file = 64 * 1024;

std::string settings_path(const ProfileOptions& options) {
    if (!options.settings_file.empty()) return options.settings_file;
    const std::string conf = configuration_path();
    return conf.substr(0, conf.rfind('/') + 1) + "cohort-runtime.conf";
}

ProfileDirectory directory_of(const ProfileOptions& options) {
    return options.directory.empty() ? local_profile_directory()
                                     : ProfileDirectory{options.directory, 0};
}

Result<RevisionSettings> image_settings(const ProfileOptions& options,
                                        const Environment& environment) {
    if (options.from_env) return settings_of_environment(environment);
    const std::string path = settings_path(options);
    const auto content = read_file(path, max_settings_file);
    if (content) return parse_worker_settings(*content, path);
    if (content.error().code == Errc::not_found && options.settings_file.empty())
        return RevisionSettings{};
    return tl::unexpected<Error>(content.error());
}

int failed(std::string_view what, const Error& error) {
    log::error("{}: {}", what, error.message);
    return exit_code_of(error.code);
}

Profile with_settings_only(RevisionSettings settings, const std::string& canonical) {
    Profile profile;
    profile.settings = std::move(settings);
    profile.hash = revision_hash(canonical);
    return profile;
}

// Without activation nothing but the settings is needed: they are the revision.
Result<Profile> revision_of_this_node(const Settings& site, const ProfileOptions& options) {
    const NodeFacts facts = read_node_facts(site);
    if (!facts.stamp_fault.empty()) return fail(Errc::not_found, facts.stamp_fault);
    const auto given = image_settings(options, process_environment());
    if (!given) return tl::unexpected<Error>(given.error());
    auto settings = sealed_settings(*given, facts.observed.stamp);
    if (!settings) return tl::unexpected<Error>(settings.error());
    const auto canonical = canonical_settings(*settings);
    if (!canonical) return tl::unexpected<Error>(canonical.error());
    return with_settings_only(std::move(*settings), *canonical);
}

// Never refused for want of a revision: a slurmd that restarts beside running jobs on a damaged
// profile must come up again. Without its revision the node is not labelled.
int print_slurmd_arguments(const Result<Profile>& profile, const ProfileOptions& options) {
    if (!profile) log::warning("slurmd starts without a revision: {}", profile.error().message);
    const auto words =
        slurmd_arguments(profile ? profile->revision() : "", options.conf, options.features);
    if (!words) return failed("no arguments for slurmd", words.error());
    fmt::print("{}\n", *words);
    return exit_code::ok;
}

void print_revision(const Profile& profile, const ProfileOptions& options) {
    const auto canonical = canonical_settings(profile.settings).value_or("");
    if (options.json) {
        const Json object = json::object();
        json::set(object.get(), "revision", profile.revision());
        json::set(object.get(), "hash", profile.hash);
        json::set(object.get(), "settings", canonical);
        fmt::print("{}\n", json::dump(object.get()));
    } else {
        fmt::print("{}sha256:{}\n{}\n", canonical, profile.hash, profile.revision());
    }
}

}  // namespace

Result<Profile> profile_of_this_node(const Settings& site, const ProfileOptions& options) {
    const NodeFacts facts = read_node_facts(site);
    if (!facts.stamp_fault.empty()) return fail(Errc::not_found, facts.stamp_fault);
    ProfileSource source;
    source.environment = process_environment();
    auto settings = image_settings(options, source.environment);
    if (!settings) return tl::unexpected<Error>(settings.error());
    source.settings = std::move(*settings);
    source.stamp = facts.observed.stamp;
    source.require_exports = options.require_exports;
    return make_profile(source);
}

int node_profile_write(const Settings& site, const ProfileOptions& options) {
    const auto profile = profile_of_this_node(site, options);
    if (!profile) return failed("no profile was written", profile.error());
    for (const auto& name : profile->unset)
        log::warning("{} is in env_exports but not set: tasks will not have it", name);
    const ProfileDirectory directory = directory_of(options);
    const auto written = write_profile(*profile, directory);
    if (!written) return failed("the profile could not be written", written.error());
    log::info("{} {}: {}", directory.path, *written ? "sealed" : "is sealed already",
              profile->revision());
    fmt::print("{}\n", profile->revision());
    return exit_code::ok;
}

int node_profile_check(const ProfileOptions& options) {
    const auto profile = read_profile(directory_of(options));
    if (!profile) return failed("the profile is refused", profile.error());
    const auto published = read_published();
    if (published && published->boot_id == current_boot_id().value_or("") &&
        published->revision != profile->revision()) {
        log::error("the profile is {}, but this boot has published {}", profile->revision(),
                   published->revision);
        return exit_code::some_failed;
    }
    if (without_launch_gate())
        log::warning(
            "plugstack.conf of this node has no line for spank_cohort.so: its tasks have no launch "
            "gate, and nothing but the compat TaskProlog gives them this profile");
    fmt::print("{}\n", profile->revision());
    return exit_code::ok;
}

namespace {

// What the sealed profile, else the stamp, says; a node without either has its published label
// only.
int own_label(const Settings& site) {
    const auto facts = read_node_facts(site);
    if (!facts.profile_fault.empty())
        return failed("no revision", Error{Errc::invalid, facts.profile_fault});
    std::string label = own_revision(facts);
    if (label.empty())
        if (const auto published = read_published();
            published && published->boot_id == facts.boot_id)
            label = published->revision;
    if (label.empty())
        return failed("no revision",
                      Error{Errc::not_found, "no profile, no stamp, no published label"});
    fmt::print("{}\n", label);
    return exit_code::ok;
}

}  // namespace

int node_revision(const Settings& site, const ProfileOptions& options) {
    if (options.own) return own_label(site);
    const bool computed = options.from_env || !options.settings_file.empty();
    auto profile =
        computed ? revision_of_this_node(site, options) : read_profile(directory_of(options));
    if (!profile && !computed && profile.error().code == Errc::not_found)
        profile = revision_of_this_node(site, options);
    if (options.slurmd) return print_slurmd_arguments(profile, options);
    if (!profile) return failed("no revision", profile.error());
    print_revision(*profile, options);
    return exit_code::ok;
}

int node_report() {
    const auto refused = read_refused();
    if (!refused && refused.error().code == Errc::not_found) return exit_code::ok;
    if (!refused) return failed("report", refused.error());
    const std::string node = node_name();
    if (auto drained = slurm::drain(node, *refused); !drained)
        return failed(fmt::format("{}: '{}' could not be put on the node", node, *refused),
                      drained.error());
    log::warning("{}: drained: {}", node, *refused);
    // Cleared last: a report that did not get through is made again.
    if (auto cleared = clear_refused(); !cleared) return failed("report", cleared.error());
    return exit_code::ok;
}

}  // namespace cohort
