// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/slurm/node_groups.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "common/log.hpp"
#include "common/slurm/hostlist.hpp"
#include "common/slurm/load.hpp"
#include "common/slurm/node_update.hpp"
#include "common/slurm/node_writer.hpp"

namespace cohort::slurm {
namespace {

// Written between two readings of all nodes: what others write meanwhile is seen soon.
constexpr std::size_t records_at_once = 200;

using Names = std::vector<std::string>;

Result<std::vector<Node>> load_those(const Names& names) {
    auto all = load_nodes();
    if (!all) return all;
    const std::set<std::string> wanted(names.begin(), names.end());
    std::erase_if(*all, [&](const Node& node) { return !wanted.contains(node.name); });
    return all;
}

// Slurm goes on behind a node that it refuses: that one is done alone afterwards, and named.
void send_state(const std::map<std::string, Names>& by_reason, std::uint32_t state) {
    for (const auto& [reason, names] : by_reason) {
        NodeUpdate update(compress_hosts(names));
        update.state(state);
        if (!reason.empty()) update.reason(reason);
        if (auto sent = update.send(); !sent) log::info("{}", sent.error().message);
    }
}

Status edit_records(const Names& nodes, const std::function<void(NodeRecord&)>& edit) {
    for (std::size_t begin = 0; begin < nodes.size(); begin += records_at_once) {
        const std::size_t end = std::min(nodes.size(), begin + records_at_once);
        std::map<std::string, std::string> written;
        for (std::size_t i = begin; i < end; ++i) {
            auto one = write_record(nodes[i], edit);
            if (!one) return tl::unexpected(one.error());
            if (!one->empty()) written[nodes[i]] = std::move(*one);
        }
        if (written.empty()) continue;
        // As edit_record(): late enough to see a writer that had read before us.
        std::this_thread::sleep_for(update_pause);
        const auto after = load_nodes();
        if (!after) return tl::unexpected(after.error());
        for (const auto& node : *after)
            if (const auto one = written.find(node.name);
                one != written.end() && one->second == node.extra)
                written.erase(one);
        for (const auto& [name, extra] : written)
            if (auto done = edit_record(name, edit); !done) return done;
    }
    return {};
}

}  // namespace

Status take_out_all(const Names& nodes, std::string_view reason) {
    const std::string full = our_reason(reason);
    const auto is_done = [&](const Node& node) {
        return node.state.fail && node.state.base == NodeState::Base::down &&
               node.record.out_reason == full;
    };
    const auto before = load_those(nodes);
    if (!before) return tl::unexpected(before.error());
    Names ours;
    std::map<std::string, Names> by_reason;
    for (const auto& node : *before) {
        // What needs a closer look is done alone.
        const bool foreign = (node.state.drain || node.state.fail) && is_foreign(node);
        if (foreign || !node.extra_is_ours || (node.state.fail && node.reason.empty())) continue;
        if (is_done(node)) continue;
        ours.push_back(node.name);
        by_reason[full].push_back(node.name);
    }
    send_state(by_reason, NODE_STATE_FAIL);
    // Before DOWN, as in take_out().
    if (auto kept = edit_records(ours, [&](NodeRecord& record) { record.out_reason = full; });
        !kept)
        log::warning("{}", kept.error().message);
    send_state(by_reason, NODE_STATE_DOWN);
    std::this_thread::sleep_for(2 * update_pause);
    const auto after = load_those(nodes);
    if (!after) return tl::unexpected(after.error());
    std::set<std::string> left(nodes.begin(), nodes.end());
    for (const auto& node : *after)
        if (is_done(node)) left.erase(node.name);
    for (const auto& name : left)
        if (auto out = take_out(name, reason); !out) return out;
    return {};
}

Status hold_all(const Names& nodes, const std::string& by) {
    const auto before = load_those(nodes);
    if (!before) return tl::unexpected(before.error());
    std::map<std::string, Names> by_reason;
    Names unmarked;
    // The drain first, as in hold().
    for (const auto& node : *before) {
        if (!node.extra_is_ours) continue;
        if (!out_of_service(node.state) || node.reason.empty())
            by_reason[our_reason(hold_reason(by))].push_back(node.name);
        if (node.record.hold != by) unmarked.push_back(node.name);
    }
    send_state(by_reason, NODE_STATE_DRAIN);
    if (auto marked = edit_records(unmarked, [&](NodeRecord& record) { record.hold = by; });
        !marked)
        return marked;
    const auto after = load_those(nodes);
    if (!after) return tl::unexpected(after.error());
    std::set<std::string> left(nodes.begin(), nodes.end());
    for (const auto& node : *after)
        if (out_of_service(node.state) && node.record.hold == by) left.erase(node.name);
    for (const auto& name : left)
        if (auto held = hold(name, by); !held) return held;
    return {};
}

Result<Names> release_all(const Names& nodes) {
    if (auto cleared = edit_records(nodes, [](NodeRecord& record) { record.hold.clear(); });
        !cleared)
        return tl::unexpected(cleared.error());
    const auto before = load_those(nodes);
    if (!before) return tl::unexpected(before.error());
    Names ours;
    for (const auto& node : *before)
        if (node.has_our_reason() && node.record.hold.empty() && out_of_service(node.state))
            ours.push_back(node.name);
    if (!ours.empty()) send_state({{std::string(), ours}}, NODE_RESUME);
    if (auto kept = edit_records(ours, [](NodeRecord& record) { record.out_reason.clear(); });
        !kept)
        return tl::unexpected(kept.error());
    const auto after = load_those(nodes);
    if (!after) return tl::unexpected(after.error());
    std::set<std::string> left(nodes.begin(), nodes.end());
    for (const auto& node : *after)
        if (node.record.hold.empty() && node.record.out_reason.empty() &&
            !out_of_service(node.state) && node.state.base != NodeState::Base::down)
            left.erase(node.name);
    Names kept;
    for (const auto& name : left) {
        auto done = release(name);
        if (!done && done.error().code != Errc::denied) return tl::unexpected(done.error());
        if (!done) kept.push_back(name);
    }
    return kept;
}

}  // namespace cohort::slurm
