// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/reconcile/reconcile_decide.hpp"

#include <algorithm>
#include <optional>

#include <fmt/core.h>

namespace cohort {
namespace {

using Kind = ReconcileAct::Kind;

template <class Value>
const Value* find(const std::map<std::string, Value>& values, const std::string& node) {
    const auto at = values.find(node);
    return at == values.end() ? nullptr : &at->second;
}

bool is_down(const NodeState& state) {
    return state.base == NodeState::Base::down || state.not_responding;
}

bool has_gone_reason(const Node& node) {
    return node.has_our_reason() && node.reason.substr(reason_prefix.size()) == gone_reason;
}

bool drained_by_another(const Node& node) {
    return (node.state.drain || node.state.fail) && !node.reason.empty() && !node.has_our_reason();
}

// What works on a node; nothing: nobody does.
std::optional<std::string> worked_on(const Node& node, const ReconcileView& view) {
    if (const auto* what = find(view.under_rebuild, node.name)) return *what;
    if (!node.record.hold.empty()) return hold_reason(node.record.hold);
    if (node.state.rebooting()) return "it is rebooting";
    return std::nullopt;
}

bool in_grace(const Node& node, const ReconcileView& view) {
    std::int64_t latest = std::max(node.boot_time, node.slurmd_start_time);
    if (const auto* ended = find(view.last_attempt, node.name)) latest = std::max(latest, *ended);
    return latest + view.grace > view.now;
}

std::string job_words(const std::string& job) {
    return "job " + job + " is on it";
}

ReconcileAct judge_stale(const Node& node, const ReconcileView& view) {
    const auto act = [&](Kind kind, std::string why) {
        return ReconcileAct{kind, node.name, std::move(why)};
    };
    if (auto what = worked_on(node, view)) return act(Kind::keep, *what);
    if (drained_by_another(node))
        return act(Kind::keep, fmt::format("it is {} for '{}', which is not ours to lift",
                                           node.state.text(), node.reason));
    if (in_grace(node, view))
        return act(Kind::keep, "it booted, registered or was rebuilt a moment ago");
    const auto* since = find(view.stale_since, node.name);
    const std::int64_t age = since ? view.now - *since : 0;
    if (age < view.age)
        return act(Kind::wait, fmt::format("its machine is gone; deleted in {} s", view.age - age));
    const auto* job = find(view.job_on, node.name);
    if (job || node.state.busy()) {
        const std::string busy = job ? job_words(*job) : "it is " + node.state.text();
        if (has_gone_reason(node) && node.state.drain)
            return act(Kind::keep, busy + ": drained, deleted when it is free");
        return act(Kind::drain, fmt::format("{}; {}", gone_reason, busy));
    }
    if (const auto* waiting = find(view.wanted_by, node.name))
        return act(Kind::keep, "waiting job " + *waiting + " names it");
    return act(Kind::remove, std::string(gone_reason));
}

std::optional<ReconcileAct> judge_registration(const Node& node, const ReconcileView& view) {
    if (!is_stale_registration(node)) return std::nullopt;
    if (auto what = worked_on(node, view)) return ReconcileAct{Kind::keep, node.name, *what};
    if (const auto* job = find(view.job_on, node.name))
        return ReconcileAct{Kind::keep, node.name, job_words(*job)};
    if (node.state.busy()) return ReconcileAct{Kind::keep, node.name, "it is " + node.state.text()};
    return ReconcileAct{Kind::repair, node.name,
                        fmt::format("slurmctld refuses its registration: {}", node.reason)};
}

}  // namespace

bool is_stale(const Node& node, bool in_inventory) {
    const auto& state = node.state;
    const bool registered = state.base != NodeState::Base::future;
    // What power saving has shut down is not gone.
    return registered && !in_inventory && is_down(state) && state.dynamic && !state.cloud &&
           !state.power_saving;
}

bool is_stale_registration(const Node& node) {
    return node.state.dynamic && node.state.invalid_registration &&
           node.reason.find("CoreSpec differ") != std::string::npos;
}

std::vector<ReconcileAct> decide_reconcile(const ReconcileView& view) {
    std::vector<ReconcileAct> acts;
    for (const auto& node : view.nodes) {
        if (auto repair = judge_registration(node, view)) {
            acts.push_back(std::move(*repair));
            continue;
        }
        if (!view.with_inventory) continue;
        const bool there = view.in_inventory(node.name);
        if (is_stale(node, there))
            acts.push_back(judge_stale(node, view));
        else if (there && node.state.drain && has_gone_reason(node) && !is_down(node.state))
            acts.push_back({Kind::give_back, node.name, "its machine is in the inventory again"});
    }
    return acts;
}

}  // namespace cohort
