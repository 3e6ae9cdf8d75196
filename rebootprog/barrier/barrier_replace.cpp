// SPDX-License-Identifier: GPL-2.0-or-later
//
// The part of a barrier that replaces machines: one rollout of all nodes that are not as they
// should be, without jobs, because they are out of service.
#include <algorithm>
#include <ctime>
#include <map>
#include <thread>

#include <fmt/core.h>

#include "common/log.hpp"
#include "common/slurm/hostlist.hpp"
#include "common/slurm/load.hpp"
#include "common/slurm/node_groups.hpp"
#include "rebootprog/barrier/barrier_lock.hpp"
#include "rebootprog/barrier/barrier_run.hpp"
#include "rebootprog/rollout/advance.hpp"
#include "rebootprog/rollout/plan_make.hpp"
#include "rebootprog/rollout/rollout_journal.hpp"

namespace cohort {
namespace {

using Verdict = NodePlan::Verdict;

constexpr int lock_patience = 60;

std::string named(const std::map<std::string, std::vector<std::string>>& by_reason) {
    std::string words;
    for (const auto& [why, nodes] : by_reason)
        words +=
            fmt::format("{}{}: {}", words.empty() ? "" : "; ", slurm::compress_hosts(nodes), why);
    return words;
}

}  // namespace

// FAIL and DOWN outlive the boots to come; a node that is not out of service would get a job.
Status BarrierRun::run_rollout() {
    if (auto out = slurm::take_out_all(members_of(barrier_), hold_reason(barrier_.name())); !out)
        return out;
    const RolloutJournal rollouts(journal_);
    // One that was begun before this process died goes on.
    const auto open = rollouts.unfinished();
    if (!open) return tl::unexpected(open.error());
    const auto ours = std::ranges::find(*open, barrier_.name(), &Rollout::reason);
    if (ours != open->end()) {
        barrier_.rollout = ours->id;
        if (auto saved = save(); !saved) return saved;
    } else if (auto planned = plan_rollout(); !planned) {
        return planned;
    }
    return follow_rollout();
}

Status BarrierRun::plan_rollout() {
    auto lock = lock_advance(site_, lock_patience);
    if (!lock) return tl::unexpected(lock.error());
    Choice choice;
    choice.nodes = barrier_.nodes;
    choice.image = barrier_.image;
    const auto data = make_plan(site_, journal_, choice);
    if (!data) return tl::unexpected(data.error());
    std::map<std::string, std::vector<std::string>> blocked;
    for (const auto& plan : data->nodes)
        if (plan.verdict == Verdict::blocked) blocked[plan.why].push_back(plan.node.name);
    if (!blocked.empty()) return fail(Errc::failed, "cannot be replaced: " + named(blocked));
    auto rows = rows_of(*data, journal_);
    if (!rows) return tl::unexpected(rows.error());
    for (auto& row : *rows) row.direct = true;  // they are out of service already
    barrier_.rollout = 0;
    if (rows->empty()) return save();
    Rollout rollout;
    rollout.who = who_;
    rollout.reason = barrier_.name();
    rollout.began = std::time(nullptr);
    rollout.scope = barrier_.nodes;
    rollout.image = barrier_.image;
    rollout.max_unavailable = "100%";
    rollout.failure_budget = std::ssize(*rows);
    rollout.order = "given";
    RolloutJournal rollouts(journal_);
    if (auto created = rollouts.create(rollout, *rows); !created) return created;
    barrier_.rollout = rollout.id;
    if (auto saved = save(); !saved) return saved;
    tell(fmt::format("rollout {} replaces {} of {} nodes", rollout.id, rows->size(),
                     data->nodes.size()));
    return {};
}

Status BarrierRun::follow_rollout() {
    if (barrier_.rollout == 0) return {};
    const RolloutJournal rollouts(journal_);
    while (true) {
        if (auto lock = lock_advance(site_, 0)) take_step(site_, journal_, who_, false);
        const auto rollout = rollouts.rollout(barrier_.rollout);
        if (!rollout) return tl::unexpected(rollout.error());
        if (!*rollout) return fail(Errc::failed, "its rollout is gone from the journal");
        if (!(*rollout)->open()) break;
        if ((*rollout)->state != RolloutState::active)
            return fail(Errc::failed, fmt::format("rollout {} is {}: {}", barrier_.rollout,
                                                  name_of((*rollout)->state), (*rollout)->why));
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
    const auto rows = rollouts.nodes(barrier_.rollout);
    if (!rows) return tl::unexpected(rows.error());
    std::map<std::string, std::vector<std::string>> failed;
    for (const auto& row : *rows)
        if (row.step != Step::done)
            failed[row.why.empty() ? std::string(name_of(row.step)) : row.why].push_back(row.node);
    if (failed.empty()) return {};
    return fail(Errc::failed, "not replaced: " + named(failed));
}

}  // namespace cohort
