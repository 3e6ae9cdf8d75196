// SPDX-License-Identifier: GPL-2.0-or-later
//
// Reads the cluster from slurmctld into plain values (common/cluster.hpp).
//
// Each call is one RPC and may block for Slurm's MessageTimeout: never call one from a job_submit
// or SPANK hook. Thread-safe. Errc::unreachable when slurmctld does not answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/cluster.hpp"
#include "common/result.hpp"

namespace cohort::slurm {

Result<std::vector<Node>> load_nodes();
Result<Node> load_node(const std::string& name);  // Errc::not_found: no such node
Result<std::vector<Partition>> load_partitions();
Result<std::vector<Reservation>> load_reservations();
Result<std::vector<Job>> load_jobs();
// Only the jobs of one user.
Result<std::vector<Job>> load_jobs_of(std::uint32_t user_id);
Result<Job> load_job(std::uint32_t job_id);
// All records of a job: the tasks of an array, the components of a het job.
Result<std::vector<Job>> load_records_of(std::uint32_t job_id);
Result<ControllerConfig> load_controller_config();
// Empty on a cluster without accounting.
Result<std::vector<Qos>> load_qos();
// slurmctld's own copy of slurmdbd's associations and operators; empty on a cluster without
// accounting.
Result<Accounting> load_accounting();

// The version of Slurm that this was compiled for, as Slurm writes it into plugins: 0x160508.
std::uint32_t built_for();

// `scontrol reconfigure` keeps slurmctld's process (up to 23.02), and drops node features in it.
bool reconfigure_keeps_process();

// Programs call this once before anything else; the plugins' host process has done it.
void initialise_library();

}  // namespace cohort::slurm
