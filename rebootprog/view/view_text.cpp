// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/core.h>

#include "rebootprog/view/view_render.hpp"

namespace cohort {
namespace {

// "3 held, 2 waiting", without what there is none of.
std::string counts_text(const Progress& progress) {
    struct Word {
        Step step;
        const char* text;
    };
    constexpr Word words[] = {{Step::failed, "failed"},
                              {Step::rebuilding, "being rebuilt"},
                              {Step::released, "waiting for their nodes"},
                              {Step::held, "held"},
                              {Step::planned, "planned"},
                              {Step::cancelled, "cancelled"}};
    std::string text;
    for (const auto& word : words)
        if (const auto count = progress.of(word.step); count != 0)
            text += fmt::format(", {} {}", count, word.text);
    return text;
}

std::string name_line(const View& view) {
    const auto& rollout = *view.rollout;
    std::string text = fmt::format("Rollout {}: {}", rollout.id, name_of(rollout.state));
    if (!rollout.why.empty()) text += fmt::format(" ({})", rollout.why);
    text += fmt::format(", begun {} by {}", clock_of(rollout.began, view.now), rollout.who);
    if (!rollout.image.empty()) text += fmt::format(", to {}", rollout.image);
    if (!rollout.reason.empty()) text += fmt::format(": {}", rollout.reason);
    if (rollout.rollback_of != 0) text += fmt::format(" (rolls back {})", rollout.rollback_of);
    return text;
}

std::string pace_line(const View& view, const Progress& progress) {
    const auto& rollout = *view.rollout;
    std::string text;
    if (progress.node_seconds != 0)
        text = fmt::format("A node takes {} (median of {}); {:.0f} nodes an hour",
                           span_of(progress.node_seconds), progress.measured, progress.per_hour);
    else
        text = "No node is done yet: how long it will take is not known";
    if (!rollout.open() && rollout.ended != 0)
        return text + fmt::format("; ended {} after {}", clock_of(rollout.ended, view.now),
                                  span_of(rollout.ended - rollout.began));
    if (progress.end)
        text += fmt::format("; done in about {}, at {}", span_of(*progress.end - view.now),
                            clock_of(*progress.end, view.now));
    else if (rollout.state == RolloutState::paused || rollout.state == RolloutState::halted)
        text += "; it stands still: scohort resume, or abort, or rollback";
    return text;
}

std::string service_line(const View& view, const Progress& progress) {
    std::string text = fmt::format("Out of service {} of at most {} (of {} nodes)", view.out,
                                   view.out_limit, view.scope);
    if (progress.held_nodes != 0)
        text += fmt::format(", {} of them kept for a rebuild job that waits", progress.held_nodes);
    text += fmt::format("; users' jobs: {} run, {} wait", view.users_running, view.users_waiting);
    if (view.jobs_at != 0) text += fmt::format(" ({} ago)", span_of(view.now - view.jobs_at));
    return text + fmt::format("; actions of the cloud: {} of {}", view.slots_used, view.slots);
}

std::string barrier_line(const Barrier& barrier, std::int64_t now) {
    std::string text =
        fmt::format("Cohort {} is CLOSED by {} since {}, at step {}", barrier.cohort,
                    barrier.name(), clock_of(barrier.began, now), name_of(barrier.step));
    if (barrier.why.empty()) return text;
    return text + fmt::format(", and it has stopped: {}. Then: scohort barrier --cohort {}",
                              barrier.why, barrier.cohort);
}

}  // namespace

std::vector<std::string> headline_of(const View& view, const Progress& progress) {
    std::vector<std::string> lines;
    if (view.breaker)
        lines.push_back(
            fmt::format("THE CLOUD IS OUT OF REACH since {}: {}. Nothing begins until "
                        "it answers",
                        clock_of(view.breaker->opened, view.now), view.breaker->reason));
    for (const auto& barrier : view.barriers) lines.push_back(barrier_line(barrier, view.now));
    for (const auto& image : view.quarantined)
        lines.push_back(fmt::format("Image {} is in quarantine since {}: {}", image.image,
                                    clock_of(image.since, view.now), image.reason));
    if (!view.rollout) {
        lines.emplace_back("There was no rollout yet: scohort plan, then scohort rebuild");
        if (!view.others.empty())
            lines.push_back(fmt::format("Rebuilt by hand: {} nodes", view.others.size()));
        return lines;
    }
    lines.push_back(name_line(view));
    lines.push_back(fmt::format("{} of {} nodes done{}", progress.of(Step::done), progress.total,
                                counts_text(progress)));
    lines.push_back(pace_line(view, progress));
    lines.push_back(service_line(view, progress));
    for (const auto id : view.also)
        lines.push_back(fmt::format("Rollout {} is under way too: scohort status {}", id, id));
    if (!view.others.empty())
        lines.push_back(fmt::format("{} nodes (*) are rebuilt by hand", view.others.size()));
    return lines;
}

Table table_of(const View& view) {
    Table table{"status", {"NODE", "STEP", "SINCE", "STATE", "JOB", "WHAT"}, {}};
    const auto add = [&](const ViewNode& node, const char* mark) {
        table.rows.push_back(
            {node.row.node + mark, word_of(node), clock_of(since_of(node), view.now),
             node.state.empty() ? "unknown" : node.state,
             node.row.job == 0 ? std::string("-") : fmt::format("{}", node.row.job),
             what_of(node, view.now)});
    };
    for (const auto& node : view.nodes) add(node, "");
    for (const auto& node : view.others) add(node, view.rollout ? "*" : "");
    return table;
}

std::vector<std::string> changes_between(const View& before, const View& now) {
    std::vector<std::string> lines;
    if (now.rollout && (!before.rollout || before.rollout->id != now.rollout->id ||
                        before.rollout->state != now.rollout->state))
        lines.push_back(name_line(now));
    if (now.breaker && !before.breaker)
        lines.push_back("the cloud is out of reach: " + now.breaker->reason);
    if (!now.breaker && before.breaker) lines.emplace_back("the cloud answers again");
    std::unordered_map<std::string, std::string> words;
    for (const auto* nodes : {&before.nodes, &before.others})
        for (const auto& node : *nodes) words[node.row.node] = word_of(node);
    for (const auto* nodes : {&now.nodes, &now.others})
        for (const auto& node : *nodes) {
            const std::string word = word_of(node);
            const auto known = words.find(node.row.node);
            if (known != words.end() && known->second == word) continue;
            const std::string what = what_of(node, now.now);
            lines.push_back(
                fmt::format("{} {}{}{}", node.row.node, word, what.empty() ? "" : ": ", what));
        }
    return lines;
}

}  // namespace cohort
