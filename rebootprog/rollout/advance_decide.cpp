// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/rollout/advance_decide.hpp"

#include <algorithm>
#include <map>

#include "common/rebuild_budget.hpp"
#include "rebootprog/power/power.hpp"

namespace cohort {
namespace {

using Kind = AdvanceAct::Kind;

bool is_out(const Node& node) {
    return node.state.fail;
}

// An attempt that is older is left to people.
constexpr std::int64_t lost_within = 3600;

// slurmctld saves its nodes every few seconds: killed, it comes back without the last of what was
// written. A node whose record is empty was detached, or never ours.
bool lost_its_want(const Node& node, const Attempt& attempt, std::int64_t now) {
    const NodeRecord& record = node.record;
    if (attempt.phase < Phase::posting || attempt.posted == 0 ||
        attempt.outcome == Outcome::untouched)
        return false;
    // Without a machine it has a promise, and no wish.
    if (is_power_action(attempt.action) && (node.state.power_saving || attempt.action == "delete"))
        return false;
    if (attempt.posted + lost_within < now) return false;
    return record.want ? record.want->at < attempt.posted : !record.revision.empty();
}

void decide_node(const Node& node, const Attempt* attempt, bool breaker_open, std::int64_t now,
                 std::vector<AdvanceAct>& acts) {
    const auto& record = node.record;
    const auto add = [&](Kind kind, std::string reason = {}) {
        acts.push_back({kind, node.name, std::move(reason),
                        attempt ? std::optional(*attempt) : std::nullopt, std::nullopt});
    };
    if (attempt && (attempt->outcome == Outcome::open || attempt->outcome == Outcome::unsure))
        add(Kind::adopt);
    if (attempt && lost_its_want(node, *attempt, now)) add(Kind::write_want);
    if (attempt && record.want && record.want->pending() && record.want->at == attempt->posted &&
        (attempt->outcome == Outcome::ok || attempt->outcome == Outcome::failed))
        add(Kind::write_result);
    if (is_out(node) && node.reason.empty() && !record.out_reason.empty())
        add(Kind::take_out_again, record.out_reason);
    else if (is_out(node) && node.has_our_reason() && node.state.base != NodeState::Base::down)
        add(Kind::take_out_again, node.reason);
    if (!record.out_reason.empty() && !is_out(node) && !node.state.drain && node.state.available())
        add(Kind::clear_reason);
    // While Slurm still waits for the reboot, a resumed node would hang in POWERING_UP. A node that
    // was broken before it stayed untouched is still broken.
    if (attempt && attempt->outcome == Outcome::untouched && !breaker_open && is_out(node) &&
        node.has_our_reason() && !node.state.rebooting() && !record.withdrawn() &&
        record.hold.empty())
        add(Kind::give_back, attempt->reason);
}

void decide_releases(const Observation& seen, std::vector<AdvanceAct>& acts) {
    if (seen.breaker_open) return;
    std::map<std::string, const Node*> nodes;
    for (const auto& node : seen.nodes) nodes[node.name] = &node;
    // When each node's present job ends: busy nodes that free soonest come first.
    std::map<std::string, std::int64_t> free_at;
    std::uint32_t pending = 0, starting = 0;
    std::vector<MarkedJob> held;
    const auto is_free = [&](const std::string& name) {
        const auto found = nodes.find(name);
        return found != nodes.end() && could_start(*found->second);
    };
    for (auto& marked : marked_jobs(seen.jobs)) {
        if (marked.held_by_us()) {
            // A rollout's jobs are its own to release (rollout_decide.hpp).
            if (marked.mark.rollout == 0) held.push_back(marked);
        } else if (marked.job.pending && !marked.job.held()) {
            ++pending;
            const auto found = nodes.find(marked.mark.node);
            if (found != nodes.end() && counts_as_started(*found->second)) ++starting;
        } else if (!marked.job.pending) {
            ++starting;
        }
    }
    for (const auto& job : seen.jobs)
        if (job.running && !job.nodes.empty()) {
            auto& end = free_at[job.nodes];
            end = std::max(end, job.end_time);
        }
    std::stable_sort(held.begin(), held.end(), [&](const MarkedJob& a, const MarkedJob& b) {
        const bool free_a = is_free(a.mark.node), free_b = is_free(b.mark.node);
        if (free_a != free_b) return free_a;
        return free_at[a.mark.node] < free_at[b.mark.node];
    });
    for (auto& marked : held) {
        if (pending >= seen.max_pending) return;
        const bool free = is_free(marked.mark.node);
        if (free && starting >= seen.max_concurrent) continue;
        ++pending;
        if (free) ++starting;
        const std::string node = marked.mark.node;
        acts.push_back(
            {Kind::release_job, node, marked.mark.held, std::nullopt, std::move(marked)});
    }
}

// A slurmctld that dies forgets the last seconds: what was cancelled then is back, held, and no
// other job would be taken for its node.
void decide_leftovers(const Observation& seen, std::vector<AdvanceAct>& acts) {
    if (seen.over.empty()) return;
    for (auto& marked : marked_jobs(seen.jobs)) {
        if (!marked.job.pending || !seen.over.contains({marked.mark.rollout, marked.mark.node}))
            continue;
        const std::string node = marked.mark.node;
        acts.push_back({Kind::cancel_job, node, {}, std::nullopt, std::move(marked)});
    }
}

}  // namespace

std::vector<AdvanceAct> decide_advance(const Observation& seen) {
    std::map<std::string, const Attempt*> attempts;
    for (const auto& attempt : seen.latest) attempts[attempt.node] = &attempt;
    std::vector<AdvanceAct> acts;
    for (const auto& node : seen.nodes) {
        const auto found = attempts.find(node.name);
        decide_node(node, found == attempts.end() ? nullptr : found->second, seen.breaker_open,
                    seen.now, acts);
    }
    decide_leftovers(seen, acts);
    decide_releases(seen, acts);
    return acts;
}

}  // namespace cohort
