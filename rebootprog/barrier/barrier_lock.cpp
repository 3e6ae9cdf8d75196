// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/barrier/barrier_lock.hpp"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "common/log.hpp"
#include "common/slurm/closing.hpp"
#include "common/slurm/hostlist.hpp"
#include "common/slurm/load.hpp"
#include "common/slurm/node_groups.hpp"
#include "common/slurm/node_writer.hpp"
#include "common/text.hpp"
#include "rebootprog/barrier/barrier_journal.hpp"
#include "rebootprog/rollout/rollout_journal.hpp"

namespace cohort {
namespace {

bool is_out(const Node& node) {
    return node.state.drain || node.state.fail;
}

void tell(const Journal& journal, const Barrier& barrier, const std::string& node,
          const std::string& who, const std::string& text) {
    log::info("{}: {}{}{}", barrier.name(), node, node.empty() ? "" : " ", text);
    if (auto kept =
            RolloutJournal(journal).note(barrier.rollout, node, who, barrier.name() + ": " + text);
        !kept)
        log::warning("{}", kept.error().message);
}

// At the first time the journal has the step already: only what was lost is worth a line.
Status drain_members(const Journal& journal, const Barrier& barrier, const std::string& who) {
    auto nodes = load_members(barrier);
    if (!nodes) return tl::unexpected(nodes.error());
    std::vector<std::string> open;
    for (const auto& node : *nodes)
        if (!is_out(node) || node.record.hold != barrier.name()) open.push_back(node.name);
    if (open.empty()) return {};
    if (auto held = slurm::hold_all(open, barrier.name()); !held) return held;
    if (barrier.step != BarrierStep::close)
        for (const auto& name : open) tell(journal, barrier, name, who, "is drained again");
    return {};
}

// An administrator gave it back meanwhile: it was not replaced with the others.
Status drain_others(const Journal& journal, const Barrier& barrier, const std::string& who) {
    if (barrier.others.empty()) return {};
    const auto names = slurm::expand_hosts(barrier.others);
    if (!names) return tl::unexpected(names.error());
    for (const auto& name : *names) {
        const auto node = slurm::load_node(name);
        if (!node || is_out(*node)) continue;
        if (auto done = slurm::drain(name, barrier.name() + " did not replace it: rebuild it");
            !done)
            return done;
        tell(journal, barrier, name, who, "was resumed and is drained: it is not replaced");
    }
    return {};
}

Status close_partitions(const Journal& journal, const Barrier& barrier, const std::string& who) {
    const auto wanted = text::split(barrier.partitions, ',');
    if (wanted.empty()) return {};
    const auto all = slurm::load_partitions();
    if (!all) return tl::unexpected(all.error());
    for (const auto& partition : *all) {
        if (!partition.up || std::ranges::find(wanted, partition.name) == wanted.end()) continue;
        if (auto set = slurm::set_partition(partition.name, false); !set) return set;
        if (barrier.step != BarrierStep::close)
            tell(journal, barrier, "", who, "partition " + partition.name + " is set DOWN again");
    }
    return {};
}

}  // namespace

std::vector<std::string> members_of(const Barrier& barrier) {
    return slurm::expand_hosts(barrier.nodes).value_or(std::vector<std::string>{});
}

Result<std::vector<Node>> load_members(const Barrier& barrier) {
    const auto names = slurm::expand_hosts(barrier.nodes);
    if (!names) return tl::unexpected(names.error());
    auto all = slurm::load_nodes();
    if (!all) return all;
    const std::set<std::string> wanted(names->begin(), names->end());
    std::erase_if(*all, [&](const Node& node) { return !wanted.contains(node.name); });
    return all;
}

Status set_partitions(const Barrier& barrier, bool up) {
    for (const auto& name : text::split(barrier.partitions, ','))
        if (auto set = slurm::set_partition(name, up); !set) return set;
    return {};
}

Status assert_closed(const Site& site, const Journal& journal, const Barrier& barrier,
                     const std::string& who) {
    if (barrier.state != BarrierState::closed) return {};
    if (barrier.reserves())
        return slurm::reserve(barrier.reservation(), members_of(barrier),
                              {site.settings().rebuild_job_user});
    if (auto closed = close_partitions(journal, barrier, who); !closed) return closed;
    if (auto drained = drain_members(journal, barrier, who); !drained) return drained;
    return drain_others(journal, barrier, who);
}

Status assert_all_closed(const Site& site, const Journal& journal, const std::string& who) {
    const auto open = BarrierJournal(journal).unfinished();
    if (!open) return tl::unexpected(open.error());
    Status result;
    for (const auto& barrier : *open)
        if (auto done = assert_closed(site, journal, barrier, who); !done) result = done;
    return result;
}

Result<std::vector<std::string>> lift_holds(const Barrier& barrier) {
    auto nodes = load_members(barrier);
    if (!nodes) return tl::unexpected(nodes.error());
    std::vector<std::string> ours;
    for (const auto& node : *nodes)
        if (node.record.hold == barrier.name() || is_out(node)) ours.push_back(node.name);
    return slurm::release_all(ours);
}

}  // namespace cohort
