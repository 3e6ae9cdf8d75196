// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the two files of the node writer share: one update RPC, and whose a node's state is. For
// node_writer.cpp and node_groups.cpp only.
#pragma once

#include <cerrno>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include <fmt/core.h>
#include <unistd.h>

#include "common/cluster.hpp"
#include "common/result.hpp"
#include "common/slurm/compat.hpp"
#include "common/text.hpp"

namespace cohort::slurm {

constexpr int update_attempts = 5;
constexpr auto update_pause = std::chrono::milliseconds(50);
constexpr std::size_t max_reason_bytes = 300;

// One update RPC. libslurm's message holds mutable pointers that it does not write through.
class NodeUpdate {
  public:
    explicit NodeUpdate(std::string nodes) : nodes_(std::move(nodes)) {
        slurm_init_update_node_msg(&message_);
        message_.node_names = nodes_.data();
    }
    NodeUpdate& state(std::uint32_t state) {
        message_.node_state = state;
        return *this;
    }
    NodeUpdate& reason(std::string text) {
        reason_ = std::move(text);
        message_.reason = reason_.data();
        compat::set_reason_uid(message_, ::getuid());
        return *this;
    }
    NodeUpdate& extra(std::string text) {
        extra_ = std::move(text);
        message_.extra = extra_.data();
        return *this;
    }
    NodeUpdate& features(std::string text) {
        features_ = std::move(text);
        message_.features = features_.data();
        message_.features_act = features_.data();
        return *this;
    }

    Status send() {
        int error = 0;
        for (int i = 0; i < update_attempts; ++i) {
            if (slurm_update_node(&message_) == SLURM_SUCCESS) return {};
            error = errno;
            // 26.05 can refuse the first call of a process; a controller at its start is not ready.
            if (error != ESLURM_NODES_BUSY && error != ESLURM_IN_STANDBY_MODE &&
                error != SLURM_COMMUNICATIONS_CONNECTION_ERROR &&
                error != SLURM_COMMUNICATIONS_RECEIVE_ERROR &&
                error != SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT)
                break;
            std::this_thread::sleep_for(update_pause);
        }
        return fail(Errc::failed, fmt::format("slurmctld refused to update {}: {}", nodes_,
                                              slurm_strerror(error)));
    }

  private:
    std::string nodes_, reason_, extra_, features_;
    update_node_msg_t message_{};
};

inline std::string our_reason(std::string_view reason) {
    const std::string_view bare =
        is_our_reason(reason) ? reason.substr(reason_prefix.size()) : reason;
    return std::string(reason_prefix) + text::one_line(bare, max_reason_bytes);
}

// What slurmd itself writes when a prolog failed: our launch gate's doing, or a script's.
inline bool is_slurms_own(std::string_view reason) {
    return reason.starts_with("Prolog error");
}

inline bool is_foreign(const Node& node) {
    return !node.reason.empty() && !node.has_our_reason() && !is_slurms_own(node.reason);
}

inline bool out_of_service(const NodeState& s) {
    return s.drain || s.fail;
}

// One turn of edit_record(), not read back: the Extra that it has written, empty when there was
// nothing to change.
Result<std::string> write_record(const std::string& node,
                                 const std::function<void(NodeRecord&)>& edit);

}  // namespace cohort::slurm
