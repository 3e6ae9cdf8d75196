// SPDX-License-Identifier: GPL-2.0-or-later
//
// Small clusters for the tests of the job_submit plugin's core.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugins/job_submit/rebuild.hpp"
#include "plugins/job_submit/world.hpp"

namespace fixture {

using namespace cohort;

inline Node node(const std::string& name, NodeState::Base base = NodeState::Base::idle) {
    Node n;
    n.name = name;
    n.state.base = base;
    return n;
}

inline Partition partition(const std::string& name, std::vector<std::string> nodes,
                           std::uint16_t tier = 1) {
    Partition p;
    p.name = name;
    p.nodes = std::move(nodes);
    p.priority_tier = tier;
    p.preempts = true;  // its jobs may be stopped, as PreemptMode of the cluster says
    return p;
}

// Nodes n1..n4, all idle, in the default partition main.
inline Snapshot snapshot() {
    Snapshot s;
    for (const char* name : {"n1", "n2", "n3", "n4"}) s.nodes.push_back(node(name));
    s.partitions.push_back(partition("main", {"n1", "n2", "n3", "n4"}));
    s.partitions[0].is_default = true;
    s.started = s.taken = Clock::time_point(std::chrono::hours(1));
    s.config.state_save_location = "/nonexistent/state";
    s.generation = 1;
    return s;
}

inline World world(Snapshot s = snapshot(), Settings settings = {}) {
    s.index();
    Policy policy;
    policy.configuration = Configuration{settings, {}};
    World w;
    w.policy = std::make_shared<const Policy>(std::move(policy));
    w.snapshot = std::make_shared<const Snapshot>(std::move(s));
    return w;
}

// sbatch --reboot -w NODE as root.
inline Submission rebuild(const std::string& node) {
    Submission job;
    job.trusted = job.reboot = true;
    job.nodes = {node};
    return job;
}

}  // namespace fixture
