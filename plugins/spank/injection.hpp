// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a task's environment gets from the profile: a pure function of the profile, the arguments
// and the environment as it is.
//
// PATH: the profile's entries in their order, before (prepend) or behind (append) what is there;
// each entry once, no empty entry (which would mean the working directory). A PATH that is unset or
// has no entry gets base_path in its place. Doing it twice changes nothing (srun inside sbatch). A
// profile without PATH entries leaves PATH alone. Variables of the profile win over the user's.
// FLOX_TASK_PATH and FLOX_TASK_PATH_POLICY tell a login shell's profile.d what to re-apply.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/profile.hpp"
#include "plugins/spank/arguments.hpp"

namespace cohort::spank {

using Change = std::pair<std::string, std::string>;  // variable, new value

// The order that holds: the arguments' own, else the sealed one, else prepend.
Order order_of(const Arguments& arguments, const Profile& profile);

// CURRENT_PATH: the task's PATH, nothing when it is unset.
std::vector<Change> compose(const Profile& profile, const Arguments& arguments,
                            const std::optional<std::string>& current_path);

// ENTRIES and CURRENT as one PATH (for the compat TaskProlog's tests too).
std::string merge_path(const std::vector<std::string>& entries, std::string_view current,
                       Order order);

}  // namespace cohort::spank
