// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a node is to run now: its file in DesiredDir, unless a rollout says otherwise (Pin in
// rollout.hpp). A file that was changed after a rollout ended is the newer decision and wins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/result.hpp"
#include "common/settings.hpp"
#include "rebootprog/cloud/desired.hpp"
#include "rebootprog/journal/journal.hpp"
#include "rebootprog/rollout/rollout.hpp"

namespace cohort {

struct Wanted {
    Desired desired;
    std::string file_image;    // image_id of the file; empty: there is no file
    std::int64_t rollout = 0;  // whose image it is; 0: the file's
};

// FILE is read_desired()'s answer. Pure.
Result<Wanted> wanted_by(Result<Desired> file, const std::optional<Pin>& pin);

// For one node, whose SETTINGS these are, from the file and the journal.
Result<Wanted> wanted_of(const Journal& journal, const Settings& settings, const std::string& node);

}  // namespace cohort
