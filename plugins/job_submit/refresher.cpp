// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/job_submit/refresher.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <unistd.h>

#include "common/guard/emergency.hpp"
#include "common/log.hpp"
#include "common/look_request.hpp"
#include "common/rebuild_mark.hpp"

namespace cohort {
namespace {

using std::chrono::milliseconds;

// Between two readings when somebody asks for one.
constexpr milliseconds least_rest{2000};
constexpr milliseconds longest_wait{5000};

// Nothing of one user's or of all jobs but the rebuild jobs that still hold or want a node.
std::vector<RebuildJob> rebuild_jobs_among(const std::vector<Job>& jobs,
                                           std::vector<std::uint32_t>& owners) {
    std::vector<RebuildJob> found;
    for (const auto& job : jobs) {
        if (!job.active()) continue;
        const auto mark = parse_mark(job.admin_comment);
        if (!mark) continue;
        found.push_back({job.id, mark->node, job.held(), job.pending});
        owners.push_back(job.user_id);
    }
    return found;
}

}  // namespace

Refresher::Refresher(std::unique_ptr<ClusterSource> source, std::string config_path,
                     std::uint32_t slurm_user, Published<World>& world, RebuildLedger& ledger,
                     Now now)
    : source_(std::move(source)),
      config_(std::move(config_path)),
      slurm_user_(slurm_user),
      world_(world),
      ledger_(ledger),
      now_(now),
      caretaker_(*source_, slurm_user, now) {}

void Refresher::start() {
    config_.look(default_dir_);
    publish();
}

bool Refresher::asked() const {
    return last_asked_for_a_look(config_.state_dir()) != asked_;
}

void Refresher::take_request() {
    if (!asked()) return;
    asked_ = last_asked_for_a_look(config_.state_dir());
    cluster_due_ = std::min(cluster_due_, soonest_);
    step_due_ = std::min(step_due_, cluster_due_);
    owes_answer_ = true;
}

milliseconds Refresher::refresh_interval(Clock::duration took) const {
    const auto policy = config_.policy();
    const Settings& settings = policy->configuration ? policy->configuration->site : Settings{};
    // slurmctld answers under its locks: ten thousand nodes take it 20 to 70 ms. At most one
    // percent of its time is ours, and the canary and the jobs take a third of that; but a World
    // must not grow stale between two readings.
    const auto fair = std::chrono::ceil<milliseconds>(took * 120);
    return std::min(std::max(settings.refresh, fair), settings.stale_after / 3);
}

milliseconds Refresher::step() {
    config_.look(default_dir_);
    if (!source_->active()) {
        publish();
        return milliseconds(500);
    }
    take_request();
    if (only_canary()) return until_canary();
    Status read;
    bool anything = false;
    if (now_() >= cluster_due_) {
        anything = true;
        const auto began = now_();
        read = read_cluster();
        const auto took = now_() - began;
        // One slow answer, as while slurmctld starts, is not the size of the cluster.
        const auto usual = std::min<Clock::duration>(took, std::exchange(last_took_, took));
        cluster_due_ = now_() + (read ? refresh_interval(usual) : milliseconds(250));
        soonest_ = std::min(cluster_due_, now_() + std::clamp<Clock::duration>(
                                                       took * 20, least_rest, longest_wait));
        if (read && std::exchange(owes_answer_, false)) writer_.write_in_any_case();
        if (read && caretaker_.look(snapshot_, *config_.policy()))
            cluster_due_ = now_() + milliseconds(20);  // see what the repair has made of it
        if (read && first_jobs_) caretaker_.consider(std::move(*first_jobs_), snapshot_->started);
        if (read) first_jobs_.reset();
    }
    if (read && snapshot_ && jobs_are_due()) {
        anything = true;
        admitted_ = ledger_.admitted();
        const auto began = now_();
        read = read_jobs();
        // At most one twenty-fifth of slurmctld's time: ten thousand held jobs take it 0.1 s.
        const auto fair = std::chrono::ceil<milliseconds>((now_() - began) * 25);
        const auto least = ledger_.empty() ? refresh_interval({}) : jobs_interval;
        jobs_due_ = now_() + std::max(least, fair);
    }
    if (anything) complain(read);
    if (take_held_ && snapshot_ && take_held_()) caretaker_.expect_held_job();
    caretaker_.take_marks(take_marks_());
    auto rest = caretaker_.work(*config_.policy(), guard::is_off(config_.state_dir()));
    publish();
    if (read) config_.keep_copies();
    rest = std::min(rest, std::chrono::ceil<milliseconds>(cluster_due_ - now_()));
    if (!ledger_.empty())
        rest = std::min(rest, std::chrono::ceil<milliseconds>(jobs_due_ - now_()));
    rest = std::clamp(rest, milliseconds(10), milliseconds(60000));
    step_due_ = now_() + rest;
    const bool watch = source_->loses_features_silently() && caretaker_.knows_a_label();
    return watch ? std::min(rest, until_canary()) : rest;
}

// Each reading is one RPC for each user: slurmctld packs all jobs of his, and on few processors
// that is time which its scheduler does not have.
bool Refresher::jobs_are_due() const {
    return now_() >= jobs_due_ || ledger_.admitted() != admitted_;
}

milliseconds Refresher::until_canary() const {
    const std::size_t nodes = snapshot_ ? snapshot_->nodes.size() : 0;
    return std::clamp(milliseconds(nodes / canary_nodes_per_ms), canary_interval,
                      longest_canary_interval);
}

// Between two full steps: true when the labels are where they were.
bool Refresher::only_canary() {
    if (!source_->loses_features_silently() || !caretaker_.knows_a_label() || jobs_are_due() ||
        now_() >= step_due_)
        return false;
    if (caretaker_.labels_are_there()) return true;
    cluster_due_ = now_();
    return false;
}

Status Refresher::read_cluster() {
    auto next = std::make_shared<Snapshot>();
    next->started = now_();
    auto config = source_->config();
    if (!config) return tl::unexpected(config.error());
    auto nodes = source_->nodes();
    if (!nodes) return tl::unexpected(nodes.error());
    auto partitions = source_->partitions();
    if (!partitions) return tl::unexpected(partitions.error());
    auto reservations = source_->reservations();
    if (!reservations) return tl::unexpected(reservations.error());
    // Only preempt/qos decides by it; a cluster without accounting may refuse the question.
    qos_.reset();
    if (config->preempt_type == "preempt/qos")
        if (auto qos = source_->qos()) qos_ = std::move(*qos);
    read_accounts(config->associations_enforced);
    default_dir_ = default_state_dir(config->state_save_location);
    next->config = std::move(*config);
    next->nodes = std::move(*nodes);
    next->partitions = std::move(*partitions);
    next->reservations = std::move(*reservations);
    next->rebuild_jobs = rebuild_jobs_;
    next->index();
    next->taken = now_();
    next->generation = ++generation_;
    config_.look(default_dir_);
    if (all_jobs_read_) {
        snapshot_ = std::move(next);
        return {};
    }
    // The first picture is not published without the jobs: a second rebuild job could slip in.
    const auto began = now_();
    auto jobs = source_->jobs();
    if (!jobs) return tl::unexpected(jobs.error());
    all_jobs_read_ = true;
    take_jobs(began, *jobs);
    first_jobs_ = std::move(*jobs);
    next->rebuild_jobs = rebuild_jobs_;
    snapshot_ = std::move(next);
    return {};
}

// What cannot be read is kept as it was, and fails nothing: texts and exceptions hang on it only.
void Refresher::read_accounts(bool enforced) {
    const auto began = now_();
    if (began < accounts_due_) return;
    auto accounting = source_->accounting();
    // slurmctld copies them under its lock: at most half a percent of its time.
    accounts_due_ = now_() + std::max<Clock::duration>(accounts_interval, (now_() - began) * 200);
    if (!accounting) return;
    accounts_ = accounting->associations.empty()
                    ? nullptr
                    : std::make_shared<AccountBook>(*accounting, enforced);
    caretaker_.set_operators(accounts_ ? accounts_->operators() : std::set<std::uint32_t>{});
}

Status Refresher::read_jobs() {
    std::set<std::uint32_t> users{0, slurm_user_};
    for (const std::uint32_t uid : config_.policy()->rebuild_uids) users.insert(uid);
    for (const std::uint32_t uid : ledger_.owners()) users.insert(uid);
    const auto began = now_();
    std::vector<Job> all;
    for (const std::uint32_t uid : users) {
        auto jobs = source_->jobs_of(uid);
        if (!jobs && jobs.error().code == Errc::not_found) continue;  // he has none
        if (!jobs) return tl::unexpected(jobs.error());
        std::move(jobs->begin(), jobs->end(), std::back_inserter(all));
    }
    take_jobs(began, all);
    return {};
}

void Refresher::take_jobs(Clock::time_point began, const std::vector<Job>& jobs) {
    std::vector<std::uint32_t> owners;
    rebuild_jobs_ = rebuild_jobs_among(jobs, owners);
    ledger_.observe(began, rebuild_jobs_, owners);
}

void Refresher::publish() {
    auto next = std::make_shared<World>();
    next->policy = config_.policy();
    next->snapshot = snapshot_;
    next->qos = qos_;
    next->accounts = accounts_;
    next->guard = caretaker_.world();
    const std::string dir = config_.state_dir();
    next->breaker_open = !dir.empty() && ::access((dir + "/breaker").c_str(), F_OK) == 0;
    const bool breaker_open = next->breaker_open;
    world_.set(std::move(next));
    caretaker_.published();
    if (snapshot_ && source_->active())
        writer_.write(dir, *snapshot_, rebuild_jobs_, *config_.policy(), breaker_open,
                      caretaker_.open_nodes(), hook_times_(), now_());
}

void Refresher::complain(const Status& read) {
    if (read) {
        if (failures_ > 0) log::info("reading the cluster works again");
        failures_ = 0;
        complaint_.clear();
        return;
    }
    // The controller does not listen yet for about a second after its start.
    if (++failures_ < 8 || read.error().message == complaint_) return;
    complaint_ = read.error().message;
    log::error("{}. Rebuild jobs are refused while this lasts", complaint_);
}

}  // namespace cohort
