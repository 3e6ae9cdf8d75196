// SPDX-License-Identifier: GPL-2.0-or-later
//
// The guard's work in the plugin's thread: builds the view of each new snapshot, puts lost features
// back on labelled nodes, and keeps the queue bound while revisions differ.
//
// Jobs are read only while a guarded cohort is not uniform (and after, until all have back what
// they asked for), at most a fiftieth of the time. Changes go out at SweepRate. One thread; blocks
// in the source's calls. Times come in from outside.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/guard/sweep.hpp"
#include "plugins/job_submit/guard/guard_world.hpp"
#include "plugins/job_submit/source.hpp"
#include "plugins/job_submit/world.hpp"

namespace cohort {

class GuardCaretaker {
  public:
    using Now = Clock::time_point (*)();
    GuardCaretaker(ClusterSource& source, std::uint32_t slurm_user, Now now)
        : source_(source), owners_{slurm_user, {}}, now_(now) {}

    // Whose jobs count as an administrator's, besides root's and SlurmUser's.
    void set_operators(std::set<std::uint32_t> operators) {
        owners_.operators = std::move(operators);
    }

    // A new snapshot. True when features were put back: read the cluster again soon.
    bool look(const std::shared_ptr<const Snapshot>& snapshot, const Policy& policy);

    // All jobs, read anyway by a call that was sent at BEGAN: plans what must be changed.
    void consider(std::vector<Job> jobs, Clock::time_point began);

    // What job_modify has made of jobs (GuardHooks::take_marks).
    void take_marks(guard::FreshMarks marks);

    // A hook has held a job because it could not judge it: look for it a moment later.
    void expect_held_job();

    // Reads and changes jobs when that is due; returns how long there is nothing to do (at most).
    std::chrono::milliseconds work(const Policy& policy, bool off);

    const GuardWorld& world() const { return world_; }

    // The hooks judge by world() from now on.
    void published();
    // Nodes whose revision is about to change, and for which the hooks judge by that and the queue
    // has been read after they began to and found as it should be: what was not bound can no longer
    // start there.
    std::vector<std::string> open_nodes() const;

    // Is the label of a node that had one still known to slurmctld? One small RPC; for versions
    // that lose features without a new process.
    bool labels_are_there();
    bool knows_a_label() const { return !canary_.empty(); }

  private:
    void say_what_is_off();
    bool repair_features(const Snapshot& snapshot);
    void read_jobs();
    bool still_there(const guard::JobChange& change);
    void send(std::size_t most);
    void found_all_bound(Clock::time_point began);
    void forget_written_marks();
    void complain(std::string_view what, const Status& done);

    ClusterSource& source_;
    guard::Owners owners_;
    Now now_;
    GuardWorld world_;
    std::vector<guard::JobChange> changes_;
    struct FreshMark {
        guard::Mark mark;
        Clock::time_point at;
    };
    std::map<std::string, FreshMark> fresh_;  // by Job::id_text, until their job carries them
    std::size_t sent_ = 0;
    bool settled_ = true;  // uniform, and the queue has been given back
    std::size_t most_planned_ = 100;
    Clock::time_point jobs_due_{}, send_due_{}, held_until_{}, notice_due_{};
    std::string canary_, complaint_;
    struct UnderWay {
        Clock::time_point since;  // in the published world
        bool ready = false;
    };
    std::map<std::string, UnderWay> under_way_;
    std::shared_ptr<const guard::GuardView> published_;
};

}  // namespace cohort
