// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/settings_verbs.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/core.h>

#include "common/json.hpp"
#include "common/log.hpp"
#include "common/text.hpp"
#include "rebootprog/node/settings_store.hpp"
#include "rebootprog/node/worker_settings.hpp"

namespace cohort {
namespace {

constexpr std::string_view whole_site = "default";

int failed(const Error& error) {
    log::error("{}", error.message);
    return exit_code_of(error.code);
}

// A name that no line of cohort.conf has would keep settings that nothing ever uses.
Status known_cohort(const Site& site, const std::string& name) {
    std::vector<std::string_view> names{whole_site};
    for (const auto& cohort : site.configuration.cohorts) names.push_back(cohort.name);
    if (std::find(names.begin(), names.end(), name) != names.end()) return {};
    std::vector<std::string> known(names.begin(), names.end());
    return fail(Errc::invalid, fmt::format("cohort.conf has no line Cohort={}; known: {}", name,
                                           text::join(known, ", ")));
}

// Empty where the settings do not make one: a VM's image is known on the node only.
std::string hash_of(const RevisionSettings& settings) {
    if (!settings.contains("worker_image")) return {};
    const auto canonical = canonical_settings(complete_settings(settings));
    return canonical ? revision_hash(*canonical) : std::string();
}

void print(const SettingsRequest& request, const RevisionSettings& settings) {
    const std::string hash = hash_of(settings);
    if (request.json) {
        Json values = json::object();
        for (const auto& [key, value] : settings) json::set(values.get(), key.c_str(), value);
        const Json object = json::object();
        json::set(object.get(), "cohort", request.cohort);
        json::set(object.get(), "settings", std::move(values));
        if (!hash.empty()) {
            json::set(object.get(), "revision", revision_name(hash));
            json::set(object.get(), "hash", hash);
        }
        fmt::print("{}\n", json::dump(object.get()));
        return;
    }
    if (!hash.empty()) fmt::print("# {} sha256:{}\n", revision_name(hash), hash);
    fmt::print("{}", worker_settings_text(settings));
}

SettingChanges changes_of(const RevisionSettings& settings) {
    SettingChanges changes;
    for (const auto& [key, value] : settings) changes.emplace(key, value);
    return changes;
}

}  // namespace

int settings_get(const Site& site, const SettingsRequest& request) {
    if (auto known = known_cohort(site, request.cohort); !known) return failed(known.error());
    auto kept = SettingsStore(site.state_dir).get(request.cohort);
    if (!kept) return failed(kept.error());
    if (!request.from_env) {
        print(request, *kept);
        return exit_code::ok;
    }
    const auto merged = merge_settings(*kept, settings_of_environment(process_environment()));
    if (const auto canonical = canonical_settings(complete_settings(merged)); !canonical)
        return failed(canonical.error());
    print(request, merged);
    return exit_code::ok;
}

int settings_set(const Site& site, const SettingsRequest& request) {
    if (auto known = known_cohort(site, request.cohort); !known) return failed(known.error());
    auto words = parse_setting_changes(request.changes);
    if (!words) return failed(words.error());
    SettingChanges changes;
    if (request.from_env) changes = changes_of(settings_of_environment(process_environment()));
    for (auto& [key, value] : *words) changes.insert_or_assign(key, std::move(value));
    if (changes.empty()) {
        log::error("{}", request.from_env
                             ? "no WORKER_ variable is set: nothing to keep"
                             : "nothing to set: write KEY=VALUE, or KEY- to forget one");
        return exit_code::usage;
    }
    const auto settings = SettingsStore(site.state_dir).set(request.cohort, changes);
    if (!settings) return failed(settings.error());
    print(request, *settings);
    return exit_code::ok;
}

}  // namespace cohort
