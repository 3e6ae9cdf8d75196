// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/barrier/barrier_picture.hpp"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "common/slurm/load.hpp"
#include "rebootprog/barrier/barrier_journal.hpp"
#include "rebootprog/reconcile/reconcile_decide.hpp"
#include "rebootprog/rollout/plan_make.hpp"
#include "rebootprog/rollout/rollout_journal.hpp"

namespace cohort {
namespace {

// Out of service for somebody else's reason. What Slurm itself says of a dead node is nobody's.
bool is_foreign(const Node& node) {
    return (node.state.drain || node.state.fail) && !node.reason.empty() &&
           !node.has_our_reason() && !is_stale_registration(node);
}

bool is_out(const Node& node) {
    return node.state.drain || node.state.fail || node.state.base == NodeState::Base::down ||
           node.state.base == NodeState::Base::unknown;
}

Status look_at_partitions(const std::set<std::string>& chosen, CohortPicture& picture) {
    const auto all = slurm::load_partitions();
    if (!all) return tl::unexpected(all.error());
    for (const auto& partition : *all) {
        const auto inside = [&](const std::string& name) { return chosen.contains(name); };
        if (std::ranges::none_of(partition.nodes, inside)) continue;
        if (!std::ranges::all_of(partition.nodes, inside)) {
            picture.shared.push_back(partition.name);
            continue;
        }
        picture.partitions.push_back(partition.name);
        if (!partition.up) picture.down.push_back(partition.name);
    }
    return {};
}

}  // namespace

std::vector<std::string> CohortPicture::member_names() const {
    std::vector<std::string> names;
    for (const auto& node : members) names.push_back(node.name);
    return names;
}

Openness CohortPicture::openness() const {
    return unfinished || !down.empty() ? Openness::closed : Openness::open;
}

std::optional<std::string> CohortPicture::common_label() const {
    const std::string& label = members.front().record.revision;
    const bool uniform = std::ranges::all_of(
        members, [&](const Node& node) { return node.record.revision == label && !is_out(node); });
    if (!uniform || label.empty()) return std::nullopt;
    return label;
}

Result<CohortPicture> look_at_cohort(const Site& site, const Journal& journal,
                                     const std::string& cohort) {
    CohortPicture picture;
    const auto unfinished = BarrierJournal(journal).unfinished();
    if (!unfinished) return tl::unexpected(unfinished.error());
    for (const auto& one : *unfinished)
        if (one.cohort == cohort) picture.unfinished = one;
    const auto all = slurm::load_nodes();
    if (!all) return tl::unexpected(all.error());
    Choice choice;
    choice.cohort = cohort;
    const auto names = chosen_names(site, choice, *all);
    if (!names) return tl::unexpected(names.error());
    const std::set<std::string> chosen(names->begin(), names->end());
    for (const auto& node : *all) {
        if (!chosen.contains(node.name) || node.state.base == NodeState::Base::future) continue;
        if (is_foreign(node) && node.record.hold.empty())
            picture.others.push_back(node.name);
        else
            picture.members.push_back(node);
    }
    if (picture.members.empty())
        return fail(Errc::denied,
                    fmt::format("no node of cohort {} is there to be replaced{}", cohort,
                                picture.others.empty() ? "" : ": all are drained"));
    if (auto looked = look_at_partitions(chosen, picture); !looked)
        return tl::unexpected(looked.error());
    return picture;
}

Status nobody_else(const CohortPicture& picture, const Journal& journal) {
    const auto names = picture.member_names();
    const std::set<std::string> members(names.begin(), names.end());
    const auto mine = picture.unfinished ? picture.unfinished->name() : std::string();
    for (const auto& node : picture.members)
        if (!node.record.hold.empty() && node.record.hold != mine)
            return fail(Errc::denied, fmt::format("{}: {}: see 'scohort status'", node.name,
                                                  hold_reason(node.record.hold)));
    const RolloutJournal rollouts(journal);
    const auto open = rollouts.unfinished();
    if (!open) return tl::unexpected(open.error());
    for (const auto& rollout : *open) {
        if (rollout.reason == mine && !mine.empty()) continue;
        const auto rows = rollouts.nodes(rollout.id);
        if (!rows) return tl::unexpected(rows.error());
        for (const auto& row : *rows)
            if (row.open() && members.contains(row.node))
                return fail(Errc::denied,
                            fmt::format("{} belongs to rollout {}, which is under way: let it end, "
                                        "or 'scohort abort {}'",
                                        row.node, rollout.id, rollout.id));
    }
    return {};
}

}  // namespace cohort
