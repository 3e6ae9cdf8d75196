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
    std::string profile_fault;  // why the profile that is there is refused
};

// Why the launch gate of spank_cohort.so would refuse every task here, PUBLISHED being this node's
// label; empty when it would not. PLUGSTACK is PlugStackConfig; a configless node has it beside its
// slurm.conf.
std::string launch_fault(const std::string& plugstack, const std::string& published);

// True when this node's plugstack.conf has no line for spank_cohort.so: a sealed profile is then
// read by the compat TaskProlog or by nothing.
bool without_launch_gate();

// The revision that this node can prove by itself: of its sealed profile, else of its stamp. Empty
// when it has neither, and when its profile is refused.
std::string own_revision(const NodeFacts& facts);

// Errc::not_found when StampFile= names a file that is not there.
Result<NodeFacts> read_node_facts(const Settings& settings);

// This node's name in Slurm: $SLURMD_NODENAME (set in jobs), else the host name up to its first
// dot.
std::string node_name();

// True while a slurmstepd lives here: a job is running although slurmd was restarted.
bool has_live_steps();

}  // namespace cohort
