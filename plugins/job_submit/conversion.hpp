// SPDX-License-Identifier: GPL-2.0-or-later
//
// slurmctld's job_desc_msg_t to the values that the cores judge, and their answers back into it.
//
// Every pointer of a job_desc_msg_t may be null, every number NO_VAL. Strings are replaced by
// Slurm's own allocator (common/slurm/job_desc.hpp). Nothing here keeps a pointer of Slurm's.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/guard/modify.hpp"
#include "common/guard/verdict.hpp"
#include "common/slurm/job_desc.hpp"
#include "plugins/job_submit/guard/guard_hooks.hpp"
#include "plugins/job_submit/hooks.hpp"

namespace cohort {

// In the job's spank_job_env: it is a rebuild job. Only the plugin sets it.
constexpr std::string_view rebuild_variable = "COHORT_REBUILD";

bool wants_reboot(const job_desc_msg_t& job);
// root, or SlurmUser: slurmctld runs as him.
bool is_trusted(std::uint32_t uid);

Submission read_submission(const job_desc_msg_t& job, std::uint32_t uid);
Change read_change(const job_desc_msg_t& job, std::uint32_t uid);
// Nothing when a host list cannot be read: Slurm refuses the job itself.
std::optional<guard::Request> read_placement(const job_desc_msg_t& job);
// What of an update moves the job elsewhere.
guard::PlacementChange read_placement_change(const job_desc_msg_t& job);

void apply(const RebuildDecision& decision, job_desc_msg_t& job);
void apply(const GuardAnswer& answer, job_desc_msg_t& job);

}  // namespace cohort
