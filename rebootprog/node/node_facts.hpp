// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a node reads from its own root and kernel: nothing here comes from the network.
#pragma once

#include <cstdint>
#include <string>

#include "common/proof.hpp"
#include "common/result.hpp"
#include "common/settings.hpp"

namespace cohort {

struct NodeFacts {
    Observed observed;          // stamp, root identity, boot time
    std::string boot_id;        // the kernel's, new at each boot
    std::string sealed;         // revision of the sealed task profile; empty: this node has none
    std::string profile_fault;  // why the profile is refused, or that one is needed and not there
    std::string stamp_fault;    // why StampFile= cannot be read
    std::string step_fault;     // a site's own boot step that has not ended well (node_once.hpp)

    bool slurmd_has_revision =
        false;  // slurmd's own command line names a revision (a dynamic node)

    // What this boot still lacks, one sentence; empty: it can be judged.
    const std::string& lacks() const {
        if (!step_fault.empty()) return step_fault;
        return stamp_fault.empty() ? profile_fault : stamp_fault;
    }
};

// Why the launch gate of spank_cohort.so would refuse every task here, PUBLISHED being this node's
// label; empty when it would not.
std::string launch_fault(const std::string& published);

// True when this node's plugstack.conf has no line for spank_cohort.so: a sealed profile is then
// read by the compat TaskProlog or by nothing.
bool without_launch_gate();

// The revision that this node can prove by itself: of its sealed profile, else of its stamp. Empty
// when it has neither, and when its profile is refused.
std::string own_revision(const NodeFacts& facts);

// What is missing or damaged is said in the faults.
NodeFacts read_node_facts(const Settings& settings);

// Identity of the root content: UUID of the root file system and machine-id, hashed to 16 digits.
// Empty where there is neither (a container).
std::string root_identity();

// This node's name in Slurm: $SLURMD_NODENAME (set in jobs), else the host name up to its first
// dot.
std::string node_name();

// True while a slurmstepd lives here: a job is running although slurmd was restarted.
bool has_live_steps();

}  // namespace cohort
