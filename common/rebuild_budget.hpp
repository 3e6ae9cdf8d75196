// SPDX-License-Identifier: GPL-2.0-or-later
//
// How many rebuild jobs may wait and start: rules that the plugin (when it takes a job) and
// `scohort advance` (when it releases one) must share. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "common/cluster.hpp"

namespace cohort {

// MaxPendingRebuilds under a quarter of what the schedulers look at (default_queue_depth and
// bf_max_job_test of SCHEDULER_PARAMETERS): more top-priority jobs than that would starve users.
std::uint32_t pending_limit(std::uint32_t max_pending, const std::string& scheduler_parameters);

// A pending rebuild job for NODE could start now.
bool could_start(const Node& node);

// It could at any moment, or it has since the jobs were read: it counts against MaxConcurrent. A
// node that missed a ping, is powered down or has not registered yet starts a job as soon as it
// answers. Jobs and nodes are
// read one after the other: a job that starts in between is pending in one picture while its node
// boots in the other.
bool counts_as_started(const Node& node);

}  // namespace cohort
