// SPDX-License-Identifier: GPL-2.0-or-later
//
// `scohort rebuild`.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>
#include <thread>

#include <fmt/core.h>

#include "common/log.hpp"
#include "common/slurm/hostlist.hpp"
#include "common/slurm/load.hpp"
#include "common/slurm/submit.hpp"
#include "common/text.hpp"
#include "rebootprog/report_error.hpp"
#include "rebootprog/rollout/advance.hpp"
#include "rebootprog/rollout/rebuild_jobs.hpp"
#include "rebootprog/rollout/rollout_act.hpp"
#include "rebootprog/rollout/rollout_verbs.hpp"

namespace cohort {
namespace {

using Verdict = NodePlan::Verdict;

constexpr int lock_patience = 60;
constexpr std::chrono::seconds test_patience{10};

std::string text_of(const Amount& amount) {
    return fmt::format("{}{}", amount.value, amount.percent ? "%" : "");
}

// The options over the settings of the chosen nodes; Errc::invalid names the option.
Result<Rollout> rollout_from(const RebuildOptions& options, const Settings& settings) {
    Rollout rollout;
    rollout.image = options.choice.image;
    rollout.reason = options.reason;
    rollout.canary = options.canary;
    rollout.order = options.order;
    rollout.window = options.window;
    rollout.via = options.via;
    rollout.failure_budget =
        options.failure_budget < 0 ? settings.failure_budget : options.failure_budget;
    rollout.max_unavailable = options.max_unavailable.empty() ? text_of(settings.max_unavailable)
                                                              : options.max_unavailable;
    rollout.min_available =
        options.min_available.empty() ? text_of(settings.min_available) : options.min_available;
    const auto most = parse_amount(rollout.max_unavailable);
    if (!most || most->value == 0)
        return fail(Errc::invalid, fmt::format("--max-unavailable {}: expects a number of nodes "
                                               "from 1, or 1% to 100%",
                                               rollout.max_unavailable));
    if (!parse_amount(rollout.min_available))
        return fail(Errc::invalid, fmt::format("--min-available {}: expects a number of nodes, or "
                                               "0% to 100%",
                                               rollout.min_available));
    if (!options.window.empty() && !in_window(options.window, 0))
        return fail(
            Errc::invalid,
            fmt::format("--window {}: expects HH:MM-HH:MM, such as 22:00-06:00", options.window));
    const auto soak = text::to_duration(options.soak.empty() ? "0" : options.soak);
    if (!soak)
        return fail(Errc::invalid,
                    fmt::format("--soak {}: expects a time, such as 30min", options.soak));
    rollout.soak = std::chrono::duration_cast<std::chrono::seconds>(*soak).count();
    return rollout;
}

// Idle nodes first, then those that free soonest: canaries should not wait.
void choose_canaries(std::vector<RolloutNode>& rows, const PlanData& data, std::int64_t count) {
    std::map<std::string, std::int64_t> free_at;
    for (const auto& plan : data.nodes) free_at[plan.node.name] = plan.job_end;
    std::vector<RolloutNode*> sorted;
    for (auto& row : rows) sorted.push_back(&row);
    std::ranges::stable_sort(sorted, {},
                             [&](const RolloutNode* row) { return free_at[row->node]; });
    for (std::size_t i = 0; i < sorted.size(); ++i)
        sorted[i]->canary = static_cast<std::int64_t>(i) < count;
}

void arrange(std::vector<RolloutNode>& rows, const PlanData& data, const RebuildOptions& options) {
    if (options.order == "name") std::ranges::sort(rows, {}, &RolloutNode::node);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].position = static_cast<std::int64_t>(i);
    if (options.canary > 0) choose_canaries(rows, data, options.canary);
}

// A test fails on a node that does not answer a ping or is about to come back; a job waits for it.
bool is_passing(const std::string& name) {
    const auto node = slurm::load_node(name);
    return node && !node->state.drain && !node->state.fail &&
           (node->state.not_responding || node->state.rebooting() || node->state.power_saving);
}

// Asks slurmctld whether it would take each job (--test-only); what it would not becomes blocked.
Status test_jobs(const Site& site, PlanData& data) {
    const auto until = std::chrono::steady_clock::now() + test_patience;
    for (auto& plan : data.nodes) {
        if (!plan.changes() || plan.direct) continue;
        const auto job = rebuild_job_for(site, 0, plan.node.name, true);
        if (!job) return tl::unexpected(job.error());
        const auto test = [&] { return slurm::test_rebuild(*job); };
        auto tested = past_the_dead(site.settings(), plan.node.name, test);
        // The plugin may not have read the cluster yet.
        while (!tested && tested.error().code == Errc::busy &&
               std::chrono::steady_clock::now() < until) {
            std::this_thread::sleep_for(std::chrono::milliseconds(500));
            tested = test();
        }
        if (tested || is_passing(plan.node.name)) continue;
        if (tested.error().code == Errc::unreachable) return tested;
        plan.verdict = Verdict::blocked;
        plan.why = tested.error().message;
    }
    return {};
}

// Should be changed, cannot be, and nothing is under way that does it.
bool left_out(const NodePlan& plan) {
    return plan.verdict == Verdict::blocked && !plan.under_way;
}

void print_blocked(const PlanData& data) {
    std::map<std::string, std::vector<std::string>> by_reason;
    for (const auto& plan : data.nodes)
        if (plan.verdict == Verdict::blocked) by_reason[plan.why].push_back(plan.node.name);
    for (const auto& [why, names] : by_reason)
        log::warning("left out: {}: {}", slurm::compress_hosts(names), why);
}

void print_plan(const PlanData& data, const Rollout& rollout) {
    std::map<std::string, std::vector<std::string>> by_change;
    std::size_t skipped = 0;
    for (const auto& plan : data.nodes) {
        if (plan.changes())
            by_change[fmt::format("{} {} -> {}", name_of(plan.verdict),
                                  plan.actual_name.empty() ? plan.actual : plan.actual_name,
                                  plan.image_name)]
                .push_back(plan.node.name);
        skipped += plan.verdict == Verdict::skip;
    }
    for (const auto& [change, names] : by_change)
        std::printf("%s: %s\n", change.c_str(), slurm::compress_hosts(names).c_str());
    if (skipped != 0) std::printf("nothing to do: %zu nodes\n", skipped);
    std::printf("at most %s unavailable and at least %s available of %zu nodes\n",
                rollout.max_unavailable.c_str(), rollout.min_available.c_str(), data.nodes.size());
}

Status lift_quarantine(const Journal& journal, const std::string& image, const std::string& who) {
    RolloutJournal rollouts(journal);
    auto bad = rollouts.quarantined();
    if (!bad) return tl::unexpected(bad.error());
    for (const auto& one : *bad) {
        if (!image.empty() && one.image != image) continue;
        if (auto lifted = rollouts.lift_quarantine(one.image); !lifted) return lifted;
        log::warning("image {} leaves quarantine ({})", one.image, one.reason);
        if (auto kept = rollouts.note(one.rollout, "", who,
                                      fmt::format("image {} leaves quarantine", one.image));
            !kept)
            return kept;
    }
    return {};
}

int nothing_to_do(const Site& site, Journal& journal, const PlanData& data,
                  const std::string& who) {
    print_blocked(data);
    const bool incomplete = std::ranges::any_of(data.nodes, left_out);
    const bool blocked = incomplete || std::ranges::any_of(data.nodes, &NodePlan::under_way);
    // Run again while it is under way: what lacks of it is made up for.
    const int code = take_step(site, journal, who, false);
    if (!blocked) std::printf("nothing to do: every chosen node is as it should be\n");
    return code == exit_code::ok && incomplete ? exit_code::some_failed : code;
}

}  // namespace

