// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/view/view_verbs.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <map>

#include <fmt/core.h>

#include "common/file.hpp"
#include "common/log.hpp"
#include "common/slurm/hostlist.hpp"
#include "rebootprog/barrier/barrier_journal.hpp"
#include "rebootprog/rollout/rollout_journal.hpp"
#include "rebootprog/view/report_collect.hpp"
#include "rebootprog/view/view_collect.hpp"
#include "rebootprog/view/view_render.hpp"

namespace cohort {
namespace {

constexpr mode_t readable = 0644;  // node_exporter runs as another user

int complain(const Error& error) {
    log::error("{}", error.message);
    return exit_code_of(error.code);
}

int put_out(const std::string& text, const std::string& file) {
    if (file.empty()) {
        std::fputs(text.c_str(), stdout);
        return exit_code::ok;
    }
    if (auto written = write_file(file, text, readable); !written) return complain(written.error());
    return exit_code::ok;
}

std::string or_dash(const std::string& text) {
    return text.empty() ? "-" : text;
}

std::string took(std::int64_t from, std::int64_t to) {
    return from == 0 || to < from ? "-" : span_of(to - from);
}

std::vector<std::string> row_of(const Barrier& barrier, std::int64_t now) {
    const auto nodes = slurm::expand_hosts(barrier.nodes);
    const bool closed = barrier.state == BarrierState::closed;
    const std::string state = fmt::format(
        "{}{}", name_of(barrier.state), closed ? fmt::format(" ({})", name_of(barrier.step)) : "");
    const bool opened = barrier.state == BarrierState::opened;
    const std::string count = fmt::format("{}", nodes ? nodes->size() : 0);
    return {barrier.name(),
            state,
            clock_of(barrier.began, now),
            took(barrier.began, closed ? now : barrier.ended),
            count,
            opened ? count : "-",
            "-",
            barrier.who,
            or_dash(barrier.why.empty() ? barrier.reason : barrier.why)};
}

int print_rollouts(const Journal& whole, const HistoryOptions& options) {
    const RolloutJournal journal(whole);
    const std::int64_t now = std::time(nullptr);
    const auto barriers = BarrierJournal(whole).barriers(options.limit);
    if (!barriers) return complain(barriers.error());
    const auto rollouts = journal.rollouts(options.limit);
    if (!rollouts) return complain(rollouts.error());
    Table table{"history",
                {"ROLLOUT", "STATE", "BEGAN", "TOOK", "NODES", "DONE", "FAILED", "WHO", "WHY"},
                {}};
    auto barrier = barriers->begin();
    for (const auto& rollout : *rollouts) {
        for (; barrier != barriers->end() && barrier->began >= rollout.began; ++barrier)
            table.rows.push_back(row_of(*barrier, now));
        const auto nodes = journal.nodes(rollout.id);
        if (!nodes) return complain(nodes.error());
        const auto count = [&](Step step) {
            return fmt::format("{}", std::ranges::count(*nodes, step, &RolloutNode::step));
        };
        table.rows.push_back(
            {fmt::format("{}", rollout.id), std::string(name_of(rollout.state)),
             clock_of(rollout.began, now), took(rollout.began, rollout.ended ? rollout.ended : now),
             fmt::format("{}", nodes->size()), count(Step::done), count(Step::failed), rollout.who,
             or_dash(rollout.reason.empty() ? rollout.why : rollout.reason)});
    }
    for (; barrier != barriers->end(); ++barrier) table.rows.push_back(row_of(*barrier, now));
    print_table(table, options.json);
    return exit_code::ok;
}

int print_events(const RolloutJournal& journal, const HistoryOptions& options) {
    const std::int64_t now = std::time(nullptr);
    const auto known = journal.rollout(options.rollout);
    if (!known) return complain(known.error());
    if (!*known)
        return complain(
            {Errc::not_found,
             fmt::format("there is no rollout {}: see 'scohort history'", options.rollout)});
    auto events = journal.events(options.rollout, options.limit);
    if (!events) return complain(events.error());
    std::ranges::reverse(*events);
    Table table{"events", {"WHEN", "NODE", "WHO", "WHAT"}, {}};
    for (const auto& event : *events)
        table.rows.push_back(
            {exact_clock_of(event.at, now), or_dash(event.node), event.who, event.text});
    print_table(table, options.json);
    return exit_code::ok;
}

// Its rebuilds, and what power saving has made and removed, newest first.
int print_node(const Journal& journal, const HistoryOptions& options) {
    const std::int64_t now = std::time(nullptr);
    const auto rows = RolloutJournal(journal).history_of(options.node, options.limit);
    if (!rows) return complain(rows.error());
    const auto machines = journal.machines_of(options.node, options.limit);
    if (!machines) return complain(machines.error());
    std::multimap<std::int64_t, std::vector<std::string>, std::greater<>> lines;
    for (const auto& row : *rows)
        lines.emplace(
            row.started,
            std::vector{fmt::format("{}", row.rollout), std::string(name_of(row.step)),
                        clock_of(row.started, now), took(row.started, row.ended),
                        or_dash(row.image_from), or_dash(row.image_to), or_dash(row.why)});
    for (const auto& one : *machines)
        lines.emplace(
            one.began,
            std::vector{std::string("-"), fmt::format("{} {}", one.action, name_of(one.outcome)),
                        clock_of(one.began, now), took(one.began, one.ended),
                        or_dash(one.image_from), or_dash(one.image_to), or_dash(one.reason)});
    Table table{"history", {"ROLLOUT", "STEP", "BEGAN", "TOOK", "FROM", "TO", "WHY"}, {}};
    for (auto& [began, line] : lines) table.rows.push_back(std::move(line));
    print_table(table, options.json);
    return exit_code::ok;
}

}  // namespace

int status(const Site& site, std::int64_t rollout, bool json) {
    const auto journal = Journal::open(site.state_dir);
    if (!journal) return complain(journal.error());
    const auto view = collect_view(site, *journal, rollout);
    if (!view) return complain(view.error());
    if (json) {
        std::puts(json_of(*view).c_str());
        return exit_code::ok;
    }
    for (const auto& line : headline_of(*view, progress_of(*view))) std::puts(line.c_str());
    if (!view->nodes.empty() || !view->others.empty()) std::puts("");
    print_table(table_of(*view), false);
    if (view->breaker)
        log::warning("the breaker is open since {}: {}", clock_of(view->breaker->opened, view->now),
                     view->breaker->reason);
    return exit_code::ok;
}

int history(const Site& site, const HistoryOptions& options) {
    const auto journal = Journal::open(site.state_dir);
    if (!journal) return complain(journal.error());
    const RolloutJournal rollouts(*journal);
    if (!options.node.empty()) return print_node(*journal, options);
    if (options.rollout != 0) return print_events(rollouts, options);
    return print_rollouts(*journal, options);
}

int metrics(const Site& site, const std::string& file) {
    const auto journal = Journal::open(site.state_dir);
    if (!journal) return complain(journal.error());
    const auto view = collect_view(site, *journal, 0);
    if (!view) return complain(view.error());
    return put_out(metrics_of(*view), file);
}

int report(const Site& site, std::int64_t rollout, const std::string& file) {
    const auto journal = Journal::open(site.state_dir);
    if (!journal) return complain(journal.error());
    const auto found = collect_report(site, *journal, rollout);
    if (!found) return complain(found.error());
    return put_out(html_of(*found), file);
}

}  // namespace cohort
