// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/slurm/past_jobs.hpp"

#include <cerrno>
#include <memory>

#include <fmt/core.h>

#include "common/slurm/handles.hpp"

namespace cohort::slurm {
namespace {

struct ConnectionCloser {
    void operator()(void* connection) const noexcept { slurmdb_connection_close(&connection); }
};

struct ListFreer {
    template <class L>
    void operator()(L* list) const noexcept {
        slurm_list_destroy(list);
    }
};
using ListPointer = decltype(slurm_list_create(nullptr));
using List = std::unique_ptr<std::remove_pointer_t<ListPointer>, ListFreer>;

PastJob convert(const slurmdb_job_rec_t& raw) {
    PastJob job;
    job.id = raw.jobid;
    job.user_id = raw.uid;
    job.nodes = text(raw.nodes);
    job.admin_comment = text(raw.admin_comment);
    job.start = raw.start;
    job.end = raw.end;
    return job;
}

}  // namespace

Result<std::vector<PastJob>> load_past_jobs(const std::string& cluster, std::int64_t from,
                                            std::int64_t to) {
    std::uint16_t flags = 0;
    const std::unique_ptr<void, ConnectionCloser> connection(slurmdb_connection_get(&flags));
    if (!connection)
        return fail(Errc::unreachable,
                    fmt::format("slurmdbd does not answer: {}", slurm_strerror(errno)));
    std::string name = cluster;  // the list takes a mutable pointer
    const List clusters(slurm_list_create(nullptr));
    slurm_list_append(clusters.get(), name.data());
    slurmdb_job_cond_t wanted{};
    wanted.cluster_list = clusters.get();
    wanted.usage_start = from;
    wanted.usage_end = to;
    wanted.db_flags = SLURMDB_JOB_FLAG_NOTSET;
    // A job that was requeued has a record for each time that it ran.
    wanted.flags = JOBCOND_FLAG_DUP | JOBCOND_FLAG_NO_STEP | JOBCOND_FLAG_NO_TRUNC;
    const List found(slurmdb_jobs_get(connection.get(), &wanted));
    if (!found)
        return fail(Errc::unreachable,
                    fmt::format("slurmdbd tells no jobs: {}", slurm_strerror(errno)));
    std::vector<PastJob> jobs;
    auto* iterator = slurm_list_iterator_create(found.get());
    while (const auto* one = static_cast<const slurmdb_job_rec_t*>(slurm_list_next(iterator)))
        if (one->start != 0) jobs.push_back(convert(*one));
    slurm_list_iterator_destroy(iterator);
    return jobs;
}

}  // namespace cohort::slurm
