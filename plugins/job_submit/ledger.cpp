// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/job_submit/ledger.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/rebuild_mark.hpp"

namespace cohort {

Status RebuildLedger::refuse_second(const std::string& node, Time now) const {
    for (const auto& job : jobs_)
        if (job.node == node)
            return fail(
                Errc::failed,
                fmt::format("node {} {}: job {} ({}). Let it run, or scancel {} and submit again",
                            node, second_rebuild_job, job.job_id,
                            job.pending ? "pending" : "running", job.job_id));
    const auto entry = entries_.find(node);
    if (entry == entries_.end()) return {};
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(now - entry->second.at);
    return fail(Errc::busy,
                fmt::format("a rebuild job for node {} was submitted {} s ago and Slurm does not "
                            "show it yet. If it failed or was only a test, this one is accepted "
                            "{} s after it",
                            node, age.count(), settle.count() + 1));
}

std::string RebuildLedger::hold_reason(const Request& request) const {
    if (request.held_by_submitter) return {};
    if (request.breaker_open) return "breaker";
    std::uint32_t pending = 0, out_of_service = 0;
    for (const auto& job : jobs_) {
        if (job.held) continue;
        if (job.pending) ++pending;
        if (!job.pending || request.counts_as_started(job.node)) ++out_of_service;
    }
    for (const auto& [node, entry] : entries_) {
        if (entry.held) continue;
        ++pending;
        if (request.counts_as_started(node)) ++out_of_service;
    }
    if (pending >= request.max_pending) return "pending";
    // A busy node counts once its job has started: what is idle could all start at once.
    if (request.max_concurrent && out_of_service >= *request.max_concurrent) return "concurrent";
    return {};
}

Result<std::string> RebuildLedger::admit(const Request& request, Time now) {
    const std::lock_guard lock(mutex_);
    if (auto free = refuse_second(request.node, now); !free) return tl::unexpected(free.error());
    std::string why = hold_reason(request);
    if (request.test) return why;
    ++admitted_;
    owners_.insert(request.owner);
    entries_[request.node] = Entry{now, request.held_by_submitter || !why.empty()};
    return why;
}

void RebuildLedger::observe(Time began, std::vector<RebuildJob> jobs,
                            const std::vector<std::uint32_t>& owners) {
    const std::lock_guard lock(mutex_);
    jobs_.swap(jobs);
    owners_.insert(owners.begin(), owners.end());
    std::erase_if(entries_, [&](const auto& item) {
        const auto& [node, entry] = item;
        if (began <= entry.at) return false;
        const auto same = [&](const RebuildJob& job) { return job.node == node; };
        return began > entry.at + settle || std::any_of(jobs_.begin(), jobs_.end(), same);
    });
}

std::vector<std::uint32_t> RebuildLedger::owners() const {
    const std::lock_guard lock(mutex_);
    return {owners_.begin(), owners_.end()};
}

bool RebuildLedger::empty() const {
    const std::lock_guard lock(mutex_);
    return jobs_.empty() && entries_.empty();
}

std::uint64_t RebuildLedger::admitted() const {
    const std::lock_guard lock(mutex_);
    return admitted_;
}

std::optional<RebuildJob> RebuildLedger::find(std::uint32_t job_id) const {
    const std::lock_guard lock(mutex_);
    for (const auto& job : jobs_)
        if (job.job_id == job_id) return job;
    return std::nullopt;
}

}  // namespace cohort
