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

// A pending rebuild job for NODE could start now: it counts against MaxConcurrent.
bool could_start(const Node& node);

}  // namespace cohort
