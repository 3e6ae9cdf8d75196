// SPDX-License-Identifier: GPL-2.0-or-later
//
// The decisions of join and verify as pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "common/cluster.hpp"
#include "common/proof.hpp"
#include "rebootprog/node_facts.hpp"

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

// A drain behind which a whole cohort waits: nothing that a node does by itself lifts or renames it.
bool is_behind_barrier(const Node& node);

// Before slurmd starts. RECORD is what Slurm keeps of this node.
NodeDecision decide_before(const NodeRecord& record, const NodeFacts& facts,
                           bool accept_weak_proof);

// After slurmd has started.
NodeDecision decide_after(const NodeRecord& record, const NodeFacts& facts, bool accept_weak_proof);

// The payload of a rebuild job that was submitted at SUBMIT_TIME.
NodeDecision decide_verify(const NodeRecord& record, const NodeFacts& facts, bool accept_weak_proof,
                           std::int64_t submit_time);

// Whether join may lift NODE's state: ours, and this boot had not been published before.
bool may_lift(const Node& node, bool boot_was_published);

}  // namespace cohort
