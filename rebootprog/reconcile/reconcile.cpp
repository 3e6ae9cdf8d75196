// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/reconcile/reconcile.hpp"

#include <algorithm>
#include <ctime>

#include <fmt/core.h>

#include "common/file.hpp"
#include "common/log.hpp"
#include "common/slurm/hostlist.hpp"
#include "common/slurm/load.hpp"
#include "common/slurm/node_writer.hpp"
#include "common/text.hpp"
#include "rebootprog/reboot/engine.hpp"
#include "rebootprog/reconcile/inventory.hpp"
#include "rebootprog/reconcile/reconcile_decide.hpp"
#include "rebootprog/reconcile/reconcile_journal.hpp"
#include "rebootprog/report_error.hpp"
#include "rebootprog/rollout/rollout_journal.hpp"
#include "rebootprog/site/picture.hpp"
#include "rebootprog/view/table.hpp"

namespace cohort {
namespace {

using Kind = ReconcileAct::Kind;

// NODES (a host list) -> the job, for nodes that have none yet.
void note_job(std::map<std::string, std::string>& jobs, const std::string& nodes, const Job& job) {
    if (nodes.empty()) return;
    const auto names = slurm::expand_hosts(nodes);
    if (!names) return;
    for (const auto& name : *names) jobs.emplace(name, job.id_text);
}

Status add_rebuilds(const Journal& journal, ReconcileView& view) {
    const auto latest = journal.latest_attempts();
    if (!latest) return tl::unexpected(latest.error());
    for (const auto& attempt : *latest) {
        view.last_attempt[attempt.node] = attempt.ended;
        if (attempt.outcome == Outcome::open || attempt.outcome == Outcome::unsure)
            view.under_rebuild[attempt.node] = "it is being rebuilt";
    }
    const RolloutJournal rollouts(journal);
    const auto open = rollouts.unfinished();
    if (!open) return tl::unexpected(open.error());
    for (const auto& rollout : *open) {
        const auto rows = rollouts.nodes(rollout.id);
        if (!rows) return tl::unexpected(rows.error());
        for (const auto& row : *rows)
            if (row.open())
                view.under_rebuild[row.node] = fmt::format("it belongs to rollout {}", rollout.id);
    }
    return {};
}

Result<ReconcileView> collect(const Site& site, const Journal& journal,
                              const std::optional<Inventory>& inventory) {
    ReconcileView view;
    auto nodes = slurm::load_nodes();
    if (!nodes) return tl::unexpected(nodes.error());
    const auto jobs = slurm::load_jobs();
    if (!jobs) return tl::unexpected(jobs.error());
    view.nodes = std::move(*nodes);
    for (const auto& job : *jobs) {
        if (job.running || job.completing) note_job(view.job_on, job.nodes, job);
        if (job.pending) note_job(view.wanted_by, job.requested_nodes, job);
    }
    if (auto added = add_rebuilds(journal, view); !added) return tl::unexpected(added.error());
    auto since = ReconcileJournal(journal).stale_since();
    if (!since) return tl::unexpected(since.error());
    view.stale_since = std::move(*since);
    view.with_inventory = inventory.has_value();
    if (inventory)
        view.in_inventory = [&](const std::string& node) { return inventory->has(node); };
    view.now = std::time(nullptr);
    view.age = site.settings().reconcile_age.count();
    view.grace = site.settings().reconcile_grace.count();
    return view;
}

// A node that is stale for the first time begins to count now.
void count_stale(ReconcileView& view) {
    std::map<std::string, std::int64_t> stale;
    for (const auto& node : view.nodes)
        if (is_stale(node, view.in_inventory(node.name))) {
            const auto known = view.stale_since.find(node.name);
            stale[node.name] = known == view.stale_since.end() ? view.now : known->second;
        }
    view.stale_since = std::move(stale);
}

class Hand {
  public:
    Hand(const Site& site, Journal& journal, std::string who)
        : site_(site), journal_(journal), who_(std::move(who)) {}

    int failures = 0;

