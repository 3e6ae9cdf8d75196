// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/rollout/advance.hpp"

#include <ctime>
#include <map>
#include <set>

#include <fmt/core.h>

#include "common/file.hpp"
#include "common/log.hpp"
#include "common/rebuild_budget.hpp"
#include "common/slurm/job_writer.hpp"
#include "common/slurm/load.hpp"
#include "common/slurm/node_writer.hpp"
#include "rebootprog/barrier/barrier_lock.hpp"
#include "rebootprog/cloud/backends.hpp"
#include "rebootprog/cloud/breaker.hpp"
#include "rebootprog/power/power.hpp"
#include "rebootprog/power/power_promise.hpp"
#include "rebootprog/power/power_run.hpp"
#include "rebootprog/reboot/engine.hpp"
#include "rebootprog/report_error.hpp"
#include "rebootprog/rollout/advance_decide.hpp"
#include "rebootprog/rollout/queue_digest.hpp"
#include "rebootprog/rollout/rollout_act.hpp"
#include "rebootprog/rollout/rollout_journal.hpp"
#include "rebootprog/rollout/rollout_row.hpp"
#include "rebootprog/site/picture.hpp"

namespace cohort {
namespace {

using Kind = AdvanceAct::Kind;
constexpr std::chrono::seconds patience_of_one_call{5};
// A job that is submitted, or a slot that is taken back, can be given on in the same step.
constexpr int most_looks = 4;
// From a boot to the end of its join, at most: join resumes a node that has proved itself.
constexpr std::int64_t join_seconds = 30;

// Asked after the jobs were read: a rollout is in the journal before its first job is sent.
Status find_what_is_over(const Journal& journal, Observation& seen) {
    const RolloutJournal rollouts(journal);
    std::map<std::int64_t, std::set<std::string>> over;
    for (const auto& job : seen.jobs) {
        const auto mark = job.pending ? parse_mark(job.admin_comment) : std::nullopt;
        if (!mark || mark->rollout == 0) continue;
        const auto [at, is_new] = over.try_emplace(mark->rollout);
        if (is_new) {
            const auto rollout = rollouts.rollout(mark->rollout);
            if (!rollout) return tl::unexpected(rollout.error());
            if (!*rollout || (*rollout)->open()) continue;
            const auto rows = rollouts.nodes(mark->rollout);
            if (!rows) return tl::unexpected(rows.error());
            for (const auto& row : *rows)
                if (!row.open()) at->second.insert(row.node);
        }
        if (at->second.contains(mark->node)) seen.over.emplace(mark->rollout, mark->node);
    }
    return {};
}

Result<Observation> observe(const Site& site, const Journal& journal) {
    Observation seen;
    auto nodes = slurm::load_nodes();
    if (!nodes) return tl::unexpected(nodes.error());
    auto jobs = load_jobs_for_all(site.state_dir);
    if (!jobs) return tl::unexpected(jobs.error());
    auto latest = journal.latest_attempts();
    if (!latest) return tl::unexpected(latest.error());
    seen.nodes = std::move(*nodes);
    seen.jobs = std::move(*jobs);
    seen.latest = std::move(*latest);
    if (auto found = find_what_is_over(journal, seen); !found) return tl::unexpected(found.error());
    seen.breaker_open = read_breaker(site.state_dir).has_value();
    seen.max_concurrent = site.settings().max_concurrent;
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    ::localtime_r(&now, &local);
    seen.now = now;
    seen.minute_of_day = local.tm_hour * 60 + local.tm_min;
    seen.max_pending =
        pending_limit(site.settings().max_pending_rebuilds, site.slurm.scheduler_parameters);
    return seen;
}

// What is not a rollout's: nodes and jobs of any rebuild.
class Repairs {
  public:
    Repairs(const Site& site, Journal& journal)
        : site_(site),
          journal_(journal),
          backends_(site, patience_of_one_call),
          promises_(journal, backends_) {}

    // The breaker closes when the cloud answers a probe.
    void probe() {
        const auto breaker = read_breaker(site_.state_dir);
        if (!breaker) return;
        auto all = backends_.all();
        if (!all) return log::warning("{}", all.error().message);
        for (Backend* backend : *all)
            if (auto answered = backend->probe(); !answered)
                return log::warning("the cloud is still out of reach: {}",
                                    answered.error().message);
        if (auto closed = close_breaker(site_.state_dir); !closed) {
            log::error("{}", closed.error().message);
            return;
        }
        tell("", fmt::format("the cloud answers again: the breaker is closed (it was open for: {})",
                             breaker->reason));
    }

