// SPDX-License-Identifier: GPL-2.0-or-later
//
// Changes to jobs: hold, release, submit, cancel. One RPC each, thread-safe, needs the rights of
// SlurmUser, root or an operator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/result.hpp"

namespace cohort::slurm {

// JOB is Job::id_text ("12", "12_[3-5]").
Status hold_job(const std::string& job);
// Releases with a given priority, or (0) with the one that Slurm computes.
Status release_job(const std::string& job, std::uint32_t priority);
Status set_admin_comment(const std::string& job, const std::string& comment);
// To the terminal of an srun or salloc.
Status notify_job(std::uint32_t job_id, const std::string& text);
Status cancel_job(std::uint32_t job_id);

// Several fields in one update; what is not set stays as it is. A release computes the priority
// anew.
struct JobFields {
    std::optional<std::string> features, prefer, admin_comment;
    bool hold = false, release = false;
    bool start_now = false;  // takes off the wait of a job that was requeued
};
Status change_job(const std::string& job, const JobFields& fields);

}  // namespace cohort::slurm
