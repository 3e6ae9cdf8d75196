// SPDX-License-Identifier: GPL-2.0-or-later
//
// What one pass of `scohort reconcile` does with nodes whose machine is gone. Pure.
//
// A node is stale when all three hold: it is in Slurm's table, its machine is not in the inventory,
// and Slurm sees it DOWN or NOT_RESPONDING. Even then only dynamic nodes are ever deleted, and none
// that is young, under rebuild, drained by somebody else, or that a waiting job names.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/cluster.hpp"

namespace cohort {

struct ReconcileView {
    std::vector<Node> nodes;
    // False: no inventory was asked for; only stale registrations are repaired.
    bool with_inventory = true;
    std::function<bool(const std::string&)> in_inventory;
    std::map<std::string, std::int64_t> stale_since;   // by an earlier pass
    std::map<std::string, std::string> job_on;         // node -> a job that has not ended there
    std::map<std::string, std::string> wanted_by;      // node -> a waiting job that names it
    std::map<std::string, std::string> under_rebuild;  // node -> what works on it
    std::map<std::string, std::int64_t> last_attempt;  // node -> when its newest attempt ended
    std::int64_t now = 0;
    std::int64_t age = 120;    // ReconcileAge: stale for so long before anything is done
    std::int64_t grace = 300;  // ReconcileGrace: after a boot, a registration or a rebuild
};

struct ReconcileAct {
    enum class Kind {
        remove,     // delete the record
        drain,      // it is busy: no new jobs, deleted when it is free
        give_back,  // we had drained it, and its machine is there again
        repair,     // delete the record of a live node that could not register with it
        wait,       // stale, and not old enough yet
        keep,       // stale, and left alone because of WHY
    };
    Kind kind = Kind::keep;
    std::string node;
    std::string why;
    bool changes() const { return kind < Kind::wait; }
};

constexpr std::string_view name_of(ReconcileAct::Kind kind) {
    constexpr std::string_view names[] = {"delete", "drain", "resume", "repair", "wait", "keep"};
    return names[static_cast<int>(kind)];
}

// The reason of a drain of ours, without the prefix.
inline constexpr std::string_view gone_reason = "its machine is not in the inventory any more";

// All three conditions, and dynamic.
bool is_stale(const Node& node, bool in_inventory);

// slurmctld refuses the registration of a dynamic node whose CPU specialisation has changed; with
// its record deleted it registers anew [since 23.02].
bool is_stale_registration(const Node& node);

// Nodes that nothing is to be said about are not named.
std::vector<ReconcileAct> decide_reconcile(const ReconcileView& view);

}  // namespace cohort
