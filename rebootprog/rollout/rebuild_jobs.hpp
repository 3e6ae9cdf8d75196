// SPDX-License-Identifier: GPL-2.0-or-later
//
// Holding and releasing rebuild jobs, recognised by the plugin's mark in admin_comment.
//
// RPCs; needs SlurmUser, root or an operator. A job that an administrator holds himself (held
// without our word in the mark) is never touched.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "common/cluster.hpp"
#include "common/rebuild_mark.hpp"
#include "common/result.hpp"
#include "common/settings.hpp"

namespace cohort {

struct MarkedJob {
    Job job;
    RebuildMark mark;

    // Held, and by us.
    bool held_by_us() const { return job.held() && !mark.held.empty(); }
};

// Is ERROR the plugin's refusal of a second rebuild job for NODE, and has the first one ended? Then
// it was cancelled a moment ago, and the plugin's picture is older (Refresh).
bool refused_for_the_dead(const Error& error, const std::string& node);

// SUBMIT(), again for two readings of the plugin where it was refused_for_the_dead().
template <class F>
auto past_the_dead(const Settings& settings, const std::string& node, F&& submit) {
    using Clock = std::chrono::steady_clock;
    const auto until = Clock::now() + 2 * settings.refresh + std::chrono::seconds(1);
    auto done = submit();
    while (!done && Clock::now() < until && refused_for_the_dead(done.error(), node)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        done = submit();
    }
    return done;
}

// Every job of JOBS that carries the mark and has not ended.
std::vector<MarkedJob> marked_jobs(const std::vector<Job>& jobs);

// Holds JOB and writes WHY ("breaker", ...) into its mark.
Status hold_rebuild_job(const MarkedJob& job, const std::string& why);

// Gives JOB its priority back and clears the word in the mark.
Status release_rebuild_job(const MarkedJob& job);

// Holds every pending rebuild job that is not held yet. Returns how many it held.
Result<int> hold_all_pending(const std::string& why);

}  // namespace cohort