    void act(const AdvanceAct& act) {
        if (auto done = perform(act); !done) {
            ++failures;
            log::error("{}: {}", act.node, done.error().message);
        }
    }

    // A node that sleeps and is to run another image now. Out of reach, the cloud is asked next
    // time.
    void renew_promises(const Observation& seen) {
        const std::string& program = site_.slurm.suspend_program;
        // Another program may keep the machine, and with it what the node is.
        if (seen.breaker_open || !is_power_program(program.substr(program.rfind('/') + 1))) return;
        for (const auto& node : seen.nodes) {
            if (!has_promise(node)) continue;
            const auto label = promises_.of(node.name);
            if (!label || *label == node.record.revision) continue;
            tell(node.name, fmt::format("sleeps, and will be {} when it wakes", *label));
            const auto written = slurm::edit_record(node.name, [&](NodeRecord& record) {
                if (!record.want && record.root.empty() && !record.revision.empty())
                    record.revision = *label;
            });
            if (written) continue;
            ++failures;
            log::error("{}: {}", node.name, written.error().message);
        }
    }

    int acts = 0;
    int failures = 0;

  private:
    Status perform(const AdvanceAct& act) {
        switch (act.kind) {
            case Kind::adopt:
                return adopt(act);
            case Kind::write_result:
                return write_result(act);
            case Kind::take_out_again:
                return take_out_again(act);
            case Kind::write_want:
                return write_want(act);
            case Kind::clear_reason:
                tell(act.node, "was resumed by an administrator: our note is removed");
                return slurm::edit_record(act.node,
                                          [](NodeRecord& record) { record.out_reason.clear(); });
            case Kind::give_back:
                tell(act.node, "is given back: it was untouched and the cloud answers again");
                return slurm::give_back(act.node);
            case Kind::release_job:
                tell(act.node, fmt::format("rebuild job {} is released", act.job->job.id_text));
                return release_rebuild_job(*act.job);
            case Kind::cancel_job:
                tell(act.node,
                     fmt::format("rebuild job {} is cancelled: it is left of rollout {}, which has "
                                 "ended",
                                 act.job->job.id_text, act.job->mark.rollout));
                return slurm::cancel_job(act.job->job.id);
        }
        return {};
    }

    // Only when nobody works on it: its process holds the node's lock.
    Status adopt(const AdvanceAct& act) {
        auto lock = lock_node(site_, act.node);
        if (!lock) return {};
        auto* cloud = backend(act.node);
        if (!cloud) return {};
        const AttemptContext context{.settings = backends_.settings(act.node),
                                     .state_dir = site_.state_dir,
                                     .backend = *cloud,
                                     .desk = desk_,
                                     .journal = journal_,
                                     .deadline = AttemptContext::Clock::now(),
                                     .cloud_failed = {},
                                     .cloud_answered = {}};
        const Outcome outcome = is_power_action(act.attempt->action)
                                    ? adopt_power_attempt(context, *act.attempt)
                                    : adopt_attempt(context, *act.attempt);
        if (outcome != Outcome::open)
            tell(act.node,
                 fmt::format("an attempt that was left behind ended: {}", name_of(outcome)));
        return {};
    }

    // A node that booted meanwhile may have proved itself since the look.
    Status take_out_again(const AdvanceAct& act) {
        const auto node = slurm::load_node(act.node);
        if (!node) return tl::unexpected(node.error());
        if (!node->state.fail) return {};
        const auto& want = node->record.want;
        const bool proved = !node->record.revision.empty() && want && want->succeeded();
        const bool up = node->state.base != NodeState::Base::down;
        // Up and proved, just booted: cohort-node join is about to resume it, and would meet us.
        // Later it is verify that has taken it out, and a ping that has undone its DOWN.
        const bool joins = proved && std::time(nullptr) < node->boot_time + join_seconds;
        if (!node->reason.empty() && (!up || joins)) return {};
        tell(act.node, "is taken out of service again: " + act.reason);
        return slurm::take_out(act.node, act.reason);
    }

