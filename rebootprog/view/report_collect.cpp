// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/view/report_collect.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/core.h>
#include <pwd.h>

#include "common/log.hpp"
#include "common/rebuild_mark.hpp"
#include "common/slurm/hostlist.hpp"
#include "common/slurm/load.hpp"
#include "common/slurm/past_jobs.hpp"
#include "rebootprog/rollout/rollout_journal.hpp"
#include "rebootprog/view/view_collect.hpp"

namespace cohort {
namespace {

constexpr int most_events = 5000;

std::string user_name(std::uint32_t uid) {
    const passwd* user = ::getpwuid(uid);
    return user ? user->pw_name : fmt::format("uid {}", uid);
}

// Users' jobs from two sources; slurmctld's word comes over slurmdbd's, which lags.
class Jobs {
  public:
    Jobs(const Report& report, const ReportTime& time) : time_(time) {
        for (const auto& node : report.view.nodes) {
            names_.insert(node.row.node);
            if (node.row.job != 0) rebuilds_.insert(node.row.job);
        }
    }

    void add(std::uint32_t id, std::uint32_t uid, const std::string& nodes,
             const std::string& admin_comment, std::int64_t start, std::int64_t end) {
        if (start == 0 || start >= time_.end || (end != 0 && end <= time_.begin)) return;
        if (rebuilds_.contains(id) || parse_mark(admin_comment)) return;
        const auto hosts = slurm::expand_hosts(nodes);
        if (!hosts) return;
        ReportJob job{id, {}, {}, start, end};
        std::ranges::copy_if(*hosts, std::back_inserter(job.nodes),
                             [&](const std::string& name) { return names_.contains(name); });
        if (job.nodes.empty()) return;
        auto [user, is_new] = users_.try_emplace(uid);
        if (is_new) user->second = user_name(uid);
        job.user = user->second;
        jobs_.insert_or_assign({id, start}, std::move(job));
    }

    std::vector<ReportJob> take() {
        std::vector<ReportJob> all;
        for (auto& [key, job] : jobs_) all.push_back(std::move(job));
        return all;
    }

  private:
    ReportTime time_;
    std::set<std::string> names_;
    std::set<std::uint32_t> rebuilds_;
    std::unordered_map<std::uint32_t, std::string> users_;
    std::map<std::pair<std::uint32_t, std::int64_t>, ReportJob> jobs_;
};

}  // namespace

Result<Report> collect_report(const Site& site, const Journal& journal, std::int64_t rollout) {
    Report report;
    auto view = collect_view(site, journal, rollout);
    if (!view) return tl::unexpected(view.error());
    if (!view->rollout)
        return fail(Errc::not_found, "there was no rollout yet: nothing to report on");
    report.view = std::move(*view);
    auto events = RolloutJournal(journal).events(report.view.rollout->id, most_events);
    if (!events) return tl::unexpected(events.error());
    report.events = std::move(*events);
    std::ranges::reverse(report.events);
    const ReportTime time = time_of(report);
    Jobs jobs(report, time);
    const auto past = slurm::load_past_jobs(site.slurm.cluster, time.begin, time.end);
    if (!past)
        log::warning("only jobs that slurmctld remembers are drawn: {}", past.error().message);
    if (past)
        for (const auto& job : *past)
            jobs.add(job.id, job.user_id, job.nodes, job.admin_comment, job.start, job.end);
    const auto present = slurm::load_jobs();
    if (!present) return tl::unexpected(present.error());
    for (const auto& job : *present)
        if (!job.pending)
            jobs.add(job.id, job.user_id, job.nodes, job.admin_comment, job.start_time,
                     job.running ? 0 : job.end_time);
    report.jobs = jobs.take();
    return report;
}

}  // namespace cohort
