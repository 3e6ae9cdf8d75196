// SPDX-License-Identifier: GPL-2.0-or-later
//
// The plan: each chosen node as Slurm, the cloud and the site's files have it, and what a rollout
// would do with it. Reads only: Slurm (4 RPCs), the cloud (one list of servers, each image once),
// the files in DesiredDir, the journal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/cluster.hpp"
#include "common/result.hpp"
#include "rebootprog/journal/journal.hpp"
#include "rebootprog/rollout/rollout.hpp"
#include "rebootprog/site/site.hpp"

namespace cohort {

// Which nodes, and to what. At most one of the first three; none: every node that Slurm knows.
struct Choice {
    std::string nodes;  // host list
    std::string partition;
    std::string cohort;  // a Cohort= line, else a partition
    std::string image;   // --to: id or name of an image; empty: what each node's file says
};

struct NodePlan {
    enum class Verdict {
        rebuild,
        reboot,
        skip,     // nothing to do, or no file
        blocked,  // it should be changed but cannot be now
    };
    Node node;
    std::string actual, actual_name;  // image that the cloud shows; empty: not known
    std::string image, image_name;    // desired image
    std::string revision;             // label of the desired image, as join will publish it
    std::string file_image;           // image_id in its file
    bool explicit_image = false;      // --to, or a rollout's that still holds
    bool direct = false;              // out of service for a reason of ours: no job needed
    bool under_way = false;           // a rollout takes it to that very image
    Verdict verdict = Verdict::blocked;
    std::string why;
    std::string job;           // "12", "12 and 2 more"; empty: none runs
    std::int64_t job_end = 0;  // of the one that ends last, by its time limit
    std::string reservation;

    bool changes() const { return verdict == Verdict::rebuild || verdict == Verdict::reboot; }
};

const char* name_of(NodePlan::Verdict verdict);

struct PlanData {
    std::vector<NodePlan> nodes;  // in the order of the choice
    std::vector<std::string>
        unlabelled;  // to be rebuilt, without a label, under a guard that is on
};

// Errc::invalid names what was not understood; Errc::unreachable: Slurm or the cloud.
Result<PlanData> make_plan(const Site& site, const Journal& journal, const Choice& choice);

// The names that CHOICE means, of ALL nodes that Slurm knows (one RPC where a partition is meant).
Result<std::vector<std::string>> chosen_names(const Site& site, const Choice& choice,
                                              const std::vector<Node>& all);

// A rollout's rows: one for each node that changes, in the plan's order. It comes after what
// JOURNAL knows of the node by now.
Result<std::vector<RolloutNode>> rows_of(const PlanData& data, const Journal& journal);

// The settings that hold for all of NODES: those of the Cohort= line that holds them all, else the
// site's.
const Settings& settings_for(const Site& site, const std::vector<std::string>& nodes);

}  // namespace cohort
