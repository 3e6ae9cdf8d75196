// SPDX-License-Identifier: GPL-2.0-or-later
//
// What this node's own plugstack.conf asks of a task profile, and where the profile is: the one
// source for profile write and check, revision, join and verify. The SPANK plugin gets the same
// line from Slurm.
//
// Only local files are read: no RPC, no network. They are where libslurm looks for them.
#pragma once

#include <string>

#include "common/profile_store.hpp"
#include "rebootprog/node/doctor_runtime.hpp"

namespace cohort {

// $SLURM_CONF, else slurm.conf of this installation, else the copy that the slurmd of a configless
// node has fetched. Empty: there is none yet.
std::string local_slurm_conf();

// PlugStackConfig of that file, else plugstack.conf beside it.
std::string local_plugstack();

// Nothing is asked where the file is absent or cannot be read.
LaunchGate local_launch_gate();

// profile_dir= of the line for spank_cohort.so, else the default.
ProfileDirectory local_profile_directory();

}  // namespace cohort
