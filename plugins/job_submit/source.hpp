// SPDX-License-Identifier: GPL-2.0-or-later
//
// Where the plugin's thread reads the cluster from: Slurm, or a fake in a test.
//
// Each call may block for Slurm's MessageTimeout. One thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/cluster.hpp"
#include "common/result.hpp"

namespace cohort {

class ClusterSource {
  public:
    ClusterSource() = default;
    ClusterSource(const ClusterSource&) = delete;
    ClusterSource& operator=(const ClusterSource&) = delete;
    virtual ~ClusterSource() = default;

    // Does this process control the cluster now? A standby loads the plugin too.
    virtual bool active() = 0;
    virtual Result<ControllerConfig> config() = 0;
    virtual Result<std::vector<Node>> nodes() = 0;
    virtual Result<std::vector<Partition>> partitions() = 0;
    virtual Result<std::vector<Reservation>> reservations() = 0;
    virtual Result<std::vector<Qos>> qos() = 0;
    virtual Result<std::vector<Job>> jobs() = 0;
    virtual Result<std::vector<Job>> jobs_of(std::uint32_t user_id) = 0;
};

// Reads from slurmctld. IS_ACTIVE answers ClusterSource::active().
std::unique_ptr<ClusterSource> slurm_source(bool (*is_active)());

}  // namespace cohort
