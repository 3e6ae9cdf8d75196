// SPDX-License-Identifier: GPL-2.0-or-later
//
// Holding and releasing rebuild jobs, recognised by the plugin's mark in admin_comment.
//
// RPCs; needs SlurmUser, root or an operator. A job that an administrator holds himself (held
// without our word in the mark) is never touched.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/cluster.hpp"
#include "common/rebuild_mark.hpp"
#include "common/result.hpp"

namespace cohort {

struct MarkedJob {
    Job job;
    RebuildMark mark;

    // Held, and by us.
    bool held_by_us() const { return job.held() && !mark.held.empty(); }
};

// Every job of JOBS that carries the mark and has not ended.
std::vector<MarkedJob> marked_jobs(const std::vector<Job>& jobs);

// Holds JOB and writes WHY ("breaker", ...) into its mark.
Status hold_rebuild_job(const MarkedJob& job, const std::string& why);

// Gives JOB its priority back and clears the word in the mark.
Status release_rebuild_job(const MarkedJob& job);

// Holds every pending rebuild job that is not held yet. Returns how many it held.
Result<int> hold_all_pending(const std::string& why);

}  // namespace cohort
