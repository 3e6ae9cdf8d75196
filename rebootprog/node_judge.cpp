// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/node_judge.hpp"

#include <string_view>

#include <fmt/core.h>

namespace cohort {
namespace {

using Act = NodeDecision::Act;

constexpr std::int64_t clock_slack = 2;
// What `scohort barrier` begins its drains with.
constexpr std::string_view barrier_reason = "cohort: barrier";

// The request has not had its effect: this is still the boot before it.
bool not_begun(const Want& want, const NodeFacts& facts) {
    return want.pending() && facts.observed.boot_time + clock_slack < want.at;
}

NodeDecision from(const Judgement& judgement) {
    switch (judgement.proof) {
        case Proof::strong:
        case Proof::weak:
            return {Act::publish, judgement.why};
        case Proof::pending:
            return {Act::wait, judgement.why};
        case Proof::unproved:
            break;
    }
    return {Act::take_out, judgement.why};
}

}  // namespace

NodeDecision decide_before(const NodeRecord& record, const NodeFacts& facts,
                           bool accept_weak_proof) {
    if (!record.want) return {Act::go_on, "no attempt is recorded for this node"};
    if (not_begun(*record.want, facts))
        return {Act::go_on, "a rebuild or reboot is about to begin"};
    auto decision = from(judge(*record.want, facts.observed, accept_weak_proof, clock_slack));
    // Without an answer from the cloud slurmd may start: verify and join --after wait for it.
    if (decision.act != Act::take_out) decision.act = Act::go_on;
    return decision;
}

NodeDecision decide_after(const NodeRecord& record, const NodeFacts& facts,
                          bool accept_weak_proof) {
    if (!record.want) {
        if (record.revision.empty()) return {Act::go_on, "this node was never adopted"};
        return {Act::publish, "no attempt is recorded: labelled by what runs"};
    }
    if (not_begun(*record.want, facts))
        return {Act::go_on, "a rebuild or reboot is about to begin"};
    return from(judge(*record.want, facts.observed, accept_weak_proof, clock_slack));
}

NodeDecision decide_verify(const NodeRecord& record, const NodeFacts& facts, bool accept_weak_proof,
                           std::int64_t submit_time) {
    if (!record.want || record.want->at + clock_slack < submit_time)
        return {Act::take_out,
                "the job started but nobody rebuilt or rebooted this node for it: is "
                "RebootProgram=cohort-reboot set, and did it run?"};
    return from(judge(*record.want, facts.observed, accept_weak_proof, clock_slack));
}

bool is_behind_barrier(const Node& node) {
    const std::string& reason = node.reason.empty() ? node.record.out_reason : node.reason;
    return (node.state.drain || node.state.fail) && reason.starts_with(barrier_reason);
}

bool may_lift(const Node& node, bool boot_was_published) {
    const bool ours =
        node.has_our_reason() || (node.reason.empty() && !node.record.out_reason.empty());
    const bool out =
        node.state.fail || node.state.drain || node.state.base == NodeState::Base::down;
    return ours && out && !boot_was_published && !is_behind_barrier(node);
}

}  // namespace cohort
