// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/view/view_collect.hpp"

#include <algorithm>
#include <ctime>
#include <future>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/core.h>
#include <pwd.h>

#include "common/slurm/hostlist.hpp"
#include "common/slurm/load.hpp"
#include "rebootprog/barrier/barrier_journal.hpp"
#include "rebootprog/cloud/slots.hpp"
#include "rebootprog/rollout/queue_digest.hpp"
#include "rebootprog/rollout/rollout_decide.hpp"
#include "rebootprog/rollout/rollout_journal.hpp"
#include "rebootprog/site/picture.hpp"

namespace cohort {
namespace {

class UserNames {
  public:
    const std::string& of(std::uint32_t uid) {
        auto [known, is_new] = names_.try_emplace(uid);
        if (is_new) {
            const passwd* user = ::getpwuid(uid);
            known->second = user ? user->pw_name : fmt::format("uid {}", uid);
        }
        return known->second;
    }

  private:
    std::unordered_map<std::uint32_t, std::string> names_;
};

class Collector {
  public:
    Collector(const Site& site, const Journal& journal)
        : site_(site), journal_(journal), rollouts_(journal) {}

    Result<View> run(std::int64_t wanted) {
        view_.now = std::time(nullptr);
        view_.cluster = site_.slurm.cluster;
        // Of ten thousand nodes and jobs each takes its part of a second: side by side.
        auto nodes = std::async(std::launch::async, slurm::load_nodes);
        auto queue = std::async(std::launch::async, [this] { return read_queue(); });
        if (auto done = read_journal(wanted); !done) return tl::unexpected(done.error());
        if (auto done = take_cluster(nodes.get(), queue.get()); !done)
            return tl::unexpected(done.error());
        if (view_.rollout)
            if (auto done = fill_rollout(); !done) return tl::unexpected(done.error());
        fill_others();
        fill_site();
        return std::move(view_);
    }

  private:
    Status read_journal(std::int64_t wanted) {
        if (auto done = choose(wanted); !done) return done;
        auto latest = journal_.latest_attempts();
        if (!latest) return tl::unexpected(latest.error());
        for (auto& attempt : *latest) latest_[attempt.node] = std::move(attempt);
        if (!view_.rollout) return {};
        auto rows = rollouts_.nodes(view_.rollout->id);
        if (!rows) return tl::unexpected(rows.error());
        rows_ = std::move(*rows);
        return {};
    }

    // What advance has kept, where reading all jobs again is slow; `at` is 0 when it was read now.
    Result<QueueDigest> read_queue() const {
        if (auto kept = read_digest(site_.state_dir); kept && stands_in(*kept, view_.now))
            return kept;
        const auto jobs = slurm::load_jobs();
        if (!jobs) return tl::unexpected(jobs.error());
        return digest_of(*jobs);
    }

    Status take_cluster(Result<std::vector<Node>> nodes, Result<QueueDigest> queue) {
        if (!nodes) return tl::unexpected(nodes.error());
        if (!queue) return tl::unexpected(queue.error());
        for (auto& node : *nodes) nodes_[node.name] = std::move(node);
        for (const auto& job : queue->rebuilds) {
            if (!job.pending || !job.held) taken_.insert(job.node);
            if (job.by_hand) by_hand_[job.node] = job;
        }
        for (const auto& job : queue->users) add_user_job(job);
        view_.users_running = queue->users.size();
        view_.users_waiting = queue->waiting;
        view_.jobs_at = queue->at;
        return {};
    }

    void add_user_job(const QueueDigest::UserJob& job) {
        const auto names = slurm::expand_hosts(job.nodes);
        if (!names) return;
        const ViewJob shown{job.id, users_.of(job.user_id), job.start, job.end};
        for (const auto& name : *names) user_jobs_[name].push_back(shown);
    }

    Status choose(std::int64_t wanted) {
        if (wanted != 0) {
            auto found = rollouts_.rollout(wanted);
            if (!found) return tl::unexpected(found.error());
            if (!*found)
                return fail(Errc::not_found,
                            fmt::format("there is no rollout {}: see 'scohort history'", wanted));
            view_.rollout = std::move(*found);
        }
        auto open = rollouts_.unfinished();
        if (!open) return tl::unexpected(open.error());
        if (!view_.rollout && !open->empty()) view_.rollout = open->back();
        if (!view_.rollout) {
            auto newest = rollouts_.rollouts(1);
            if (!newest) return tl::unexpected(newest.error());
            if (!newest->empty()) view_.rollout = newest->front();
        }
        for (const auto& one : *open)
            if (view_.rollout && one.id != view_.rollout->id) view_.also.push_back(one.id);
        return {};
    }

