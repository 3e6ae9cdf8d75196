// SPDX-License-Identifier: GPL-2.0-or-later
//
// The verdict over a change that somebody asks for on a job (job_modify): the same as at
// submission, for the job that would result.
//
// Judged only when a placement field is present, or when a user releases a held job: one that he
// held himself may have been taken unseen, and nobody could bind it. Holds and every other update
// pass. What the change does not give is taken from the thread's picture of the job, at most one
// Refresh old, with the changes of that time laid over it (Overlay). Pure, but for Overlay, which
// is a value that its owner guards by a mutex.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/guard/sweep.hpp"
#include "common/guard/verdict.hpp"

namespace cohort::guard {

// What is set is to become so; "" clears.
struct PlacementChange {
    std::optional<std::string> partition, reservation, features, prefer;
    std::optional<std::vector<std::string>> required, excluded;
    std::optional<std::uint32_t> min_nodes, max_nodes, tasks;
    bool release = false;      // priority set to something else than 0
    std::optional<Mark> mark;  // what the hook knows of the job after it; not a wish of anybody

    bool empty() const;
};

// JOB: what is known of it, nullptr when it is not in the picture. Refuses, binds or passes.
Verdict judge_change(const PlacementChange& change, const Job* job, const Caller& caller,
                     const GuardView* view, const ExpandHosts& expand);

// The mark that JOB should have when CHANGE is carried out with VERDICT's fields over it: what its
// user gave, and what it is now.
std::optional<Mark> mark_after(const PlacementChange& change, const Job& job,
                               const Verdict& verdict, const ExpandHosts& expand);

// JOB with CHANGE carried out.
Job changed(const Job& job, const PlacementChange& change);

// Changes that were let through after the picture of the jobs was taken, by Job::id_text.
class Overlay {
  public:
    using Time = std::chrono::steady_clock::time_point;
    void add(const std::string& id, PlacementChange change, Time now);
    // Drops what a picture whose first RPC was sent at BEGAN shows already.
    void forget_before(Time began);
    Job apply(const Job& job) const;

  private:
    struct Entry {
        Time at;
        PlacementChange change;
    };
    std::map<std::string, std::vector<Entry>> entries_;
};

}  // namespace cohort::guard
