// SPDX-License-Identifier: GPL-2.0-or-later
//
// The steps of a barrier, each from its beginning as often as it takes.
//
// The step that is next stands in the journal before it is done, and is changed only under
// advance's lock: what re-asserts the lock never works from an old picture. Whatever fails leaves
// the cohort closed, with the reason. Machines are replaced by a rollout of all nodes at once,
// through the engine of every rollout, or by the site's command.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "common/cluster.hpp"
#include "rebootprog/barrier/barrier.hpp"
#include "rebootprog/journal/journal.hpp"
#include "rebootprog/site/site.hpp"

namespace cohort {

struct BarrierLimits {
    std::chrono::seconds jobs{0};         // for running jobs to end; 0: as long as they take
    std::chrono::seconds machines{3600};  // for the command, and for machines to be back
};

class BarrierRun {
  public:
    BarrierRun(const Site& site, Journal& journal, Barrier barrier, BarrierLimits limits,
               std::string who)
        : site_(site),
          journal_(journal),
          barrier_(std::move(barrier)),
          limits_(limits),
          who_(std::move(who)) {}

    // From the recorded step to the end; an exit code.
    int run();
    // Everything as it was before; only while nothing was replaced (Errc::denied).
    Status give_up(const std::string& why);

  private:
    Status perform();
    Status close();
    Status wait_for_jobs();
    Status replace();
    Status run_command_once();
    Status run_rollout();
    Status follow_rollout();
    Status plan_rollout();
    Status enroll();
    Status prove();
    Status prove_labels();
    Status prove_steps();
    Status resume();
    Status test();
    Status test_job(const std::string& partition);
    Status test_command();
    Status open();

    Status go_to(BarrierStep step);
    Status save();
    void tell(const std::string& text, const std::string& node = {});
    // LOOK until it returns an empty sentence; Errc::busy with the last one after LIMIT (0: none).
    // In between the lock is re-asserted.
    Status until(std::chrono::seconds limit, const std::function<Result<std::string>()>& look);

    const Site& site_;
    Journal& journal_;
    Barrier barrier_;
    BarrierLimits limits_;
    std::string who_;
};

// The jobs that run or complete on NODES, as a sentence; empty: none.
Result<std::string> jobs_on_nodes(const std::vector<std::string>& nodes);

// "n3: rev_..." for each node whose own word is not REVISION, asked by a step on it (srun without
// an allocation, so that a drained node answers too).
std::string differing_steps(const Site& site, const std::vector<Node>& nodes,
                            const std::string& revision);

}  // namespace cohort
