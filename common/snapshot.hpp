// SPDX-License-Identifier: GPL-2.0-or-later
//
// An immutable picture of the cluster at one moment: what the hooks of job_submit decide by.
//
// The plugin's thread makes one per Refresh and publishes it as shared_ptr<const Snapshot>; readers
// keep theirs as long as they like. No locks, no Slurm types. Times: a steady clock for age, the
// generation counts up by one per snapshot within one slurmctld process.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/cluster.hpp"

namespace cohort {

// A rebuild job that is pending or running.
struct RebuildJob {
    std::uint32_t job_id = 0;
    std::string node;
    bool held = false;     // pending with priority 0
    bool pending = false;  // false: allocated (configuring, running, completing)
};

struct Snapshot {
    std::uint64_t generation = 0;
    std::chrono::steady_clock::time_point started{};  // before its first RPC was sent
    std::chrono::steady_clock::time_point taken{};    // after its last answer came
    std::vector<Node> nodes;
    std::unordered_map<std::string, std::size_t> node_index;  // name -> position in nodes
    std::vector<Partition> partitions;
    std::vector<Reservation> reservations;
    std::vector<RebuildJob> rebuild_jobs;
    ControllerConfig config;

    // Builds node_index; call once after nodes is filled.
    void index();
    const Node* node(const std::string& name) const;  // nullptr: no such node
    const Partition* partition(std::string_view name) const;
    const Partition* default_partition() const;
};

}  // namespace cohort
