// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/node/worker_settings.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include "common/profile.hpp"
#include "common/text.hpp"

namespace cohort {
namespace {

struct KeyName {
    std::string_view key;
    std::string_view worker;
};

// The ten names that the seed's deployments use.
constexpr KeyName names[] = {
    {"worker_image", "WORKER_IMAGE"},
    {"flox_env", "WORKER_FLOX_ENV"},
    {"flox_generation", "WORKER_FLOX_GENERATION"},
    {"activate_mode", "WORKER_FLOX_ACTIVATE_MODE"},
    {"skip_containers", "WORKER_FLOX_SKIP_CONTAINERS"},
    {"env_exports", "WORKER_ENV_EXPORTS"},
    {"path_precedence", "WORKER_PATH_PRECEDENCE"},
    {"worker_cpus", "WORKER_CPUS"},
    {"worker_mem_mb", "WORKER_MEM_MB"},
    {"home_path", "WORKER_HOME_PATH"},
};

tl::unexpected<Error> at(std::string_view name, std::size_t line, std::string why) {
    return fail(Errc::invalid, fmt::format("{}:{}: {}", name, line, why));
}

std::string nearest_name(std::string_view name) {
    std::vector<std::string_view> known;
    for (const auto& entry : names) known.insert(known.end(), {entry.key, entry.worker});
    const auto near = text::nearest(name, known);
    return near.empty() ? std::string() : fmt::format(", did you mean {}?", near);
}

}  // namespace

Environment process_environment() {
    Environment environment;
    for (char** entry = environ; entry && *entry; ++entry) {
        const std::string_view pair = *entry;
        const auto equals = pair.find('=');
        if (equals != std::string_view::npos)
            environment.emplace(pair.substr(0, equals), pair.substr(equals + 1));
    }
    return environment;
}

std::string_view worker_name(std::string_view key) {
    for (const auto& entry : names)
        if (entry.key == key) return entry.worker;
    return {};
}

std::string_view revision_key(std::string_view name) {
    for (const auto& entry : names)
        if (entry.key == name || entry.worker == name) return entry.key;
    return {};
}

RevisionSettings settings_of_environment(const Environment& environment) {
    RevisionSettings settings;
    for (const auto& entry : names)
        if (const auto found = environment.find(entry.worker); found != environment.end())
            settings.emplace(entry.key, found->second);
    return settings;
}

Result<RevisionSettings> parse_worker_settings(std::string_view text, std::string_view name) {
    RevisionSettings settings;
    std::size_t number = 0;
    while (!text.empty()) {
        const auto end = text.find('\n');
        const auto line = text::trim(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        ++number;
        if (line.empty() || line[0] == '#') continue;
        const auto equals = line.find('=');
        if (equals == std::string_view::npos) return at(name, number, "not KEY=VALUE");
        const auto word = text::trim(line.substr(0, equals));
        const auto key = revision_key(word);
        if (key.empty())
            return at(name, number,
                      fmt::format("{} is not a runtime setting{}", word, nearest_name(word)));
        if (!settings.emplace(key, text::trim(line.substr(equals + 1))).second)
            return at(name, number, fmt::format("{} is set twice", word));
    }
    return settings;
}

std::string worker_settings_text(const RevisionSettings& settings) {
    std::string text;
    for (const auto& entry : names)
        if (const auto found = settings.find(entry.key); found != settings.end())
            text += fmt::format("{}={}\n", entry.worker, found->second);
    return text;
}

RevisionSettings merge_settings(RevisionSettings base, const RevisionSettings& over) {
    for (const auto& [key, value] : over) base.insert_or_assign(key, value);
    return base;
}

RevisionSettings complete_settings(RevisionSettings settings) {
    if (settings.contains("flox_env")) settings.emplace("profile_schema", profile_schema);
    return settings;
}

}  // namespace cohort
