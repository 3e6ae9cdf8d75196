// SPDX-License-Identifier: GPL-2.0-or-later
//
// The two hooks as plain C++: what entry.cpp calls after it has turned Slurm's description into
// values. No RPC, no file, no process; one mutex around small tables. Slurm calls hooks in parallel
// (from 23.02): every function is re-entrant.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "common/result.hpp"
#include "plugins/job_submit/ledger.hpp"
#include "plugins/job_submit/rebuild.hpp"
#include "plugins/job_submit/world.hpp"

namespace cohort {

// What to write into a rebuild job.
struct RebuildDecision {
    RebuildPlan plan;
    std::uint32_t priority = 0;  // 0: held; nothing is written when the submitter holds it himself
    bool set_priority = false;
    std::string admin_comment;  // with the mark
    std::string held;           // why we hold it; empty: we do not
    std::string tell;           // one line for the submitter; empty: nothing to say
};

// A change of a job that somebody asks for. Unset members do not change.
struct Change {
    std::uint32_t caller = 0;
    bool trusted = false;      // root or SlurmUser: may do anything
    std::uint32_t job_id = 0;  // 0: more than one job at once, or unreadable
    std::optional<std::vector<std::string>> nodes;
    std::optional<std::uint32_t> min_nodes;
    std::optional<std::string> admin_comment;
};

class Hooks {
  public:
    // WAKE tells the thread that there is a job to look for.
    Hooks(const Published<World>& world, RebuildLedger& ledger, std::function<void()> wake)
        : world_(world), ledger_(ledger), wake_(std::move(wake)) {}

    // JOB has the reboot flag. An error refuses it; Errc::busy: try again in a moment.
    Result<RebuildDecision> submit_rebuild(const Submission& job, Clock::time_point now);

    // An error refuses the change.
    Status modify(const Change& change) const;

  private:
    Result<std::string> admit(const Submission& job, const std::string& node, bool test,
                              const Settings& settings, const World& world, Clock::time_point now);

    const Published<World>& world_;
    RebuildLedger& ledger_;
    std::function<void()> wake_;
};

}  // namespace cohort
