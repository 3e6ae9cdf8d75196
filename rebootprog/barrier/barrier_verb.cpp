// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/barrier/barrier_verb.hpp"

#include <algorithm>
#include <ctime>

#include <fmt/core.h>

#include "common/file.hpp"
#include "common/json.hpp"
#include "common/log.hpp"
#include "common/revision.hpp"
#include "common/slurm/closing.hpp"
#include "common/slurm/hostlist.hpp"
#include "common/text.hpp"
#include "rebootprog/barrier/barrier_journal.hpp"
#include "rebootprog/barrier/barrier_lock.hpp"
#include "rebootprog/barrier/barrier_picture.hpp"
#include "rebootprog/barrier/barrier_run.hpp"
#include "rebootprog/report_error.hpp"
#include "rebootprog/rollout/advance.hpp"
#include "rebootprog/rollout/plan_make.hpp"

namespace cohort {
namespace {

constexpr int lock_patience = 60;

std::string command_json(const std::string& command) {
    const auto words = text::words(command);
    if (words.empty()) return {};
    Json list = json::array();
    for (const auto& word : words) json_array_append_new(list.get(), json_string(word.c_str()));
    return json::dump(list.get());
}

Result<std::chrono::seconds> duration_of(const std::string& option, const std::string& value,
                                         std::chrono::seconds otherwise) {
    if (value.empty()) return otherwise;
    const auto time = text::to_duration(value);
    if (!time)
        return fail(Errc::invalid,
                    fmt::format("{} {}: expects a time, such as 30min", option, value));
    return std::chrono::duration_cast<std::chrono::seconds>(*time);
}

class Verb {
  public:
    Verb(const Site& site, Journal& journal, const BarrierOptions& options, std::string who)
        : site_(site), journal_(journal), options_(options), who_(std::move(who)) {}

    int run() {
        if (auto bad = check_options(); !bad) return report(bad.error());
        auto limits = limits_of();
        if (!limits) return report(limits.error());
        auto seen = look_at_cohort(site_, journal_, options_.cohort);
        if (!seen) return report(seen.error());
        picture_ = std::move(*seen);
        if (options_.check_only) return check_only();
        if (options_.undo) return undo(*limits);
        if (auto free = nobody_else(picture_, journal_); !free) return report(free.error());
        const Sameness same = sameness();
        switch (decide_start(same, picture_.openness())) {
            case BarrierStart::nothing:
                std::printf("nothing to do: cohort %s is open on %s\n", options_.cohort.c_str(),
                            picture_.members.front().record.revision.c_str());
                return exit_code::ok;
            case BarrierStart::refuse:
                log::error("it cannot be told what cohort {} runs, so nothing is begun{}",
                           options_.cohort, why_unknown_.empty() ? "" : ": " + why_unknown_);
                return exit_code::unreachable;
            case BarrierStart::recover:
                if (picture_.unfinished) return go_on(*picture_.unfinished, *limits);
                break;
            case BarrierStart::begin:
                break;
        }
        auto barrier = begin();
        if (!barrier) return report(barrier.error());
        return go_on(*barrier, *limits);
    }

  private:
    Status check_options() const {
        if (options_.cohort.empty())
            return fail(Errc::invalid,
                        "name the cohort: --cohort NAME (a Cohort= line, or a "
                        "partition)");
        if (!options_.revision.empty() && !is_revision_name(options_.revision))
            return fail(Errc::invalid, fmt::format("--revision {}: expects rev_ and 16 hex digits, "
                                                   "as 'cohort-node revision' prints it",
                                                   options_.revision));
        if (!options_.command.empty() && options_.revision.empty())
            return fail(Errc::invalid,
                        "--command needs --revision: nobody else says what it makes of the nodes");
        if (!options_.command.empty() && !options_.image.empty())
            return fail(Errc::invalid, "either --command or --to: an image is for the cloud");
        return {};
    }

    Result<BarrierLimits> limits_of() const {
        BarrierLimits limits;
        const auto jobs = duration_of("--wait", options_.wait, limits.jobs);
        if (!jobs) return tl::unexpected(jobs.error());
        const auto machines = duration_of("--time", options_.time, limits.machines);
        if (!machines) return tl::unexpected(machines.error());
        return BarrierLimits{*jobs, *machines};
    }

    bool same_target(const Barrier& barrier) const {
        const bool image = options_.image.empty() || options_.image == barrier.image;
        const bool revision = options_.revision.empty() || options_.revision == barrier.revision;
        const bool command =
            options_.command.empty() || command_json(options_.command) == barrier.command;
        return image && revision && command;
    }

    Sameness sameness() {
        if (picture_.unfinished)
            return same_target(*picture_.unfinished) ? Sameness::same : Sameness::changed;
        const auto label = picture_.common_label();
        const bool wanted = label && (options_.revision.empty() || options_.revision == *label);
        if (!options_.command.empty()) return wanted ? Sameness::same : Sameness::changed;
        Choice choice;
        choice.nodes = slurm::compress_hosts(picture_.member_names());
        choice.image = options_.image;
        const auto plan = make_plan(site_, journal_, choice);
        if (!plan) {
            why_unknown_ = plan.error().message;
            return Sameness::unknown;
        }
        const bool nothing = std::ranges::all_of(plan->nodes, [](const NodePlan& node) {
            return node.verdict == NodePlan::Verdict::skip;
        });
        return wanted && nothing ? Sameness::same : Sameness::changed;
    }

