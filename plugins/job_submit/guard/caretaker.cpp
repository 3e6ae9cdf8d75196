// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/job_submit/guard/caretaker.hpp"

#include <algorithm>
#include <map>

#include "common/log.hpp"
#include "common/text.hpp"

namespace cohort {
namespace {

using std::chrono::milliseconds;

// Reading 10,000 jobs takes slurmctld 40-80 ms.
constexpr int idle_factor = 50;
constexpr milliseconds send_interval{500};
// A plan is not carried out when it is older than this: somebody may have changed the jobs since.
constexpr std::size_t plan_seconds = 5;
// How long Slurm may take to create a job after its hook.
constexpr milliseconds creation{5000};
constexpr std::chrono::hours notice_interval{1};

std::vector<guard::CohortDefinition> cohorts_of(const Policy& policy, const Snapshot& snapshot,
                                                ClusterSource& source, std::string& fault) {
    if (!policy.configuration) return {};
    const guard::ExpandHosts expand = [&](std::string_view list) { return source.expand(list); };
    auto cohorts = guard::define_cohorts(*policy.configuration, snapshot, expand, {});
    if (cohorts) return std::move(*cohorts);
    // A host list that nobody can read must not take the guard off the rest.
    fault = cohorts.error().message;
    Configuration without = *policy.configuration;
    without.cohorts.clear();
    return guard::define_cohorts(without, snapshot, expand, {})
        .value_or(std::vector<guard::CohortDefinition>{});
}

bool has_feature(const std::string& list, const std::string& name) {
    const auto names = text::split(list, ',');
    return std::ranges::find(names, name) != names.end();
}

}  // namespace

bool GuardCaretaker::look(const std::shared_ptr<const Snapshot>& snapshot, const Policy& policy) {
    std::string fault;
    const auto cohorts = cohorts_of(policy, *snapshot, source_, fault);
    complain("a Cohort= line is not in use", fault.empty() ? Status{} : fail(Errc::invalid, fault));
    world_.view = std::make_shared<guard::GuardView>(snapshot, cohorts);
    canary_.clear();
    for (const auto& node : snapshot->nodes)
        if (!node.record.revision.empty()) {
            canary_ = node.name;
            break;
        }
    say_what_is_off();
    if (!all_uniform(*world_.view)) settled_ = false;
    if (policy.configuration) most_planned_ = policy.configuration->site.sweep_rate * plan_seconds;
    return repair_features(*snapshot);
}

// A guard that is not there must not be taken for one that has nothing to do.
void GuardCaretaker::say_what_is_off() {
    if (now_() < notice_due_) return;
    notice_due_ = now_() + notice_interval;
    std::vector<std::string> names;
    for (const auto& cohort : world_.view->cohorts())
        if (!cohort.adopted && cohort.rule.mixed != MixedRevision::off && cohort.nodes.count() > 1)
            names.push_back(cohort.name);
    if (!names.empty())
        log::warning(
            "the guard is off for {}: its nodes carry no labels, and jobs may span two "
            "revisions there. 'scohort adopt' brings it in, MixedRevision=off ends this",
            text::join(names, ", "));
    if (world_.off) log::warning("the guard is switched off; 'scohort guard on' ends that");
}

bool GuardCaretaker::repair_features(const Snapshot& snapshot) {
    // One update per distinct list: of 10,000 nodes a handful.
    std::map<std::string, std::vector<std::string>> wrong;
    for (const auto& node : snapshot.nodes) {
        if (!node.extra_is_ours) continue;
        auto wanted = merge_features(node.features, node.record.revision);
        if (wanted != node.features ||
            merge_features(node.active_features, node.record.revision) != node.active_features)
            wrong[std::move(wanted)].push_back(node.name);
    }
    bool repaired = false;
    for (const auto& [features, nodes] : wrong) {
        const auto written = source_.write_features(nodes, features);
        complain("features", written);
        if (!written) continue;
        repaired = true;
        log::info("features put back on {} nodes: {}", nodes.size(), features);
    }
    return repaired;
}

bool GuardCaretaker::labels_are_there() {
    if (canary_.empty()) return true;
    const auto node = source_.node(canary_);
    if (!node || node->record.revision.empty()) return true;
    return has_feature(node->active_features, node->record.revision);
}

void GuardCaretaker::published() {
    if (!world_.view || world_.view == published_) return;
    published_ = world_.view;
    std::map<std::string, UnderWay> next;
    for (const auto& node : world_.view->snapshot().nodes) {
        if (!guard::is_under_way(node)) continue;
        const auto before = under_way_.find(node.name);
        next[node.name] = before == under_way_.end() ? UnderWay{now_(), false} : before->second;
    }
    under_way_ = std::move(next);
}

void GuardCaretaker::found_all_bound(Clock::time_point began) {
    for (auto& [name, state] : under_way_) state.ready = state.ready || state.since < began;
}

std::vector<std::string> GuardCaretaker::open_nodes() const {
    std::vector<std::string> names;
    for (const auto& [name, state] : under_way_)
        if (state.ready) names.push_back(name);
    return names;
}

milliseconds GuardCaretaker::work(const Policy& policy, bool off) {
    world_.off = off;
    constexpr milliseconds long_time{60000};
    // Nothing to keep: no queue need be read for that.
    if (!policy.configuration || off || (world_.view && all_uniform(*world_.view)))
        found_all_bound(now_());
    if (!world_.view || !policy.configuration) return long_time;
    const Settings& settings = policy.configuration->site;
    const bool idle = sent_ == changes_.size();
    if (settled_ && idle) {
        world_.jobs.reset();
        return long_time;
    }
    if (idle && now_() >= jobs_due_) read_jobs();
    if (sent_ < changes_.size() && now_() >= send_due_) {
        send_due_ = now_() + send_interval;
        send(std::max<std::size_t>(1, settings.sweep_rate * send_interval.count() / 1000));
    }
    const auto due = sent_ < changes_.size() ? send_due_ : jobs_due_;
    return std::clamp(std::chrono::ceil<milliseconds>(due - now_()), milliseconds(10), long_time);
}

void GuardCaretaker::read_jobs() {
    const auto began = now_();
    auto jobs = source_.jobs();
    const auto took = now_() - began;
    jobs_due_ = now_() + std::max<Clock::duration>(milliseconds(1000), took * idle_factor);
    complain("the jobs", jobs ? Status{} : fail(jobs.error().code, jobs.error().message));
    if (!jobs) return;
    consider(std::move(*jobs), began);
}

void GuardCaretaker::consider(std::vector<Job> jobs, Clock::time_point began) {
    world_.jobs = std::make_shared<JobTable>(std::move(jobs), began);
    const guard::ExpandHosts expand = [this](std::string_view list) {
        return source_.expand(list);
    };
    guard::FreshMarks fresh;
    for (const auto& [id, entry] : fresh_) fresh[id] = entry.mark;
    changes_ = world_.off
                   ? guard::plan_restore_all(world_.jobs->all(), fresh)
                   : guard::plan_sweep(world_.jobs->all(), *world_.view, expand, owners_, fresh);
    forget_written_marks();
    sent_ = 0;
    if (changes_.empty()) found_all_bound(began);
    // Given back when a reading shows nothing left to do.
    settled_ =
        changes_.empty() && (world_.off || all_uniform(*world_.view)) && now_() >= held_until_;
    if (changes_.size() > most_planned_) changes_.resize(most_planned_);
}

void GuardCaretaker::take_marks(guard::FreshMarks marks) {
    if (marks.empty()) return;
    settled_ = false;
    for (auto& [id, mark] : marks) fresh_[id] = {std::move(mark), now_()};
}

// Those that stand in their job's admin_comment, and those whose job is gone or was changed again.
void GuardCaretaker::forget_written_marks() {
    std::map<std::string_view, const Job*> pending;
    if (!fresh_.empty())
        for (const auto& job : world_.jobs->all())
            if (job.pending) pending[job.id_text] = &job;
    std::erase_if(fresh_, [&](const auto& entry) {
        const auto& [id, fresh] = entry;
        // The hook comes a moment before the change that it judges.
        if (world_.jobs->began() - fresh.at < creation) return false;
        const auto at = pending.find(id);
        if (at == pending.end()) return true;
        const Job& job = *at->second;
        if (job.features != fresh.mark.now || job.prefer != fresh.mark.now_prefer) return true;
        const auto written = guard::parse_guard_mark(job.admin_comment);
        return written && written->now == fresh.mark.now &&
               written->now_prefer == fresh.mark.now_prefer;
    });
}

void GuardCaretaker::expect_held_job() {
    settled_ = false;
    held_until_ = now_() + creation;
    jobs_due_ = std::max(jobs_due_, now_() + milliseconds(500));
}

bool GuardCaretaker::still_there(const guard::JobChange& change) {
    const auto id = text::to_number(change.id.substr(0, change.id.find_first_of("_+")));
    if (!id) return false;
    const auto records = source_.records_of(static_cast<std::uint32_t>(*id));
    if (!records) return false;
    return std::ranges::any_of(*records,
                               [&](const Job& job) { return guard::still_as_seen(job, change); });
}

void GuardCaretaker::send(std::size_t most) {
    for (; sent_ < changes_.size() && most > 0; ++sent_, --most) {
        const auto& change = changes_[sent_];
        // The plan is seconds old: the job may have started, been sent back by cohort-gate, or been
        // changed by its user since. The next plan knows.
        if (!still_there(change)) continue;
        Status done;
        for (const auto& step : guard::steps_of(change))
            if (done) done = source_.change_job(step);
        if (done) {
            log::info("job {}: {}", change.id, change.why);
        } else if (done.error().code != Errc::not_found) {  // it may just have started or ended
            log::warning("job {}: {}", change.id, done.error().message);
        }
    }
    // What was sent is judged by a fresh picture.
    if (sent_ == changes_.size()) jobs_due_ = std::min(jobs_due_, now_() + milliseconds(1000));
}

void GuardCaretaker::complain(std::string_view what, const Status& done) {
    const std::string complaint = done ? "" : done.error().message;
    if (!complaint.empty() && complaint != complaint_) log::warning("{}: {}", what, complaint);
    if (!complaint.empty()) complaint_ = complaint;
}

}  // namespace cohort
