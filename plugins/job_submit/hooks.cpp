// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/job_submit/hooks.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/rebuild_budget.hpp"
#include "common/rebuild_mark.hpp"

namespace cohort {
namespace {

Status ready(const World& world, Clock::time_point now) {
    if (!world.policy || !world.policy->configuration)
        return fail(Errc::denied,
                    fmt::format("rebuild jobs are refused until cohort.conf is mended: {}",
                                world.policy ? world.policy->fault : "it was not read yet"));
    switch (world.freshness(now)) {
        case Freshness::warm:
            return {};
        case Freshness::cold:
            return fail(Errc::busy,
                        "slurmctld has just started and the cohort plugin has not read the cluster "
                        "yet: try again in a few seconds");
        case Freshness::stale:
            break;
    }
    const auto age =
        std::chrono::duration_cast<std::chrono::seconds>(now - world.snapshot->started);
    return fail(
        Errc::busy,
        fmt::format("the cohort plugin last read the cluster {} s ago and cannot tell what "
                    "runs where: try again in a few seconds; slurmctld's log has the reason",
                    age.count()));
}

std::string told(const std::string& held, const Settings& settings, std::uint32_t limit) {
    const auto line = [](std::string why) {
        return fmt::format("held: {}. It is released by scohort advance (timer, or by hand)", why);
    };
    if (held == "pending") return line(fmt::format("{} rebuild jobs wait already", limit));
    if (held == "concurrent")
        return line(fmt::format("MaxConcurrent={} nodes are being rebuilt or about to be",
                                settings.max_concurrent));
    if (held == "breaker") return line("the cloud is out of reach");
    return {};
}

}  // namespace

Result<std::string> Hooks::admit(const Submission& job, const std::string& node, bool test,
                                 const Settings& settings, const World& world,
                                 Clock::time_point now) {
    RebuildLedger::Request request;
    request.test = test;
    request.node = node;
    request.owner = job.owner;
    request.held_by_submitter = job.held_by_submitter();
    request.breaker_open = world.breaker_open;
    request.max_pending =
        pending_limit(settings.max_pending_rebuilds, world.snapshot->config.scheduler_parameters);
    if (settings.rebuild_license.empty()) request.max_concurrent = settings.max_concurrent;
    request.counts_as_started = [&world](const std::string& name) {
        const Node* known = world.snapshot->node(name);
        return known && counts_as_started(*known);
    };
    return ledger_.admit(request, now);
}

Result<RebuildDecision> Hooks::submit_rebuild(const Submission& job, Clock::time_point now) {
    const auto world = world_.get();
    if (const auto is_ready = ready(*world, now); !is_ready)
        return tl::unexpected(is_ready.error());
    const Settings& settings = world->policy->configuration->site;
    if (const auto allowed = allow_rebuild(job, *world->policy); !allowed)
        return tl::unexpected(allowed.error());
    const auto node = one_node(job, *world->snapshot);
    if (!node) return tl::unexpected(node.error());
    auto plan = plan_rebuild(job, *node, settings, *world);
    if (!plan) return tl::unexpected(plan.error());
    const auto ask = job.trusted ? parse_ask(job.admin_comment) : std::nullopt;
    const bool test = ask && ask->test;
    auto held = admit(job, *node, test, settings, *world, now);
    if (!held) return tl::unexpected(held.error());
    if (!test) wake_();

    RebuildDecision decision;
    decision.held = *held;
    RebuildMark mark{*node, plan->priority, *held, ask ? ask->rollout : 0};
    if (ask && job.held_by_submitter()) mark.held = held_by_rollout;
    decision.admin_comment = write_mark(job.admin_comment, mark);
    decision.set_priority = !job.held_by_submitter() && (!held->empty() || plan->priority != 0);
    decision.priority = held->empty() ? plan->priority : 0;
    decision.tell = told(
        *held, settings,
        pending_limit(settings.max_pending_rebuilds, world->snapshot->config.scheduler_parameters));
    decision.plan = std::move(*plan);
    return decision;
}

Status Hooks::modify(const Change& change) const {
    const auto job = change.job_id == 0 ? std::nullopt : ledger_.find(change.job_id);
    if (change.admin_comment) {
        const auto mark = parse_mark(*change.admin_comment);
        if (mark && !change.trusted && (!job || job->node != mark->node))
            return fail(Errc::denied,
                        "only --reboot at submission makes a rebuild job: an AdminComment cannot");
    }
    if (!job || change.trusted) return {};
    const bool other_nodes =
        change.nodes && (change.nodes->empty() ||
                         std::any_of(change.nodes->begin(), change.nodes->end(),
                                     [&](const std::string& name) { return name != job->node; }));
    if (other_nodes || change.min_nodes.value_or(1) > 1)
        return fail(Errc::invalid,
                    fmt::format("job {} rebuilds node {} and cannot be sent elsewhere: scancel it "
                                "and submit one for the other node",
                                job->job_id, job->node));
    return {};
}

}  // namespace cohort
