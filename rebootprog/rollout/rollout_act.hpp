// SPDX-License-Identifier: GPL-2.0-or-later
//
// Does what rollout_decide.hpp decides: RPCs to slurmctld, rows and events in the journal.
//
// The order of an RPC and its row is such that a process that dies between the two leaves something
// that the next step sees for what it is: a job is found again by its mark, never by the row alone.
#pragma once

#include <string>
#include <vector>

#include "common/slurm/submit.hpp"
#include "rebootprog/rollout/rollout_decide.hpp"
#include "rebootprog/rollout/rollout_journal.hpp"
#include "rebootprog/site/site.hpp"

namespace cohort {

class RolloutHand {
  public:
    RolloutHand(const Site& site, const Journal& journal, std::string who)
        : site_(site), rollouts_(journal), who_(std::move(who)) {}

    // Another look may find more to do: something was submitted, taken back or given up.
    bool look_again = false;
    int acts = 0;
    int failures = 0;

    void act(RolloutAct act);

  private:
    Status perform(RolloutAct& act);
    Status submit(RolloutAct& act);
    Status rebuild(RolloutAct& act);
    Status take_back(RolloutAct& act);
    Status cancel(RolloutAct& act);
    Status reboot(RolloutAct& act);
    Status take_reboot_back(RolloutAct& act);
    void tell(std::int64_t rollout, const std::string& node, const std::string& text);

    const Site& site_;
    RolloutJournal rollouts_;
    std::string who_;
};

// The rebuild job of a rollout, held; TEST: for slurm::test_rebuild(). Errc::invalid when
// RebuildJobUser does not exist.
Result<slurm::RebuildSubmission> rebuild_job_for(const Site& site, std::int64_t rollout,
                                                 const std::string& node, bool test);

// What `advance` needs of every unfinished rollout.
Result<std::vector<RolloutView>> load_views(const Site& site, const Journal& journal);

}  // namespace cohort
