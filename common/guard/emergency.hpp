// SPDX-License-Identifier: GPL-2.0-or-later
//
// `scohort guard off --for TIME`: a file in StateDir with the time (seconds since the epoch) until
// which the guard is off for the whole site. It ends by itself. Reads and writes files: never in a
// hook. Thread-safe.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "common/result.hpp"

namespace cohort::guard {

inline constexpr std::string_view off_file_name = "guard_off";

// DIR is StateDir; empty: not known, the guard is on.
bool is_off(const std::string& dir);
Status turn_off(const std::string& dir, std::chrono::system_clock::time_point until);
Status turn_on(const std::string& dir);

}  // namespace cohort::guard
