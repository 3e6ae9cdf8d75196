// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/rollout/rebuild_jobs.hpp"

#include <algorithm>

#include "common/log.hpp"
#include "common/slurm/job_writer.hpp"
#include "common/slurm/load.hpp"

namespace cohort {

bool refused_for_the_dead(const Error& error, const std::string& node) {
    if (error.message.find(second_rebuild_job) == std::string::npos) return false;
    const auto jobs = slurm::load_jobs();
    if (!jobs) return false;
    const auto marked = marked_jobs(*jobs);
    return std::none_of(marked.begin(), marked.end(),
                        [&](const MarkedJob& m) { return m.mark.node == node; });
}

std::vector<MarkedJob> marked_jobs(const std::vector<Job>& jobs) {
    std::vector<MarkedJob> marked;
    for (const auto& job : jobs)
        if (job.active())
            if (auto mark = parse_mark(job.admin_comment)) marked.push_back({job, *mark});
    return marked;
}

Status hold_rebuild_job(const MarkedJob& marked, const std::string& why) {
    RebuildMark mark = marked.mark;
    mark.held = why;
    // The word first: a hold without it would look like the administrator's own.
    if (auto written = slurm::set_admin_comment(marked.job.id_text,
                                                write_mark(marked.job.admin_comment, mark));
        !written)
        return written;
    return slurm::hold_job(marked.job.id_text);
}

Status release_rebuild_job(const MarkedJob& marked) {
    if (auto released = slurm::release_job(marked.job.id_text, marked.mark.priority); !released)
        return released;
    RebuildMark mark = marked.mark;
    mark.held.clear();
    return slurm::set_admin_comment(marked.job.id_text, write_mark(marked.job.admin_comment, mark));
}

Result<int> hold_all_pending(const std::string& why) {
    auto jobs = slurm::load_jobs();
    if (!jobs) return tl::unexpected(jobs.error());
    int held = 0;
    for (const auto& marked : marked_jobs(*jobs)) {
        if (!marked.job.pending || marked.job.held()) continue;
        if (auto done = hold_rebuild_job(marked, why); done) {
            ++held;
        } else if (done.error().code != Errc::not_found) {
            log::warning("{}", done.error().message);
        }
    }
    return held;
}

}  // namespace cohort
