// SPDX-License-Identifier: GPL-2.0-or-later
//
// cohort-node leave: this node goes, its jobs do not. Drains it with our reason, waits for what
// runs there, then deletes the record of a dynamic node; any other stays DRAINED.
//
// Run as root on the node, before slurmd and the network stop (cohort-leave.service). Safe to run
// again. Does nothing while Slurm itself reboots or powers down the node: a drain would end the
// rebuild job that waits for it. A drain or FAIL that is not ours keeps its reason, and the record.
#pragma once

#include <chrono>
#include <string>

#include "common/cluster.hpp"

namespace cohort {

struct LeaveOptions {
    std::chrono::milliseconds timeout = std::chrono::minutes(10);  // for jobs to end
    bool force = false;  // DOWN at once: Slurm requeues or ends the jobs
};

// What leave is to do with NODE at its start (pure).
struct LeavePlan {
    bool stay = false;    // nothing is to be done: WHY
    bool drain = false;   // not out yet, or out by us
    bool remove = false;  // the record goes when the jobs are gone
    std::string why;
};
LeavePlan plan_leave(const Node& node);

// 0 the node has left (or there was nothing to do), 75 jobs still run: it stays draining and they
// live; 1 Slurm refused; 3 slurmctld did not answer, nothing was changed.
int node_leave(const LeaveOptions& options);

}  // namespace cohort