int rebuild(const Site& site, const RebuildOptions& options, const std::string& who) {
    auto lock = lock_advance(site, lock_patience);
    if (!lock) return report(lock.error());
    auto journal = Journal::open(site.state_dir);
    if (!journal) return report(journal.error());
    if (options.allow_quarantined && !options.dry_run)
        if (auto lifted = lift_quarantine(*journal, "", who); !lifted)
            return report(lifted.error());
    // What is under way may have ended since the last step.
    if (!options.dry_run)
        if (const int code = take_step(site, *journal, who, false); code == exit_code::unreachable)
            return code;
    auto data = make_plan(site, *journal, options.choice);
    if (!data) return report(data.error());
    std::vector<std::string> scope;
    for (const auto& plan : data->nodes) scope.push_back(plan.node.name);
    auto rollout = rollout_from(options, settings_for(site, scope));
    if (!rollout) return report(rollout.error());
    if (!data->unlabelled.empty()) {
        log::error(
            "{} carry no label, so the guard could not keep jobs within one revision: type "
            "'scohort adopt -w {}' first (or set MixedRevision=off for them)",
            slurm::compress_hosts(data->unlabelled), slurm::compress_hosts(data->unlabelled));
        return exit_code::refused;
    }
    if (std::ranges::none_of(data->nodes, &NodePlan::changes))
        return nothing_to_do(site, *journal, *data, who);
    if (options.via == "job")
        if (auto tested = test_jobs(site, *data); !tested) return report(tested.error());
    print_plan(*data, *rollout);
    print_blocked(*data);
    if (options.dry_run) return exit_code::ok;
    auto rows = rows_of(*data, *journal);
    if (!rows) return report(rows.error());
    if (rows->empty()) return exit_code::some_failed;
    arrange(*rows, *data, options);
    rollout->who = who;
    rollout->began = std::time(nullptr);
    rollout->scope = slurm::compress_hosts(scope);
    RolloutJournal rollouts(*journal);
    if (auto created = rollouts.create(*rollout, *rows); !created) return report(created.error());
    const std::string what =
        fmt::format("begins with {} of {} nodes{}{}", rows->size(), scope.size(),
                    options.reason.empty() ? "" : ": ", options.reason);
    std::printf("rollout %lld %s\n", static_cast<long long>(rollout->id), what.c_str());
    std::fflush(stdout);
    if (auto kept = rollouts.note(rollout->id, "", who, what); !kept) return report(kept.error());
    const int code = take_step(site, *journal, who, false);
    const bool complete = std::ranges::none_of(data->nodes, left_out);
    return code == exit_code::ok && !complete ? exit_code::some_failed : code;
}

}  // namespace cohort
