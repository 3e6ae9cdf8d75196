// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/slurm/node_writer.hpp"

#include <cerrno>
#include <chrono>
#include <thread>

#include <fmt/core.h>
#include <unistd.h>

#include "common/log.hpp"
#include "common/slurm/compat.hpp"
#include "common/slurm/hostlist.hpp"
#include "common/slurm/load.hpp"
#include "common/text.hpp"

namespace cohort::slurm {
namespace {

constexpr int attempts = 5;
constexpr auto pause_between = std::chrono::milliseconds(50);
constexpr std::size_t max_reason_bytes = 300;

// One update RPC. libslurm's message holds mutable pointers that it does not write through.
class Update {
  public:
    explicit Update(std::string nodes) : nodes_(std::move(nodes)) {
        slurm_init_update_node_msg(&message_);
        message_.node_names = nodes_.data();
    }
    Update& state(std::uint32_t state) {
        message_.node_state = state;
        return *this;
    }
    Update& reason(std::string text) {
        reason_ = std::move(text);
        message_.reason = reason_.data();
        compat::set_reason_uid(message_, ::getuid());
        return *this;
    }
    Update& extra(std::string text) {
        extra_ = std::move(text);
        message_.extra = extra_.data();
        return *this;
    }
    Update& features(std::string text) {
        features_ = std::move(text);
        message_.features = features_.data();
        message_.features_act = features_.data();
        return *this;
    }

    Status send() {
        int error = 0;
        for (int i = 0; i < attempts; ++i) {
            if (slurm_update_node(&message_) == SLURM_SUCCESS) return {};
            error = errno;
            // 26.05 can refuse the first call of a process; a controller at its start is not ready.
            if (error != ESLURM_NODES_BUSY && error != ESLURM_IN_STANDBY_MODE &&
                error != SLURM_COMMUNICATIONS_CONNECTION_ERROR &&
                error != SLURM_COMMUNICATIONS_RECEIVE_ERROR &&
                error != SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT)
                break;
            std::this_thread::sleep_for(pause_between);
        }
        return fail(Errc::failed, fmt::format("slurmctld refused to update {}: {}", nodes_,
                                              slurm_strerror(error)));
    }

  private:
    std::string nodes_, reason_, extra_, features_;
    update_node_msg_t message_{};
};

std::string our_reason(std::string_view reason) {
    const std::string_view bare =
        is_our_reason(reason) ? reason.substr(reason_prefix.size()) : reason;
    return std::string(reason_prefix) + text::one_line(bare, max_reason_bytes);
}

// What slurmd itself writes when a prolog failed: our launch gate's doing, or a script's.
bool is_slurms_own(std::string_view reason) {
    return reason.starts_with("Prolog error");
}

bool is_foreign(const Node& node) {
    return !node.reason.empty() && !node.has_our_reason() && !is_slurms_own(node.reason);
}

bool out_of_service(const NodeState& s) {
    return s.drain || s.fail;
}

Status keep_reason(const std::string& node, const std::string& reason) {
    return edit_record(node, [&](NodeRecord& record) { record.out_reason = reason; });
}

// With ReturnToService=2 the answer to a ping that was under way takes DOWN away again [22.05].
Status put_down(const std::string& node, const std::string& reason) {
    Result<Node> after = fail(Errc::failed, "");
    for (int i = 0; i < attempts; ++i) {
        if (auto sent = Update(node).state(NODE_STATE_DOWN).reason(reason).send(); !sent)
            return sent;
        std::this_thread::sleep_for(2 * pause_between);
        after = load_node(node);
        if (after && after->state.fail && after->state.base == NodeState::Base::down) return {};
    }
    if (!after) return tl::unexpected(after.error());
    return fail(Errc::failed,
                fmt::format("{} was to go out of service but is {}", node, after->state.text()));
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
    if (auto sent = Update(node).state(NODE_STATE_FAIL).reason(shown).send(); !sent) return sent;
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
    if (out_of_service(before->state) || before->state.base == NodeState::Base::down) {
        Update update(node);
        update.state(NODE_RESUME);
        if (auto sent = update.send(); !sent) return sent;
    }
    return keep_reason(node, "");
}

Status back_to_power_saving(const std::string& node) {
    const auto before = load_node(node);
    if (!before) return tl::unexpected(before.error());
    const auto& s = before->state;
    if (out_of_service(s)) return {};
    Update update(node);
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
    Update update(node);
    update.state(NODE_STATE_DRAIN).reason(our_reason(reason));
    return update.send();
}

Status write_reason(const std::string& node, std::string_view reason) {
    auto before = load_node(node);
    if (!before) return tl::unexpected(before.error());
    if (out_of_service(before->state) && !before->has_our_reason()) return {};
    return Update(node).reason(reason.empty() ? "" : our_reason(reason)).send();
}

Status hold(const std::string& node, const std::string& by) {
    auto before = load_node(node);
    if (!before) return tl::unexpected(before.error());
    // The drain first: it is what keeps jobs off.
    if (!out_of_service(before->state) || before->reason.empty())
        if (auto sent =
                Update(node).state(NODE_STATE_DRAIN).reason(our_reason(hold_reason(by))).send();
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

Status edit_record(const std::string& node, const std::function<void(NodeRecord&)>& edit) {
    for (int i = 0; i < attempts; ++i) {
        auto before = load_node(node);
        if (!before) return tl::unexpected(before.error());
        if (!before->extra_is_ours)
            return fail(Errc::invalid,
                        fmt::format("{}: Extra is not a JSON object, it is used for "
                                    "something else: empty it to let us label the node",
                                    node));
        NodeRecord wanted = before->record;
        edit(wanted);
        const std::string features = merge_features(before->features, wanted.revision);
        auto extra = merge_extra(before->extra, wanted);
        if (!extra) return fail(node, extra.error());
        if (*extra == before->extra && features == before->features) return {};
        Update update(node);
        update.extra(*extra);
        if (features != before->features || features != before->active_features)
            update.features(features);
        if (auto sent = update.send(); !sent) return sent;
        // Read back late enough to see a writer that had read before us and wrote after us.
        std::this_thread::sleep_for(pause_between);
        auto after = load_node(node);
        if (after && after->extra == *extra) return {};
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
    return Update(compress_hosts(nodes)).features(features).send();
}

}  // namespace cohort::slurm
