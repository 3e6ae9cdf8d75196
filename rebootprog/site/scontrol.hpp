// SPDX-License-Identifier: GPL-2.0-or-later
//
// What Slurm offers to `scontrol` only, through that program.
//
// Each call starts it, waits for its end and returns its words as the error. Needs SlurmUser or
// root.
#pragma once

#include <string>

#include "common/result.hpp"

namespace cohort {

// Drains NODE and reboots it through RebootProgram as soon as its jobs have ended; then it is DOWN,
// for REASON, until somebody resumes it.
Status reboot_when_idle(const std::string& node, const std::string& reason);

// Takes that back while the reboot has not begun, and the drain with it.
Status cancel_reboot(const std::string& node);

}  // namespace cohort