    ViewNode node_of(RolloutNode row) {
        ViewNode shown;
        if (const auto known = nodes_.find(row.node); known != nodes_.end()) {
            const Node& node = known->second;
            shown.state = node.state.text();
            shown.reason = node.reason;
            shown.label = node.record.revision;
            shown.out = is_unavailable(node) || taken_.contains(row.node) || row.under_way();
        }
        const auto attempt = latest_.find(row.node);
        if (attempt != latest_.end() && attempt->second.id > row.after_attempt)
            shown.attempt = attempt->second;
        if (const auto jobs = user_jobs_.find(row.node); jobs != user_jobs_.end())
            shown.jobs = jobs->second;
        shown.row = std::move(row);
        return shown;
    }

    Status fill_rollout() {
        auto scope = slurm::expand_hosts(view_.rollout->scope);
        if (!scope) return tl::unexpected(scope.error());
        std::set<std::string> out;
        for (auto& row : rows_) {
            if (row.under_way()) out.insert(row.node);
            view_.nodes.push_back(node_of(std::move(row)));
        }
        for (const auto& name : *scope) {
            const auto known = nodes_.find(name);
            if (known == nodes_.end() || is_unavailable(known->second) || taken_.contains(name))
                out.insert(name);
        }
        view_.scope = scope->size();
        view_.out = out.size();
        view_.out_limit = out_limit(*view_.rollout, scope->size());
        return {};
    }

    // A rebuild that no rollout knows, as a row of one.
    RolloutNode row_of(const std::string& name) const {
        RolloutNode row;
        row.node = name;
        if (const auto found = latest_.find(name); found != latest_.end()) {
            const Attempt& attempt = found->second;
            row.image_from = attempt.image_from;
            row.image_to = attempt.image_to;
            row.started = attempt.began;
            row.why = attempt.reason;
            row.step = Step::rebuilding;
            const auto node = nodes_.find(name);
            const bool back = node != nodes_.end() && !node->second.record.revision.empty();
            const bool ended = attempt.outcome == Outcome::failed ||
                               attempt.outcome == Outcome::untouched ||
                               (attempt.outcome == Outcome::ok && back);
            if (ended) {
                row.step = attempt.outcome == Outcome::ok ? Step::done : Step::failed;
                row.ended = attempt.ended;
            }
        }
        if (const auto job = by_hand_.find(name); job != by_hand_.end()) {
            row.job = job->second.id;
            row.submitted = row.released = job->second.submitted;
            if (job->second.pending)
                row.step = job->second.held ? Step::held : Step::released;
            else
                row.step = Step::rebuilding;
        }
        return row;
    }

    void fill_others() {
        std::set<std::string> ours, names;
        for (const auto& node : view_.nodes) ours.insert(node.row.node);
        for (const auto& [name, job] : by_hand_) names.insert(name);
        for (const auto& [name, attempt] : latest_) {
            const bool open =
                attempt.outcome == Outcome::open || attempt.outcome == Outcome::unsure;
            if (!view_.rollout || open) names.insert(name);
        }
        for (const auto& name : names)
            if (!ours.contains(name)) view_.others.push_back(node_of(row_of(name)));
    }

    void fill_site() {
        view_.breaker = read_breaker(site_.state_dir);
        view_.slots = site_.settings().max_concurrent;
        view_.slots_used = slots_in_use(site_.state_dir, view_.slots).value_or(0);
        if (auto picture = read_picture(site_.state_dir)) view_.hooks = picture->header.hooks;
        if (auto barriers = BarrierJournal(journal_).unfinished())
            view_.barriers = std::move(*barriers);
        if (auto quarantined = rollouts_.quarantined()) view_.quarantined = std::move(*quarantined);
    }

    const Site& site_;
    const Journal& journal_;
    RolloutJournal rollouts_;
    View view_;
    UserNames users_;
    std::unordered_map<std::string, Node> nodes_;
    std::vector<RolloutNode> rows_;
    std::set<std::string> taken_;  // whose rebuild job could start, or has
    std::map<std::string, QueueDigest::RebuildJob> by_hand_;
    std::map<std::string, Attempt> latest_;
    std::unordered_map<std::string, std::vector<ViewJob>> user_jobs_;
};

}  // namespace

Result<View> collect_view(const Site& site, const Journal& journal, std::int64_t rollout) {
    return Collector(site, journal).run(rollout);
}

}  // namespace cohort
