// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/barrier/barrier_run.hpp"

#include <algorithm>
#include <ctime>
#include <map>
#include <set>
#include <thread>

#include <fmt/core.h>

#include "common/json.hpp"
#include "common/log.hpp"
#include "common/slurm/closing.hpp"
#include "common/slurm/hostlist.hpp"
#include "common/slurm/load.hpp"
#include "common/slurm/node_writer.hpp"
#include "common/text.hpp"
#include "rebootprog/barrier/barrier_journal.hpp"
#include "rebootprog/barrier/barrier_lock.hpp"
#include "rebootprog/reconcile/reconcile_decide.hpp"
#include "rebootprog/rollout/advance.hpp"
#include "rebootprog/rollout/rollout_journal.hpp"
#include "rebootprog/site/run_command.hpp"

namespace cohort {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

constexpr auto poll = std::chrono::milliseconds(1000);
constexpr int lock_patience = 60;
constexpr std::size_t most_named = 5;

std::vector<std::string> words_of(const std::string& command) {
    std::vector<std::string> words;
    const auto list = json::parse(command, "command");
    if (!list) return words;
    for (std::size_t i = 0; i < json_array_size(list->get()); ++i)
        words.emplace_back(json_string_value(json_array_get(list->get(), i)));
    return words;
}

// The jobs that are on NODES, as a sentence; empty: none.
Result<std::string> jobs_on(const std::set<std::string>& nodes) {
    const auto jobs = slurm::load_jobs();
    if (!jobs) return tl::unexpected(jobs.error());
    std::vector<std::string> ids;
    for (const auto& job : *jobs) {
        if (!job.running && !job.completing) continue;
        const auto names = slurm::expand_hosts(job.nodes);
        if (names && std::ranges::any_of(*names, [&](auto& name) { return nodes.contains(name); }))
            ids.push_back(job.id_text);
    }
    if (ids.empty()) return std::string();
    const std::size_t count = ids.size();
    if (count > most_named) ids.resize(most_named);
    return fmt::format("{} jobs are on its nodes: {}{}", count, text::join(ids, ", "),
                       count > most_named ? " ..." : "");
}

}  // namespace

Result<std::string> jobs_on_nodes(const std::vector<std::string>& nodes) {
    return jobs_on({nodes.begin(), nodes.end()});
}

void BarrierRun::tell(const std::string& text, const std::string& node) {
    log::info("{}: {}{}{}", barrier_.name(), node, node.empty() ? "" : " ", text);
    if (auto kept = RolloutJournal(journal_).note(barrier_.rollout, node, who_,
                                                  barrier_.name() + ": " + text);
        !kept)
        log::warning("{}", kept.error().message);
}

Status BarrierRun::save() {
    return BarrierJournal(journal_).save(barrier_);
}

Status BarrierRun::go_to(BarrierStep step) {
    auto lock = lock_advance(site_, lock_patience);
    if (!lock) return tl::unexpected(lock.error());
    barrier_.step = step;
    barrier_.why.clear();
    if (auto saved = save(); !saved) return saved;
    tell(fmt::format("step {}", name_of(step)));
    return {};
}

Status BarrierRun::until(seconds limit, const std::function<Result<std::string>()>& look) {
    const auto end = Clock::now() + limit;
    std::string said;
    while (true) {
        Result<std::string> waits = look();
        if (!waits && waits.error().code != Errc::unreachable) return tl::unexpected(waits.error());
        const std::string words = waits ? *waits : waits.error().message;
        if (waits && words.empty()) return {};
        if (words != said) log::info("{}: {}", barrier_.name(), words);
        said = words;
        if (limit.count() != 0 && Clock::now() >= end)
            return fail(Errc::busy, fmt::format("not within {}: {}", text::duration(limit), words));
        std::this_thread::sleep_for(poll);
        if (auto closed = assert_closed(site_, journal_, barrier_, who_); !closed)
            log::warning("{}: {}", barrier_.name(), closed.error().message);
    }
}

