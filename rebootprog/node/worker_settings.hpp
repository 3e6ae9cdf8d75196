// SPDX-License-Identifier: GPL-2.0-or-later
//
// A cohort's wanted runtime settings: their names in the environment (WORKER_...), in a settings
// file of an image, and on the controller, where they are kept because a rebuild wipes the node.
//
// A file is KEY=VALUE lines (# begins a comment line); KEY is WORKER_FLOX_ENV or flox_env alike. An
// explicitly empty value is kept as such; what was never set is absent, no default is written.
// An explicitly given value beats a kept one. Nothing is kept that the revision would refuse.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"
#include "common/revision.hpp"

namespace cohort {

using Environment = std::map<std::string, std::string, std::less<>>;

// The environment of this process. A variable that is there twice counts once, the first.
Environment process_environment();

// "WORKER_FLOX_ENV" for "flox_env"; empty for what the environment cannot set (profile_schema).
std::string_view worker_name(std::string_view key);
// The revision's key for either spelling; empty when unknown.
std::string_view revision_key(std::string_view name);

// The WORKER_ variables that are set, empty ones too.
RevisionSettings settings_of_environment(const Environment& environment);

// NAME appears in errors, with the line.
Result<RevisionSettings> parse_worker_settings(std::string_view text, std::string_view name);
std::string worker_settings_text(const RevisionSettings& settings);

// OVER's values on top of BASE's.
RevisionSettings merge_settings(RevisionSettings base, const RevisionSettings& over);

// With a Flox environment the profile's schema is a setting too; without one nothing is added.
RevisionSettings complete_settings(RevisionSettings settings);

}  // namespace cohort