    Status write_result(const AdvanceAct& act) {
        const Attempt& attempt = *act.attempt;
        return slurm::edit_record(act.node, [&](NodeRecord& record) {
            if (!record.want || record.want->at != attempt.posted) return;
            record.want->result = attempt.outcome == Outcome::ok
                                      ? std::string(result_ok)
                                      : fmt::format("{}: {}", result_failed, attempt.reason);
        });
    }

    // A node that booted without it may have been taken out for another wish: it judges itself
    // anew.
    Status write_want(const AdvanceAct& act) {
        const Attempt& attempt = *act.attempt;
        auto* cloud = backend(act.node);
        if (!cloud) return {};
        const auto image = cloud->image(attempt.image_to);
        if (!image) return tl::unexpected(image.error());
        tell(act.node, "gets its wish again: it was lost with slurmctld's state");
        const auto written = slurm::edit_record(act.node, [&](NodeRecord& record) {
            if (record.want && record.want->at >= attempt.posted) return;
            record.want = want_of(attempt, *image, record.root);
            if (!cloud->knows_images()) record.want->revision = attempt.label;
            if (record.revision == attempt.label) record.revision.clear();
        });
        if (!written) return written;
        const auto node = slurm::load_node(act.node);
        if (!node || !node->state.fail || !node->has_our_reason()) return {};
        return slurm::take_out(act.node, lost_wish_reason);
    }

    static Want want_of(const Attempt& attempt, const ImageState& image, const std::string& root) {
        Want want;
        want.image = attempt.image_to;
        want.stamp = image.stamp;
        want.revision = image.label();
        want.action = attempt.action == "hard reboot" ? "reboot" : attempt.action;
        want.request = attempt.request;
        want.at = attempt.posted;
        want.from = attempt.label;
        want.root = root;
        if (attempt.outcome == Outcome::ok) want.result = std::string(result_ok);
        if (attempt.outcome == Outcome::failed)
            want.result = fmt::format("{}: {}", result_failed, attempt.reason);
        return want;
    }

    Backend* backend(const std::string& node) {
        auto opened = backends_.of(node);
        if (opened) return *opened;
        log::warning("{}", opened.error().message);
        return nullptr;
    }

    void tell(const std::string& node, const std::string& text) {
        ++acts;
        log::info("{}{}", node.empty() ? "" : node + " ", text);
        if (auto kept = journal_.note(node, "advance", text); !kept)
            log::warning("{}", kept.error().message);
    }

    const Site& site_;
    Journal& journal_;
    SlurmDesk desk_;
    Backends backends_;
    Promises promises_;
};

}  // namespace

Result<UniqueFd> lock_advance(const Site& site, int seconds) {
    return lock_file(site.state_dir + "/advance.lock", seconds);
}

int take_step(const Site& site, Journal& journal, const std::string& who, bool verbose) {
    Repairs repairs(site, journal);
    RolloutHand hand(site, journal, who);
    const auto closed = assert_all_closed(site, journal, who);
    if (!closed) log::error("{}", closed.error().message);
    repairs.probe();
    for (int look = 0; look < most_looks; ++look) {
        auto seen = observe(site, journal);
        if (!seen) return report(seen.error());
        auto views = load_views(site, journal);
        if (!views) return report(views.error());
        if (look == 0) {
            for (const auto& act : decide_advance(*seen)) repairs.act(act);
            repairs.renew_promises(*seen);
        }
        Pace pace = pace_of(*seen);
        hand.look_again = false;
        for (const auto& view : *views)
            for (auto& act : decide_rollout(*seen, view, pace)) hand.act(std::move(act));
        if (!hand.look_again) break;
    }
    if (verbose && repairs.acts + hand.acts == 0) log::info("nothing to do");
    return closed && repairs.failures + hand.failures == 0 ? exit_code::ok : exit_code::some_failed;
}

int advance(const Site& site, bool verbose) {
    auto lock = lock_advance(site, 0);
    if (!lock && lock.error().code == Errc::busy) {
        log::info("another advance is at work: nothing to do for this one");
        return exit_code::try_again;
    }
    if (!lock) return report(lock.error());
    if (const auto host = standby_for(site); !host.empty()) {
        log::info("the active controller is {}: nothing to do here", host);
        return exit_code::ok;
    }
    auto journal = Journal::open(site.state_dir);
    if (!journal) {
        log::error("{}", journal.error().message);
        return exit_code::usage;
    }
    return take_step(site, *journal, "advance", verbose);
}

}  // namespace cohort
