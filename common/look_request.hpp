// SPDX-License-Identifier: GPL-2.0-or-later
//
// StateDir/look: touched by a program that waits for the plugin's next picture of the cluster.
//
// With ten thousand nodes, or a busy slurmctld, the plugin's thread reads the cluster only every
// ten seconds or more, to stay within one percent of slurmctld's time. What is about to ask the
// cloud waits for a picture that was begun after its note (choke_point.hpp): it asks for that. Any
// thread.
#pragma once

#include <cstdint>
#include <string>

#include "common/result.hpp"

namespace cohort {

Status ask_for_a_look(const std::string& state_dir);

// When somebody last asked, in nanoseconds since the epoch; 0: nobody has. Two answers that differ:
// somebody asked in between.
std::int64_t last_asked_for_a_look(const std::string& state_dir);

}  // namespace cohort
