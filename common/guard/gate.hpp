// SPDX-License-Identifier: GPL-2.0-or-later
//
// cohort-gate's decision: may an allocation that Slurm has just made start?
//
// The last net on the controller: it catches what was neither bound at submission nor by the sweep
// (a job that started before its turn, a version of Slurm that forgets a constraint). Pure. A job
// whose bound an administrator has taken off ("own"), and jobs of administrators where GuardAdmins
// is off, start: what the guard lets pass, its net lets pass.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/cluster.hpp"
#include "common/guard/sweep.hpp"
#include "common/guard/view.hpp"
#include "common/snapshot_file.hpp"

namespace cohort::guard {

// Can it be told from the plugin's file alone that the nodes do not differ? False: look closer.
bool plainly_uniform(const SnapshotFile& file, const std::vector<std::string>& nodes);

struct GateDecision {
    enum class Act {
        start,
        requeue,  // exit 1: Slurm puts the batch job back; the sweep binds it and lets it start
        kill      // exit 1: Slurm ends it (srun, salloc, a batch job that may not be requeued)
    };
    Act act = Act::start;
    std::string why;                           // for the log; empty: nothing to tell
    std::vector<std::string> told;             // for the user's terminal
    std::optional<std::string> admin_comment;  // to be written before the answer
};

// NODES: of all components of the job. START_ANYWAY: GateNoRequeue=allow.
GateDecision decide_gate(const Job& job, const std::vector<std::string>& nodes,
                         const GuardView& view, const Owners& owners, bool start_anyway);

}  // namespace cohort::guard
