// SPDX-License-Identifier: GPL-2.0-or-later
//
// `scohort settings`: the wanted runtime settings of each cohort, kept in StateDir/settings/.
//
// One file per cohort ("default" for a site without Cohort= lines), replaced atomically under a
// lock, so that two administrators at once lose neither's change. Reading takes no lock.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"
#include "common/revision.hpp"

namespace cohort {

// What an administrator asks for: key -> value, or nothing to forget the key.
using SettingChanges = std::map<std::string, std::optional<std::string>, std::less<>>;

// "KEY=VALUE" sets (VALUE may be empty), "KEY-" forgets. Either spelling of a key.
Result<SettingChanges> parse_setting_changes(const std::vector<std::string>& words);

class SettingsStore {
  public:
    explicit SettingsStore(std::string state_dir)
        : directory_(std::move(state_dir) + "/settings") {}

    // Absent: nothing was ever set.
    Result<RevisionSettings> get(std::string_view cohort) const;
    // The settings as they are afterwards. Errc::invalid leaves the kept ones as they were.
    Result<RevisionSettings> set(std::string_view cohort, const SettingChanges& changes) const;

  private:
    Result<std::string> path_of(std::string_view cohort) const;
    std::string directory_;
};

}  // namespace cohort
