// SPDX-License-Identifier: GPL-2.0-or-later
//
// Where the plugin's thread reads the cluster from: Slurm, or a fake in a test.
//
// Each call may block for Slurm's MessageTimeout. One thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/cluster.hpp"
#include "common/guard/sweep.hpp"
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
    virtual Result<Accounting> accounting();  // here: none
    virtual Result<std::vector<Job>> jobs() = 0;
    virtual Result<std::vector<Job>> jobs_of(std::uint32_t user_id) = 0;

    // For the guard. A source that changes nothing has nothing to do.
    virtual Result<Node> node(const std::string& name);
    virtual Status write_features(const std::vector<std::string>& nodes,
                                  const std::string& features);
    // All records of a job: the tasks of an array, the components of a het job.
    virtual Result<std::vector<Job>> records_of(std::uint32_t job_id);
    virtual Status change_job(const guard::JobChange& change);
    // A host list expression; here "n1,n2" only.
    virtual Result<std::vector<std::string>> expand(std::string_view list);
    // Features can go without a new process (22.05's reconfigure): look at them often.
    virtual bool loses_features_silently() { return false; }
};

// Reads from slurmctld. IS_ACTIVE answers ClusterSource::active().
std::unique_ptr<ClusterSource> slurm_source(bool (*is_active)());

}  // namespace cohort
