// SPDX-License-Identifier: GPL-2.0-or-later
//
// What must be changed on the jobs of the queue so that the guard holds for them too: bound before
// a cohort begins to roll, re-bound while revisions come and go, given back as they were when it is
// uniform again.
//
// Pure and idempotent: what is as it should be gives no change, and a change that was carried out
// gives none the next time. A change that an administrator made in between wins; a user's goes
// through job_modify, where it was bound. The caller sends the changes at SweepRate, in order, and
// asks again with fresh jobs and a fresh view.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/cluster.hpp"
#include "common/guard/mark.hpp"
#include "common/guard/verdict.hpp"

namespace cohort::guard {

// One update of one job record; what is not set stays as it is.
struct JobChange {
    std::string id;  // "12", "12_[3-5]", "12+0"
    // What it was planned from. A job that looks different by now is planned anew.
    struct Seen {
        std::string features, prefer, admin_comment;
        bool operator==(const Seen&) const = default;
    } seen;
    std::optional<std::string> features, prefer, admin_comment;
    bool hold = false, release = false;
    bool start_now = false;  // without the wait that Slurm gives a requeued job
    std::string why;         // for the log

    bool empty() const {
        return !features && !prefer && !admin_comment && !hold && !release && !start_now;
    }
};

// CHANGE as the updates that carry it out, in order, the next only when the one before was taken.
// slurmctld takes the fields of one update after the other and keeps what it took before one that
// it refuses (a feature that it has just lost): a mark or a release must not go with a constraint.
// A job without a mark gets a true one first.
std::vector<JobChange> steps_of(const JobChange& change);

// So often may cohort-gate send a job back; then it is held.
inline constexpr std::uint32_t most_gate_rounds = 3;

// JOB is the record that CHANGE is for, and it still waits as it did when the change was planned.
bool still_as_seen(const Job& job, const JobChange& change);

// Who counts as an administrator among the owners of jobs.
struct Owners {
    std::uint32_t slurm_user = 0;
    std::set<std::uint32_t> operators = {};  // AdminLevel operator or higher in slurmdbd
    bool is_admin(std::uint32_t uid) const {
        return uid == 0 || uid == slurm_user || operators.contains(uid);
    }
};

// Marks of jobs that job_modify has changed, by Job::id_text: the hook knows what the user gave and
// what became of it, but Slurm lets it write no admin_comment. The next sweep writes them.
using FreshMarks = std::map<std::string, Mark>;

// The word of a mark for CAUSE.
std::string held_word(Cause cause);

// JOB's mark as it is to be read now, when somebody else has changed the job since it was written.
std::optional<Mark> current_mark(const Job& job);

// What JOB asks for, by its own features (MARK's, when it is bound). Nothing when a host list of it
// cannot be read.
std::optional<Request> request_of(const Job& job, const std::optional<Mark>& mark,
                                  const ExpandHosts& expand);

std::vector<JobChange> plan_sweep(const std::vector<Job>& jobs, const GuardView& view,
                                  const ExpandHosts& expand, const Owners& owners,
                                  const FreshMarks& fresh = {});

// Takes every trace of the guard off the jobs (scohort detach, guard off).
std::vector<JobChange> plan_restore_all(const std::vector<Job>& jobs, const FreshMarks& fresh = {});

}  // namespace cohort::guard
