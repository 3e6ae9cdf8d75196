// SPDX-License-Identifier: GPL-2.0-or-later
//
// cohort-node join and verify: the acts behind the decisions of node_judge.hpp.
//
// Run as root on the node. Every function returns the program's exit code. Needs slurmctld; says so
// and returns try_again when it stays away. join starts libslurm itself, when there is a
// slurm.conf: on a configless node slurmd has to fetch it first.
#pragma once

#include "common/settings.hpp"
#include "rebootprog/node/node_wait.hpp"

namespace cohort {

// Before slurmd: 0 = slurmd may start, 1 = it must not (the node is out, with the reason).
int join_before(const Settings& settings, const JoinOptions& options);

// After slurmd: publishes what this node runs and lifts what we had set, or takes it out.
int join_after(const Settings& settings, const JoinOptions& options);

// The payload of a rebuild job: 0 only when the node is proved and published.
int verify(const Settings& settings);

}  // namespace cohort
