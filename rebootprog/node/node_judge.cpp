// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/node/node_judge.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/revision.hpp"
#include "common/text.hpp"

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

BootKind boot_kind(const NodeRecord& record, const NodeFacts& facts) {
    if (record.root.empty()) return BootKind::first;
    return record.root == facts.observed.root ? BootKind::plain : BootKind::rebuild;
}

std::string_view boot_text(BootKind kind) {
    switch (kind) {
        case BootKind::first:
            return "first boot";
        case BootKind::rebuild:
            return "first boot of new root content";
        case BootKind::plain:
            break;
    }
    return "boot of the same root content";
}

std::optional<NodeDecision> decide_lack(const Node& node, const NodeFacts& facts,
                                        const LackView& view) {
    const std::string& lack = facts.lacks();
    if (lack.empty()) return std::nullopt;
    // Slurm waits for this boot with a rebuild job, whose verify tells it to people: a drain or
    // FAIL would end that job before it could. No other task passes the launch gate meanwhile.
    if (node.state.rebooting())
        return NodeDecision{view.before ? Act::go_on : Act::wait,
                            lack + "; Slurm is rebooting the node"};
    if (!view.before && !view.live_steps && node.state.busy())
        return NodeDecision{Act::wait, lack + "; a job is about to start on the node"};
    return NodeDecision{Act::take_out, std::string(join_prefix) + lack};
}

bool asks_for_label(const Node& node, const NodeFacts& facts) {
    if (!node.state.dynamic) return false;
    if (facts.slurmd_has_revision) return true;
    const auto names = text::split(node.features, ',');
    return std::ranges::any_of(names, [](const auto& name) { return is_revision_name(name); });
}

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

NodeDecision decide_after(const NodeRecord& record, const NodeFacts& facts, bool accept_weak_proof,
                          bool asks) {
    if (!record.want) {
        if (record.revision.empty() && asks)
            return {Act::publish, "a dynamic node that was started with its revision"};
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
    if (!node.record.hold.empty()) return true;
    const std::string& reason = node.reason.empty() ? node.record.out_reason : node.reason;
    return (node.state.drain || node.state.fail) && reason.starts_with(barrier_reason);
}

bool may_lift(const Node& node, bool boot_was_published) {
    const std::string& reason = node.reason.empty() ? node.record.out_reason : node.reason;
    const bool out =
        node.state.fail || node.state.drain || node.state.base == NodeState::Base::down;
    if (!out || !is_our_reason(reason) || is_behind_barrier(node)) return false;
    return !boot_was_published || reason.substr(reason_prefix.size()).starts_with(join_prefix);
}

}  // namespace cohort