int BarrierRun::run() {
    // What was replaced and is not right is looked at, and replaced, again.
    if (!barrier_.why.empty() &&
        (barrier_.step == BarrierStep::enroll || barrier_.step == BarrierStep::prove))
        if (auto back = go_to(BarrierStep::replace); !back) log::error("{}", back.error().message);
    if (barrier_.step != BarrierStep::close)
        log::info("{} goes on at step {}", barrier_.name(), name_of(barrier_.step));
    while (barrier_.state == BarrierState::closed) {
        auto done = perform();
        if (done) continue;
        if (barrier_.step <= BarrierStep::wait && limits_.jobs.count() != 0 &&
            done.error().code == Errc::busy) {
            const std::string why = done.error().message;
            if (auto undone = give_up(why); undone) {
                log::error("{}: given up, everything is as it was before: {}", barrier_.name(),
                           why);
                return exit_code::try_again;
            }
        }
        barrier_.why = done.error().message;
        if (auto saved = save(); !saved) log::error("{}", saved.error().message);
        tell(fmt::format("stopped at step {}: {}", name_of(barrier_.step), barrier_.why));
        log::error("cohort {} stays closed; mend it and type 'scohort barrier --cohort {}' again",
                   barrier_.cohort, barrier_.cohort);
        return done.error().code == Errc::unreachable ? exit_code::unreachable
                                                      : exit_code::some_failed;
    }
    std::printf("cohort %s is open on %s: %s\n", barrier_.cohort.c_str(), barrier_.revision.c_str(),
                barrier_.nodes.c_str());
    return exit_code::ok;
}

Status BarrierRun::perform() {
    switch (barrier_.step) {
        case BarrierStep::close:
            return close();
        case BarrierStep::wait:
            return wait_for_jobs();
        case BarrierStep::replace:
            return replace();
        case BarrierStep::enroll:
            return enroll();
        case BarrierStep::prove:
            return prove();
        case BarrierStep::resume:
            return resume();
        case BarrierStep::test:
            return test();
        case BarrierStep::open:
            return open();
    }
    return fail(Errc::invalid, "the journal has a step that this version does not know");
}

Status BarrierRun::close() {
    if (auto closed = assert_closed(site_, journal_, barrier_, who_); !closed) return closed;
    return go_to(BarrierStep::wait);
}

Status BarrierRun::give_up(const std::string& why) {
    if (barrier_.step > BarrierStep::wait || barrier_.replaced != 0)
        return fail(Errc::denied, "nodes were replaced already: it can only go on");
    auto lock = lock_advance(site_, lock_patience);
    if (!lock) return tl::unexpected(lock.error());
    barrier_.state = BarrierState::given_up;
    barrier_.why = why;
    barrier_.ended = std::time(nullptr);
    if (auto saved = save(); !saved) return saved;
    tell("given up: " + why);
    if (auto kept = lift_holds(barrier_); !kept) return tl::unexpected(kept.error());
    return set_partitions(barrier_, true);
}

Status BarrierRun::wait_for_jobs() {
    const auto names = members_of(barrier_);
    const std::set<std::string> nodes(names.begin(), names.end());
    auto done = until(limits_.jobs, [&]() -> Result<std::string> {
        auto jobs = jobs_on(nodes);
        if (!jobs || !jobs->empty()) return jobs;
        const auto members = load_members(barrier_);
        if (!members) return tl::unexpected(members.error());
        for (const auto& node : *members)
            if (node.state.busy()) return node.name + " is " + node.state.text();
        return std::string();
    });
    if (!done) return done;
    return go_to(BarrierStep::replace);
}

// Every member of the recorded set is there, up and, after a command, not the one of before.
Status BarrierRun::enroll() {
    const auto names = members_of(barrier_);
    auto done = until(limits_.machines, [&]() -> Result<std::string> {
        const auto members = load_members(barrier_);
        if (!members) return tl::unexpected(members.error());
        std::map<std::string, const Node*> known;
        for (const auto& node : *members) known[node.name] = &node;
        std::vector<std::string> missing;
        for (const auto& name : names) {
            const auto at = known.find(name);
            const Node* node = at == known.end() ? nullptr : at->second;
            if (node && is_stale_registration(*node)) {
                if (auto gone = slurm::delete_node(name); !gone)
                    return tl::unexpected(gone.error());
                tell("its record is deleted, to be registered anew: " + node->reason, name);
            }
            const bool fresh =
                node && (barrier_.command.empty() ||
                         std::max(node->boot_time, node->slurmd_start_time) >= barrier_.replaced);
            if (!fresh || node->state.not_responding || node->state.rebooting() ||
                node->state.invalid_registration)
                missing.push_back(name);
        }
        if (missing.empty()) return std::string();
        return fmt::format("{} of {} nodes have not registered: {}", missing.size(), names.size(),
                           slurm::compress_hosts(missing));
    });
    if (!done) return done;
    return go_to(BarrierStep::prove);
}

Status BarrierRun::prove() {
    if (auto labels = prove_labels(); !labels) return labels;
    if (auto steps = prove_steps(); !steps) return steps;
    tell("every node runs " + barrier_.revision);
    return go_to(BarrierStep::resume);
}

