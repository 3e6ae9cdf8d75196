// SPDX-License-Identifier: GPL-2.0-or-later
//
// Submits rebuild jobs, and the test job of a barrier. For programs only, never linked into a
// plugin: slurmctld does not export slurm_job_will_run2() to its plugins.
//
// One RPC each; needs SlurmUser or root. libslurm prints slurmctld's words to standard error: they
// are caught (the descriptor is exchanged for the time of the call) and become part of the error.
// Not thread-safe for that reason.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/result.hpp"

namespace cohort::slurm {

struct RebuildSubmission {
    std::string node;
    std::string name;           // of the job
    std::string admin_comment;  // rebuild_mark.hpp: write_ask()
    std::string script;
    std::uint32_t user_id = 0, group_id = 0;
    bool held = true;
};

// The job's id. Errc::busy: the same may pass in a moment; Errc::unreachable: slurmctld did not
// answer; else Errc::denied with slurmctld's words.
Result<std::uint32_t> submit_rebuild(const RebuildSubmission& job);

struct TestSubmission {
    std::vector<std::string> nodes;  // all of them, one task each
    std::string name, partition, reservation, script;
    std::uint32_t user_id = 0, group_id = 0;
    std::uint32_t minutes = 5;
};

// An ordinary job; the errors as above.
Result<std::uint32_t> submit_test(const TestSubmission& job);

// The same without a job (sbatch --test-only): would it be taken?
Status test_rebuild(const RebuildSubmission& job);

}  // namespace cohort::slurm