    int check_only() const {
        auto names = picture_.member_names();
        names.insert(names.end(), picture_.others.begin(), picture_.others.end());
        const auto jobs = jobs_on_nodes(names);
        if (!jobs) return report(jobs.error());
        if (jobs->empty()) {
            std::printf("no job is on the nodes of cohort %s\n", options_.cohort.c_str());
            return exit_code::ok;
        }
        log::error("cohort {} cannot be replaced now: {}", options_.cohort, *jobs);
        return exit_code::refused;
    }

    int undo(const BarrierLimits& limits) {
        if (!picture_.unfinished) {
            std::printf("no barrier of cohort %s is closed\n", options_.cohort.c_str());
            return exit_code::ok;
        }
        BarrierRun run(site_, journal_, *picture_.unfinished, limits, who_);
        if (auto undone = run.give_up("undone by " + who_); !undone) return report(undone.error());
        std::printf("%s is undone: everything is as it was before\n",
                    picture_.unfinished->name().c_str());
        return exit_code::ok;
    }

    Barrier barrier_of() const {
        Barrier barrier;
        barrier.cohort = options_.cohort;
        barrier.nodes = slurm::compress_hosts(picture_.member_names());
        barrier.others = slurm::compress_hosts(picture_.others);
        barrier.image = options_.image;
        barrier.revision = options_.revision;
        barrier.command = command_json(options_.command);
        barrier.who = who_;
        barrier.reason = options_.reason;
        barrier.began = std::time(nullptr);
        std::vector<std::string> ours;
        const auto before = picture_.unfinished ? text::split(picture_.unfinished->partitions, ',')
                                                : std::vector<std::string>();
        for (const auto& name : picture_.partitions)
            if (std::ranges::find(picture_.down, name) == picture_.down.end() ||
                std::ranges::find(before, name) != before.end())
                ours.push_back(name);
        barrier.partitions = text::join(ours, ",");
        // What was begun before can only go on: the cohort may be mixed.
        if (picture_.unfinished) barrier.replaced = picture_.unfinished->replaced;
        return barrier;
    }

    // With the lock of advance: it must not assert the barrier that is taken over any more.
    Result<Barrier> begin() {
        auto lock = lock_advance(site_, lock_patience);
        if (!lock) return tl::unexpected(lock.error());
        BarrierJournal barriers(journal_);
        Barrier barrier = barrier_of();
        if (auto created = barriers.create(barrier); !created)
            return tl::unexpected(created.error());
        if (auto old = picture_.unfinished) {
            old->state = BarrierState::superseded;
            old->ended = barrier.began;
            old->why = "taken over by " + barrier.name();
            if (auto saved = barriers.save(*old); !saved) return tl::unexpected(saved.error());
            if (auto closed = assert_closed(site_, journal_, barrier, who_); !closed)
                return tl::unexpected(closed.error());
            if (auto ended = slurm::unreserve(old->reservation()); !ended)
                log::warning("{}", ended.error().message);
        }
        announce(barrier);
        return barrier;
    }

    void announce(const Barrier& barrier) {
        std::printf("%s closes cohort %s: %s\n", barrier.name().c_str(), barrier.cohort.c_str(),
                    barrier.nodes.c_str());
        std::fflush(stdout);
        for (const auto& name : picture_.shared)
            log::info("partition {} has other nodes too: it stays as it is", name);
        for (const auto& name : picture_.down)
            log::info("partition {} was not UP before: it stays as it is", name);
        if (!barrier.others.empty())
            log::warning("{} is drained by an administrator: left out, and stays drained",
                         barrier.others);
        const std::string text =
            fmt::format("{} closes cohort {}: {}{}{}", barrier.name(), barrier.cohort,
                        barrier.nodes, barrier.reason.empty() ? "" : ": ", barrier.reason);
        if (auto kept = journal_.note("", who_, text); !kept)
            log::warning("{}", kept.error().message);
    }

    int go_on(const Barrier& barrier, const BarrierLimits& limits) {
        return BarrierRun(site_, journal_, barrier, limits, who_).run();
    }

    const Site& site_;
    Journal& journal_;
    const BarrierOptions& options_;
    std::string who_;
    CohortPicture picture_;
    std::string why_unknown_;
};

}  // namespace

int barrier(const Site& site, const BarrierOptions& options, const std::string& who) {
    auto lock = try_lock_file(site.state_dir + "/barrier.lock");
    if (!lock && lock.error().code == Errc::busy) {
        log::info("another barrier is at work: see 'scohort status'");
        return exit_code::try_again;
    }
    if (!lock) return report(lock.error());
    auto journal = Journal::open(site.state_dir);
    if (!journal) return report(journal.error());
    return Verb(site, *journal, options, who).run();
}

}  // namespace cohort
