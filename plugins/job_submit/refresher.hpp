// SPDX-License-Identifier: GPL-2.0-or-later
//
// One step after the other: reads the cluster and cohort.conf and publishes a new World.
//
// Times of a steady clock come in from outside, so a test needs no waiting. A reading that fails
// leaves the last World as it is: it grows stale by itself. A standby reads and writes nothing.
// For one thread at a time; the published World and the ledger are shared with the hooks.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "plugins/job_submit/config_keeper.hpp"
#include "plugins/job_submit/guard/caretaker.hpp"
#include "plugins/job_submit/ledger.hpp"
#include "plugins/job_submit/snapshot_writer.hpp"
#include "plugins/job_submit/source.hpp"
#include "plugins/job_submit/world.hpp"

namespace cohort {

class Refresher {
  public:
    // NOW is asked again after slow calls; a test passes its own clock.
    using Now = Clock::time_point (*)();
    Refresher(std::unique_ptr<ClusterSource> source, std::string config_path,
              std::uint32_t slurm_user, Published<World>& world, RebuildLedger& ledger,
              Now now = &Clock::now);

    // Reads cohort.conf only and publishes it: for init(), before the controller listens.
    void start();

    // TAKE tells whether a hook has held a job since it was last asked, because the World was cold.
    void ask_for_held_jobs(std::function<bool()> take) { take_held_ = std::move(take); }

    // TAKE gives what job_modify has made of jobs since it was last asked.
    void ask_for_marks(std::function<guard::FreshMarks()> take) { take_marks_ = std::move(take); }

    // SUMMARY: the time that hooks have taken, for StateDir/snapshot.json.
    void tell_hook_times(std::function<HookSummary()> summary) { hook_times_ = std::move(summary); }

    // Does what is due; returns how long there is nothing to do (at most).
    std::chrono::milliseconds step();

    // Has a program asked for a look (common/look_request.hpp) since the last step? The cluster is
    // then read two to five seconds after the last reading, by what that took. The thread's own, as
    // step().
    bool asked() const;

    // While rebuild jobs exist they are read this often (less often when there are very many), so
    // that one that was cancelled stops blocking its node soon.
    static constexpr std::chrono::milliseconds jobs_interval{500};

    // 22.05 loses node features in a reconfigure without a new process: one node is looked at this
    // often, so that labels are back before the scheduler holds a pending job. slurmctld walks over
    // all nodes for it, 0.3 ms of ten thousand: there at the longer interval.
    static constexpr std::chrono::milliseconds canary_interval{50}, longest_canary_interval{100};
    static constexpr std::size_t canary_nodes_per_ms = 100;

  private:
    bool only_canary();
    std::chrono::milliseconds until_canary() const;
    void take_request();
    bool jobs_are_due() const;
    Status read_cluster();
    Status read_jobs();
    void read_accounts(bool enforced);
    void take_jobs(Clock::time_point began, const std::vector<Job>& jobs);
    void publish();
    void complain(const Status& read);
    std::chrono::milliseconds refresh_interval(Clock::duration took) const;

    std::unique_ptr<ClusterSource> source_;
    ConfigKeeper config_;
    std::uint32_t slurm_user_;
    Published<World>& world_;
    RebuildLedger& ledger_;
    Now now_;
    SnapshotWriter writer_;
    GuardCaretaker caretaker_;
    std::function<bool()> take_held_;
    std::function<guard::FreshMarks()> take_marks_ = [] { return guard::FreshMarks{}; };
    std::function<HookSummary()> hook_times_ = [] { return HookSummary{}; };
    std::optional<std::vector<Job>> first_jobs_;
    std::shared_ptr<const Snapshot> snapshot_;
    std::optional<std::vector<Qos>> qos_;
    std::shared_ptr<const AccountBook> accounts_;
    std::string default_dir_;
    std::uint64_t generation_ = 0, admitted_ = 0;
    bool all_jobs_read_ = false;  // once, to find what an earlier process let in
    Clock::time_point cluster_due_{}, jobs_due_{}, step_due_{}, accounts_due_{};
    Clock::time_point soonest_{};  // the next reading, when somebody asks for it
    Clock::duration last_took_{};
    std::int64_t asked_ = 0;
    bool owes_answer_ = false;
    std::vector<RebuildJob> rebuild_jobs_;
    std::string complaint_;
    unsigned failures_ = 0;
};

}  // namespace cohort
