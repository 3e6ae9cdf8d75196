// SPDX-License-Identifier: GPL-2.0-or-later
//
// What one step of `scohort advance` does, decided from one observation. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/cluster.hpp"
#include "common/settings.hpp"
#include "rebootprog/journal/journal.hpp"
#include "rebootprog/rollout/rebuild_jobs.hpp"

namespace cohort {

struct Observation {
    std::vector<Node> nodes;
    std::vector<Job> jobs;
    std::vector<Attempt> latest;  // newest attempt of each node
    // Of rollouts that have ended: rollout and node of each row that has ended with it, where a job
    // that waits names them.
    std::set<std::pair<std::int64_t, std::string>> over = {};
    bool breaker_open = false;
    std::uint32_t max_pending = 20;  // MaxPendingRebuilds under the scheduler's depth
    std::uint32_t max_concurrent = 10;
    std::int64_t now = 0;
    int minute_of_day = 0;  // local time
};

struct AdvanceAct {
    enum class Kind {
        adopt,           // ATTEMPT was left behind by a process
        write_result,    // cohort_want lacks the result that the journal has
        take_out_again,  // the state or the reason of a node that we took out was lost
        clear_reason,    // an administrator resumed it: our note in Extra goes
        give_back,       // untouched, and the cloud answers again
        release_job,     // within the budget
        write_want,      // what the node is to become was lost with slurmctld's state
        cancel_job,      // left of a rollout that has ended: slurmctld forgot that it was cancelled
    };
    Kind kind = Kind::adopt;
    std::string node;
    std::string reason;
    std::optional<Attempt> attempt;
    std::optional<MarkedJob> job;
};

// In the order in which they are to be done.
std::vector<AdvanceAct> decide_advance(const Observation& observation);

}  // namespace cohort
