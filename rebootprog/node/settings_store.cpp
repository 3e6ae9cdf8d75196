// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/node/settings_store.hpp"

#include <fmt/core.h>

#include "common/file.hpp"
#include "rebootprog/node/worker_settings.hpp"

namespace cohort {
namespace {

constexpr std::size_t max_file = 64 * 1024;
constexpr int lock_seconds = 10;

// A cohort's name becomes a file's: nothing that leads elsewhere or hides.
bool is_plain_name(std::string_view name) {
    return !name.empty() && name.size() <= 64 && name[0] != '.' &&
           name.find_first_not_of(
               "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
               "0123456789_.-") == std::string_view::npos;
}

}  // namespace

Result<SettingChanges> parse_setting_changes(const std::vector<std::string>& words) {
    SettingChanges changes;
    for (const std::string_view word : words) {
        const auto equals = word.find('=');
        const bool forget = equals == std::string_view::npos && word.ends_with('-');
        if (!forget && equals == std::string_view::npos)
            return fail(Errc::invalid,
                        fmt::format("'{}': write KEY=VALUE to set, KEY- to forget", word));
        const auto name = forget ? word.substr(0, word.size() - 1) : word.substr(0, equals);
        const auto key = revision_key(name);
        if (key.empty())
            return fail(Errc::invalid, fmt::format("{} is not a runtime setting; they are those of "
                                                   "`scohort settings --help`",
                                                   name));
        std::optional<std::string> value;
        if (!forget) value = std::string(word.substr(equals + 1));
        if (!changes.emplace(key, std::move(value)).second)
            return fail(Errc::invalid, fmt::format("{} is given twice", name));
    }
    return changes;
}

Result<std::string> SettingsStore::path_of(std::string_view cohort) const {
    if (!is_plain_name(cohort))
        return fail(Errc::invalid, fmt::format("'{}' is not the name of a cohort", cohort));
    return fmt::format("{}/{}.env", directory_, cohort);
}

Result<RevisionSettings> SettingsStore::get(std::string_view cohort) const {
    const auto path = path_of(cohort);
    if (!path) return tl::unexpected<Error>(path.error());
    const auto content = read_file(*path, max_file);
    if (!content && content.error().code == Errc::not_found) return RevisionSettings{};
    if (!content) return tl::unexpected<Error>(content.error());
    return parse_worker_settings(*content, *path);
}

Result<RevisionSettings> SettingsStore::set(std::string_view cohort,
                                            const SettingChanges& changes) const {
    const auto path = path_of(cohort);
    if (!path) return tl::unexpected<Error>(path.error());
    if (auto made = make_directories(directory_, 0755); !made)
        return tl::unexpected<Error>(made.error());
    const auto lock = lock_file(directory_ + "/lock", lock_seconds);
    if (!lock) return tl::unexpected<Error>(lock.error());
    auto settings = get(cohort);
    if (!settings) return settings;
    for (const auto& [key, value] : changes) {
        if (value)
            settings->insert_or_assign(key, *value);
        else if (const auto found = settings->find(key); found != settings->end())
            settings->erase(found);
    }
    const auto canonical = canonical_settings(complete_settings(*settings));
    if (!canonical) return tl::unexpected<Error>(canonical.error());
    if (auto written = write_file(*path, worker_settings_text(*settings), 0644); !written)
        return tl::unexpected<Error>(written.error());
    return settings;
}

}  // namespace cohort