    // What became of it goes into ACT, for the table.
    void act(ReconcileAct& act) {
        if (!act.changes()) return;
        auto lock = lock_node(site_, act.node);
        if (!lock) return keep(act, "another process works on it");
        auto done = perform(act);
        if (!done && done.error().code == Errc::busy) return keep(act, done.error().message);
        if (!done) {
            ++failures;
            log::error("{}: {}", act.node, done.error().message);
            return keep(act, done.error().message);
        }
        const std::string text = fmt::format("{}: {}", past(act.kind), act.why);
        log::info("{} {}", act.node, text);
        if (auto kept = journal_.note(act.node, who_, text); !kept)
            log::warning("{}", kept.error().message);
    }

  private:
    static void keep(ReconcileAct& act, std::string why) {
        act.kind = Kind::keep;
        act.why = std::move(why);
    }

    static std::string_view past(Kind kind) {
        constexpr std::string_view words[] = {"its record is deleted", "is drained", "is resumed",
                                              "its record is deleted, to be registered anew"};
        return words[static_cast<int>(kind)];
    }

    // A job may have begun since the look; Slurm refuses the deletion then.
    Status perform(const ReconcileAct& act) {
        switch (act.kind) {
            case Kind::remove: {
                const auto node = slurm::load_node(act.node);
                if (!node) return tl::unexpected(node.error());
                if (!is_stale(*node, false))
                    return fail(Errc::busy, "it is " + node->state.text() + " now");
                return slurm::delete_node(act.node);
            }
            case Kind::repair:
                return slurm::delete_node(act.node);
            case Kind::drain:
                return slurm::drain(act.node, gone_reason);
            case Kind::give_back:
                return slurm::give_back(act.node);
            case Kind::wait:
            case Kind::keep:
                break;
        }
        return {};
    }

    const Site& site_;
    Journal& journal_;
    std::string who_;
};

void print(const std::vector<ReconcileAct>& acts, const ReconcileOptions& options) {
    Table table{"reconcile", {"NODE", "ACT", "WHY"}, {}};
    for (const auto& act : acts)
        table.rows.push_back({act.node, std::string(name_of(act.kind)), act.why});
    if (acts.empty() && !options.json) {
        if (!options.quiet) std::puts("nothing to do: every node's machine is there");
        return;
    }
    print_table(table, options.json);
}

}  // namespace

int reconcile(const Site& site, const ReconcileOptions& options, const std::string& who) {
    Site ruled = site;
    if (!options.min_age.empty()) {
        const auto age = text::to_duration(options.min_age);
        if (!age)
            return report({Errc::invalid, fmt::format("--min-age {}: expects a time, such as 5min",
                                                      options.min_age)});
        ruled.configuration.site.reconcile_age =
            std::chrono::duration_cast<std::chrono::seconds>(*age);
    }
    if (const auto host = standby_for(site); !host.empty()) {
        if (!options.quiet) log::info("the active controller is {}: nothing to do here", host);
        return exit_code::ok;
    }
    auto lock = try_lock_file(site.state_dir + "/reconcile.lock");
    if (!lock && lock.error().code == Errc::busy) {
        log::info("another reconcile is already running: nothing to do for this one");
        return exit_code::try_again;
    }
    if (!lock) return report(lock.error());
    auto journal = Journal::open(site.state_dir);
    if (!journal) return report(journal.error());
    std::optional<Inventory> inventory;
    if (!options.invalid_reg) {
        auto loaded = load_inventory(site);
        if (!loaded) return report(loaded.error());
        inventory = std::move(*loaded);
    }
    auto view = collect(ruled, *journal, inventory);
    if (!view) return report(view.error());
    if (inventory) {
        count_stale(*view);
        if (!options.dry_run)
            if (auto kept = ReconcileJournal(*journal).keep(view->stale_since); !kept)
                return report(kept.error());
    }
    auto acts = decide_reconcile(*view);
    Hand hand(site, *journal, who);
    if (!options.dry_run)
        for (auto& act : acts) hand.act(act);
    if (options.quiet) std::erase_if(acts, [](const ReconcileAct& act) { return !act.changes(); });
    print(acts, options);
    return hand.failures == 0 ? exit_code::ok : exit_code::some_failed;
}

}  // namespace cohort
