// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/slurm/node_writer.hpp"

#include <cerrno>
#include <thread>

#include <fmt/core.h>

#include "common/log.hpp"
#include "common/slurm/compat.hpp"
#include "common/slurm/hostlist.hpp"
#include "common/slurm/load.hpp"
#include "common/slurm/node_update.hpp"
#include "common/text.hpp"

namespace cohort::slurm {
namespace {

Status keep_reason(const std::string& node, const std::string& reason) {
    return edit_record(node, [&](NodeRecord& record) { record.out_reason = reason; });
}

// With ReturnToService=2 the answer to a ping that was under way takes DOWN away again [22.05].
Status put_down(const std::string& node, const std::string& reason) {
    Result<Node> after = fail(Errc::failed, "");
    for (int i = 0; i < update_attempts; ++i) {
        if (auto sent = NodeUpdate(node).state(NODE_STATE_DOWN).reason(reason).send(); !sent)
            return sent;
        std::this_thread::sleep_for(2 * update_pause);
        after = load_node(node);
        if (after && after->state.fail && after->state.base == NodeState::Base::down) return {};
    }
    if (!after) return tl::unexpected(after.error());
    return fail(Errc::failed,
                fmt::format("{} was to go out of service but is {}", node, after->state.text()));
}

// 26.05 gives a node up at ResumeTimeout as DOWN+POWERED_DOWN, without power saving too. RESUME
// would leave it IDLE+POWERED_DOWN: its registration is not asked for, and jobs wait for a boot
// that nobody makes. FUTURE takes the flag away; RESUME then asks the node to register [update_node
// of 26.05].
Status resume(const Node& node) {
    if (node.state.base == NodeState::Base::down && node.state.powered_down && !node.state.cloud) {
        const auto config = load_controller_config();
        if (!config) return tl::unexpected(config.error());
        if (config->resume_program.empty())
            if (auto sent = NodeUpdate(node.name).state(NODE_STATE_FUTURE).send(); !sent)
                return sent;
    }
    return NodeUpdate(node.name).state(NODE_RESUME).send();
}

}  // namespace

Status take_out(const std::string& node, std::string_view reason) {
    const std::string full = our_reason(reason);
    auto before = load_node(node);
    if (!before) return tl::unexpected(before.error());
    // 26.05 loses the reason of a FAIL node at a reconfigure after ResumeTimeout; Extra still has
    // it.
    const bool lost_reason = before->reason.empty() && !before->record.out_reason.empty();
    if (before->state.fail && !before->has_our_reason() && !lost_reason) {
        log::info("{}: stays out of service for '{}'; ours is: {}", node, before->reason, full);
        return keep_reason(node, full);
    }
    // An administrator's drain keeps its reason: FAIL and DOWN are added without one.
    const bool foreign = before->state.drain && is_foreign(*before);
    const std::string shown = foreign ? before->reason : full;
    if (auto sent = NodeUpdate(node).state(NODE_STATE_FAIL).reason(shown).send(); !sent)
        return sent;
    // Before DOWN, which ends the jobs of the node: the caller may be in one of them (verify).
    if (auto kept = keep_reason(node, full); !kept)
        log::warning("{}: the reason could not be kept in Extra: {}", node, kept.error().message);
    return put_down(node, shown);
}

Status give_back(const std::string& node) {
    auto before = load_node(node);
    if (!before) return tl::unexpected(before.error());
    if (!before->record.hold.empty())
        return fail(Errc::denied, fmt::format("{}: {}", node, hold_reason(before->record.hold)));
    const bool lost_reason = before->reason.empty() && !before->record.out_reason.empty();
    if (!before->has_our_reason() && !lost_reason) {
        if (!out_of_service(before->state) && before->record.out_reason.empty()) return {};
        if (out_of_service(before->state) || !before->reason.empty())
            return fail(Errc::denied, fmt::format("{} is {} for '{}', which is not ours to lift",
                                                  node, before->state.text(), before->reason));
    }
    // FUTURE with our reason: resume() was interrupted.
    const auto base = before->state.base;
    if (out_of_service(before->state) || base == NodeState::Base::down ||
        base == NodeState::Base::future)
        if (auto sent = resume(*before); !sent) return sent;
    return keep_reason(node, "");
}

Status back_to_power_saving(const std::string& node) {
    const auto before = load_node(node);
    if (!before) return tl::unexpected(before.error());
    const auto& s = before->state;
    if (out_of_service(s)) return {};
    NodeUpdate update(node);
    if (s.base == NodeState::Base::down)
        update.state(NODE_RESUME);
    else if (s.powering_up)
        update.state(NODE_STATE_POWER_DOWN | NODE_STATE_POWERED_DOWN);  // POWER_DOWN_FORCE
    else
        return {};
    return update.send();
}

Status drain(const std::string& node, std::string_view reason) {
    auto before = load_node(node);
    if (!before) return tl::unexpected(before.error());
    if (out_of_service(before->state) && !before->has_our_reason() &&
        !is_slurms_own(before->reason))
        return {};
    NodeUpdate update(node);
    update.state(NODE_STATE_DRAIN).reason(our_reason(reason));
    return update.send();
}

Status write_reason(const std::string& node, std::string_view reason) {
    auto before = load_node(node);
    if (!before) return tl::unexpected(before.error());
    if (out_of_service(before->state) && !before->has_our_reason()) return {};
    return NodeUpdate(node).reason(reason.empty() ? "" : our_reason(reason)).send();
}

Status hold(const std::string& node, const std::string& by) {
    auto before = load_node(node);
    if (!before) return tl::unexpected(before.error());
    // The drain first: it is what keeps jobs off.
    if (!out_of_service(before->state) || before->reason.empty())
        if (auto sent =
                NodeUpdate(node).state(NODE_STATE_DRAIN).reason(our_reason(hold_reason(by))).send();
            !sent)
            return sent;
    if (before->record.hold == by) return {};
    return edit_record(node, [&](NodeRecord& record) { record.hold = by; });
}

Status release(const std::string& node) {
    if (auto cleared = edit_record(node, [](NodeRecord& record) { record.hold.clear(); }); !cleared)
        return cleared;
    return give_back(node);
}

Result<std::string> write_record(const std::string& node,
                                 const std::function<void(NodeRecord&)>& edit) {
    auto before = load_node(node);
    if (!before) return tl::unexpected(before.error());
    if (!before->extra_is_ours)
        return fail(Errc::invalid, fmt::format("{}: Extra is not a JSON object, it is used for "
                                               "something else: empty it to let us label the node",
                                               node));
    NodeRecord wanted = before->record;
    edit(wanted);
    const std::string features = merge_features(before->features, wanted.revision);
    auto extra = merge_extra(before->extra, wanted);
    if (!extra) return fail(node, extra.error());
    if (*extra == before->extra && features == before->features) return std::string();
    NodeUpdate update(node);
    update.extra(*extra);
    if (features != before->features || features != before->active_features)
        update.features(features);
    if (auto sent = update.send(); !sent) return tl::unexpected(sent.error());
    return extra;
}

Status edit_record(const std::string& node, const std::function<void(NodeRecord&)>& edit) {
    for (int i = 0; i < update_attempts; ++i) {
        const auto written = write_record(node, edit);
        if (!written) return tl::unexpected(written.error());
        if (written->empty()) return {};
        // Read back late enough to see a writer that had read before us and wrote after us.
        std::this_thread::sleep_for(update_pause);
        auto after = load_node(node);
        if (after && after->extra == *written) return {};
    }
    return fail(Errc::busy, fmt::format("{}: its Extra is being changed by others", node));
}

Status delete_node(const std::string& node) {
    auto before = load_node(node);
    if (!before && before.error().code == Errc::not_found) return {};
    if (!before) return tl::unexpected(before.error());
    if (!before->state.dynamic)
        return fail(Errc::denied, fmt::format("{} is no dynamic node: its record stays", node));
    update_node_msg_t message;
    slurm_init_update_node_msg(&message);
    std::string name = node;
    message.node_names = name.data();
    if (slurm_delete_node(&message) == SLURM_SUCCESS) return {};
    const int error = errno;
    return fail(error == ESLURM_NODES_BUSY ? Errc::busy : Errc::failed,
                fmt::format("slurmctld does not delete {}: {}", node, slurm_strerror(error)));
}

Status write_features(const std::vector<std::string>& nodes, const std::string& features) {
    return NodeUpdate(compress_hosts(nodes)).features(features).send();
}

}  // namespace cohort::slurm
