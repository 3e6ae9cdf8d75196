// SPDX-License-Identifier: GPL-2.0-or-later
//
// The rebuild jobs that exist, and those that a hook has just let through and Slurm does not show
// yet: one for a node, and a budget for all.
//
// A hook's answer and the entry that it leaves are one step under one mutex, so of many submissions
// for one node exactly one passes. The thread brings what Slurm shows; an entry ends when a reading
// that began after it shows the job, or when one that began SETTLE later does not (the submission
// failed after the hook, was sbatch --test-only, or was cancelled at once). Thread-safe; the mutex
// is held for a few look-ups only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "common/snapshot.hpp"

namespace cohort {

// Slurm creates a job under a lock that it takes after the hook: how long that can take.
constexpr std::chrono::seconds settle{5};

class RebuildLedger {
  public:
    using Time = std::chrono::steady_clock::time_point;

    struct Request {
        std::string node;
        std::uint32_t owner = 0;
        bool held_by_submitter = false;
        bool breaker_open = false;
        std::uint32_t max_pending = 20;
        bool test = false;                            // only asks: no entry is left
        std::optional<std::uint32_t> max_concurrent;  // nothing: Slurm enforces it by a license
        std::function<bool(const std::string&)> counts_as_started;  // a job on this node, at once
    };

    // Lets the job in and returns why it must be held: "pending", "concurrent", "breaker", or ""
    // (not at all, or by the submitter himself). Errc::failed: the node has one already;
    // Errc::busy: it seems so, try again in a moment.
    Result<std::string> admit(const Request& request, Time now);

    // What Slurm shows, read by calls of which the first was sent at BEGAN.
    void observe(Time began, std::vector<RebuildJob> jobs,
                 const std::vector<std::uint32_t>& owners);

    // Whose jobs must be read to see all rebuild jobs.
    std::vector<std::uint32_t> owners() const;
    bool empty() const;
    // How many were let in so far: more than before, and there is something new to see.
    std::uint64_t admitted() const;
    std::optional<RebuildJob> find(std::uint32_t job_id) const;

  private:
    struct Entry {
        Time at;
        bool held = false;
    };

    Status refuse_second(const std::string& node, Time now) const;
    std::string hold_reason(const Request& request) const;

    mutable std::mutex mutex_;
    std::vector<RebuildJob> jobs_;
    std::map<std::string, Entry> entries_;  // by node
    std::set<std::uint32_t> owners_;
    std::uint64_t admitted_ = 0;
};

}  // namespace cohort
