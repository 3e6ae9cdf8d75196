// SPDX-License-Identifier: GPL-2.0-or-later
//
// cohort-node join and verify: the acts behind the decisions of node_judge.hpp.
//
// Run as root on the node. Every function returns the program's exit code. Needs slurmctld; says so
// and returns try_again when it stays away.
#pragma once

#include "common/settings.hpp"

namespace cohort {

// Before slurmd: 0 = slurmd may start, 1 = it must not (the node is out, with the reason).
int join_before(const Settings& settings);

// After slurmd: publishes what this node runs and lifts what we had set, or takes it out.
int join_after(const Settings& settings);

// The payload of a rebuild job: 0 only when the node is proved and published.
int verify(const Settings& settings);

}  // namespace cohort
