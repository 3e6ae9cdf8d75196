// SPDX-License-Identifier: GPL-2.0-or-later
//
// Power saving: what ResumeProgram, SuspendProgram and ResumeFailProgram do with one node. The same
// back end, journal, slots and record of the node as a rebuild; see attempt.hpp for the order of
// the writes. Thread-safe: each runs in one thread.
//
// A machine is ours when we made it for this node (the cloud keeps that with it), or when the
// node's desired file names it. No other is adopted or removed. A second one is never asked for
// while the first may have been taken.
//
// In the context, desk.take_out() gives the node back to power saving instead of keeping it out
// (power_desk.hpp), so that Slurm tries it, or another one, again.
#pragma once

#include <string>

#include "rebootprog/reboot/attempt.hpp"

namespace cohort {

// Makes NODE's machine. One that is there already is rebuilt or rebooted as by a rebuild job: Slurm
// waits for a boot after its call.
Outcome resume_node(const AttemptContext& context, const std::string& node);

// Removes what is NODE's, and gives the node the label that its next machine will publish.
Outcome suspend_node(const AttemptContext& context, const std::string& node);

// Slurm has given NODE up at ResumeTimeout: removes what is half made, and hands the node back.
Outcome resume_failed(const AttemptContext& context, const std::string& node);

// Goes on with such an attempt that a process left behind, as adopt_attempt() does for the others.
Outcome adopt_power_attempt(const AttemptContext& context, Attempt attempt);

inline bool is_power_action(const std::string& action) {
    return action == "create" || action == "delete";
}

}  // namespace cohort
