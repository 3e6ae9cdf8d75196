// SPDX-License-Identifier: GPL-2.0-or-later
//
// The decisions of join and verify as pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/cluster.hpp"
#include "common/proof.hpp"
#include "rebootprog/node/node_facts.hpp"

namespace cohort {

struct NodeDecision {
    enum class Act {
        go_on,     // join --before: slurmd may start. join --after: no label to publish
        publish,   // label the node (join), success (verify)
        wait,      // look again
        take_out,  // out of service with WHY
    };
    Act act = Act::wait;
    std::string why;
};

// What this boot is, by the root identity that Slurm has of the boot before. A node that Slurm has
// never seen, or whose record was deleted, boots for the first time; a container has no identity.
enum class BootKind { first, rebuild, plain };
BootKind boot_kind(const NodeRecord& record, const NodeFacts& facts);
std::string_view boot_text(BootKind kind);

// Something that this boot needs is missing or damaged; nothing when all is there. take_out's WHY
// begins with join_prefix: join lifts it when it is mended.
struct LackView {
    bool before = false;      // slurmd has not started
    bool live_steps = false;  // jobs run here: a drain does them no harm
};
std::optional<NodeDecision> decide_lack(const Node& node, const NodeFacts& facts,
                                        const LackView& view);

// How the reasons of join's own states begin after "cohort: ": it lifts them in a boot that was
// published before, too.
inline constexpr std::string_view join_prefix = "join: ";

// A drain behind which a whole cohort waits: nothing that a node does by itself lifts or renames
// it.
bool is_behind_barrier(const Node& node);

// A dynamic node that was started as `cohort-node revision --slurmd` says has asked for its label.
bool asks_for_label(const Node& node, const NodeFacts& facts);

// Before slurmd starts. RECORD is what Slurm keeps of this node.
NodeDecision decide_before(const NodeRecord& record, const NodeFacts& facts,
                           bool accept_weak_proof);

// After slurmd has started. ASKS: asks_for_label().
NodeDecision decide_after(const NodeRecord& record, const NodeFacts& facts, bool accept_weak_proof,
                          bool asks = false);

// The payload of a rebuild job that was submitted at SUBMIT_TIME.
NodeDecision decide_verify(const NodeRecord& record, const NodeFacts& facts, bool accept_weak_proof,
                           std::int64_t submit_time);

// Whether join may lift NODE's state, all checks having passed: join's own, or ours from before
// this boot was published.
bool may_lift(const Node& node, bool boot_was_published);

}  // namespace cohort
