// SPDX-License-Identifier: GPL-2.0-or-later
//
// Slurm's ResumeProgram, SuspendProgram and ResumeFailProgram: cohort-reboot under other names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rebootprog/site/site.hpp"

namespace cohort {

// So many machines of a node may fail to be made, one after the other, before the node goes out of
// service.
inline constexpr int most_failed_machines = 3;

// PROGRAM: cohort-resume, cohort-suspend or cohort-resume-fail. Returns the program's exit code.
int run_power(const Site& site, std::string_view program, const std::vector<std::string>& nodes);

bool is_power_program(std::string_view program);

}  // namespace cohort
