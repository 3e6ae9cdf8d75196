// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/slurm/job_writer.hpp"

#include <cerrno>
#include <ctime>

#include <fmt/core.h>

#include "common/slurm/compat.hpp"

namespace cohort::slurm {
namespace {

class JobUpdate {
  public:
    explicit JobUpdate(std::string job) : job_(std::move(job)) {
        slurm_init_job_desc_msg(&message_);
        message_.job_id_str = job_.data();
    }
    JobUpdate& priority(std::uint32_t priority) {
        message_.priority = priority;
        return *this;
    }
    JobUpdate& admin_comment(std::string comment) {
        comment_ = std::move(comment);
        message_.admin_comment = comment_.data();
        return *this;
    }

    JobUpdate& fields(JobFields fields) {
        fields_ = std::move(fields);
        const auto put = [](char*& field, std::optional<std::string>& value) {
            if (value) field = value->data();
        };
        put(message_.features, fields_.features);
        put(message_.prefer, fields_.prefer);
        put(message_.admin_comment, fields_.admin_comment);
        if (fields_.start_now) message_.begin_time = std::time(nullptr);
        if (fields_.hold) message_.priority = 0;
        if (fields_.release) message_.priority = INFINITE;
        return *this;
    }

    Status send() {
        job_array_resp_msg_t* response = nullptr;
        int rc = slurm_update_job2(&message_, &response);
        int error = rc == SLURM_SUCCESS ? SLURM_SUCCESS : errno;
        // The RPC succeeds as a whole while single records fail.
        if (response) {
            for (std::uint32_t i = 0; i < response->job_array_count; ++i)
                if (response->error_code[i] != 0) error = static_cast<int>(response->error_code[i]);
            slurm_free_job_array_resp(response);
        }
        if (error == SLURM_SUCCESS) return {};
        Errc code = Errc::failed;
        if (error == ESLURM_INVALID_JOB_ID || error == ESLURM_ALREADY_DONE) code = Errc::not_found;
        if (error == ESLURM_JOB_NOT_PENDING) code = Errc::busy;
        return fail(code, fmt::format("slurmctld refused to update job {}: {}", job_,
                                      slurm_strerror(error)));
    }

  private:
    std::string job_, comment_;
    JobFields fields_;
    job_desc_msg_t message_{};
};

}  // namespace

Status hold_job(const std::string& job) {
    return JobUpdate(job).priority(0).send();
}

Status release_job(const std::string& job, std::uint32_t priority) {
    // Slurm takes INFINITE as "compute it anew"; an explicit one must come after the release.
    if (auto released = JobUpdate(job).priority(INFINITE).send(); !released) return released;
    return priority == 0 ? Status{} : JobUpdate(job).priority(priority).send();
}

Status set_admin_comment(const std::string& job, const std::string& comment) {
    return JobUpdate(job).admin_comment(comment).send();
}

Status change_job(const std::string& job, const JobFields& fields) {
    return JobUpdate(job).fields(fields).send();
}

Status notify_job(std::uint32_t job_id, const std::string& text) {
    std::string copy = text;
    if (compat::notify_job(job_id, copy.data()) == SLURM_SUCCESS) return {};
    return fail(Errc::failed, fmt::format("slurmctld did not pass a message to job {}: {}", job_id,
                                          slurm_strerror(errno)));
}

Status cancel_job(std::uint32_t job_id) {
    if (compat::kill_job(job_id) == SLURM_SUCCESS) return {};
    const int error = errno;
    if (error == ESLURM_ALREADY_DONE || error == ESLURM_INVALID_JOB_ID) return {};
    return fail(Errc::failed, fmt::format("slurmctld refused to cancel job {}: {}", job_id,
                                          slurm_strerror(error)));
}

}  // namespace cohort::slurm