// Without a revision that was asked for, the one that all have is the one, when the cloud and each
// node's own proof say that its image was put there.
Status BarrierRun::prove_labels() {
    return until(site_.settings().verify_wait, [&]() -> Result<std::string> {
        const auto members = load_members(barrier_);
        if (!members) return tl::unexpected(members.error());
        std::map<std::string, std::vector<std::string>> by_label;
        for (const auto& node : *members) {
            const auto& want = node.record.want;
            if (want && want->has_failed())
                return fail(Errc::failed, fmt::format("{}: {}", node.name, want->result));
            by_label[node.record.revision].push_back(node.name);
        }
        const std::string wanted = barrier_.revision.empty() && by_label.size() == 1
                                       ? by_label.begin()->first
                                       : barrier_.revision;
        if (by_label.size() == 1 && !wanted.empty() && by_label.begin()->first == wanted) {
            barrier_.revision = wanted;
            if (auto saved = save(); !saved) return tl::unexpected(saved.error());
            return std::string();
        }
        std::vector<std::string> found;
        for (const auto& [label, nodes] : by_label)
            if (wanted.empty() || label != wanted)
                found.push_back(slurm::compress_hosts(nodes) +
                                (label.empty() ? " has published nothing" : " runs " + label));
        return fmt::format("not on {}: {}", wanted.empty() ? "one revision" : wanted,
                           text::join(found, "; "));
    });
}

Status BarrierRun::prove_steps() {
    const auto members = load_members(barrier_);
    if (!members) return tl::unexpected(members.error());
    const auto wrong = differing_steps(site_, *members, barrier_.revision);
    if (!wrong.empty())
        return fail(Errc::failed,
                    fmt::format("a step on each node was to say {}: {}", barrier_.revision, wrong));
    return {};
}

// The reservation first: then no user's job can begin on what is resumed.
Status BarrierRun::resume() {
    if (auto closed = assert_closed(site_, journal_, barrier_, who_); !closed) return closed;
    const auto kept = lift_holds(barrier_);
    if (!kept) return tl::unexpected(kept.error());
    if (!kept->empty())
        tell("stays drained, an administrator has drained it: " + slurm::compress_hosts(*kept));
    auto done = until(site_.settings().verify_wait, [&]() -> Result<std::string> {
        const auto members = load_members(barrier_);
        if (!members) return tl::unexpected(members.error());
        std::vector<std::string> missing;
        for (const auto& node : *members) {
            const bool foreign = (node.state.drain || node.state.fail) && !node.has_our_reason();
            if (!foreign && !(node.state.base == NodeState::Base::idle && !node.state.drain &&
                              !node.state.fail && !node.state.not_responding))
                missing.push_back(node.name + " is " + node.state.text());
        }
        return text::join(missing, ", ");
    });
    if (!done) return done;
    return go_to(BarrierStep::test);
}

Status BarrierRun::open() {
    {
        auto lock = lock_advance(site_, lock_patience);
        if (!lock) return tl::unexpected(lock.error());
        if (auto up = set_partitions(barrier_, true); !up) return up;
        if (auto ended = slurm::unreserve(barrier_.reservation()); !ended) return ended;
        barrier_.state = BarrierState::opened;
        barrier_.why.clear();
        barrier_.ended = std::time(nullptr);
        if (auto saved = save(); !saved) return saved;
    }
    tell("open on " + barrier_.revision);
    return {};
}

Status BarrierRun::replace() {
    if (barrier_.replaced == 0) barrier_.replaced = std::time(nullptr);
    if (auto saved = save(); !saved) return saved;
    auto done = barrier_.command.empty() ? run_rollout() : run_command_once();
    if (!done) return done;
    return go_to(BarrierStep::enroll);
}

Status BarrierRun::run_command_once() {
    Command command;
    command.words = words_of(barrier_.command);
    command.environment = {{"COHORT_BARRIER", std::to_string(barrier_.id)},
                           {"COHORT_NAME", barrier_.cohort},
                           {"COHORT_NODES", barrier_.nodes},
                           {"COHORT_REVISION", barrier_.revision}};
    command.limit = limits_.machines;
    tell("runs " + text::join(command.words, " "));
    const auto ran = run_command(command);
    if (!ran) return tl::unexpected(Error{Errc::failed, ran.error().message});
    if (ran->status != 0)
        return fail(Errc::failed, fmt::format("{}: {}", command.words[0], ran->complaint()));
    return {};
}

}  // namespace cohort
