// SPDX-License-Identifier: GPL-2.0-or-later
#include <thread>

#include <fmt/core.h>

#include "common/log.hpp"
#include "rebootprog/reboot/attempt_runner.hpp"
#include "rebootprog/rollout/rollout_row.hpp"

namespace cohort {
namespace {

using Clock = AttemptContext::Clock;

std::string untouched_because(const std::string& why) {
    return fmt::format("cloud out of reach, node untouched ({})", why);
}

}  // namespace

Outcome AttemptRunner::adopt() {
    if (attempt_.phase == Phase::begun) {
        // Nothing had been sent. The node's label may be withdrawn already: it is given back.
        restore_label();
        return untouched("the process that worked on it died before it asked the cloud");
    }
    if (attempt_.request.empty()) {
        auto newest = c_.backend.newest_action(attempt_.server, attempt_.action, attempt_.posted);
        if (!newest) return Outcome::open;
        if (!*newest && epoch_now() < attempt_.posted + settle_seconds) return Outcome::open;
        if (!*newest) {
            restore_label();
            return untouched("the cloud never took the request");
        }
        note_request((*newest)->request);
    }
    auto action = c_.backend.action(attempt_.server, attempt_.request);
    if (!action || !action->finished) return Outcome::open;
    return ended(*action);
}

void AttemptRunner::note_request(const std::string& request) {
    attempt_.request = request;
    attempt_.phase = Phase::following;
    note_slot();
    save();
    set_want([&](Want& want) { want.request = request; });
}

Outcome AttemptRunner::follow(const std::string& request) {
    note_request(request);
    const auto soft_until = Clock::now() + c_.settings.soft_reboot_time;
    bool may_harden = attempt_.action == "reboot";
    while (true) {
        const auto until = may_harden ? std::min(c_.deadline, soft_until) : c_.deadline;
        auto action = c_.follower ? c_.follower({attempt_.server, request, attempt_.action}, until)
                                  : c_.backend.action(attempt_.server, request);
        if (action && action->finished) return ended(*action);
        if (!action && action.error().code != Errc::unreachable &&
            action.error().code != Errc::not_found)
            return action_failed(action.error().message);
        if (Clock::now() >= c_.deadline) return unsure("it has not ended in Slurm's time");
        if (may_harden && Clock::now() >= soft_until) {
            may_harden = false;
            if (auto hard = c_.backend.send(Request::hard_reboot, attempt_.server, ""))
                return follow_hard(*hard);
        }
        if (!c_.follower) std::this_thread::sleep_for(c_.poll);
    }
}

Outcome AttemptRunner::follow_hard(const std::string& request) {
    log::warning("{}: the soft reboot did not end after {} s, hard reboot", attempt_.node,
                 c_.settings.soft_reboot_time.count());
    attempt_.action = "hard reboot";
    return follow(request);
}

Outcome AttemptRunner::follow_newest(std::int64_t since) {
    while (true) {
        auto action = c_.backend.newest_action(attempt_.server, attempt_.action, since);
        if (action && *action) return follow((*action)->request);
        if (Clock::now() >= c_.deadline)
            return unsure(action ? "the cloud shows no action for it" : action.error().message);
        std::this_thread::sleep_for(c_.poll);
    }
}

// The POST broke off. nova records an action before it answers, so after a while the list says
// whether it was taken; until then nothing is sent again.
Outcome AttemptRunner::follow_unsure(const std::string& why) {
    log::warning("{}: {}: looking whether the cloud took the request", attempt_.node, why);
    attempt_.reason = why;
    const auto patience = std::min(c_.deadline, Clock::now() + std::chrono::seconds(30));
    while (Clock::now() < patience) {
        auto action = c_.backend.newest_action(attempt_.server, attempt_.action, attempt_.posted);
        if (action && *action) return follow((*action)->request);
        std::this_thread::sleep_for(c_.poll);
    }
    return unsure(why);
}

Outcome AttemptRunner::start_if_off(const ServerState& before) {
    if (before.status != "SHUTOFF") return Outcome::ok;
    auto after = c_.backend.server({attempt_.node, before.id, ""});
    if (!after || after->status != "SHUTOFF") return Outcome::ok;
    log::info("{}: the rebuilt server stays SHUTOFF: it is started", attempt_.node);
    auto started = c_.backend.send(Request::start, before.id, "");
    if (started) return Outcome::ok;
    return node_fault("the rebuilt server could not be started: " + started.error().message);
}

// The slot is for what the cloud does: others may go on while we write down how it ended.
Outcome AttemptRunner::ended(const ActionState& action) {
    slot_.reset();
    return action.succeeded ? succeeded() : action_failed(action.message);
}

Outcome AttemptRunner::succeeded() {
    set_want([](Want& want) { want.result = std::string(result_ok); });
    log::info("{}: {} {} ended well", attempt_.node, attempt_.action, attempt_.request);
    return finish(Outcome::ok, "");
}

Outcome AttemptRunner::action_failed(const std::string& message) {
    const std::string why = fmt::format("{} {} failed: {}", attempt_.action, attempt_.request,
                                        message.empty() ? "no reason given" : message);
    return node_fault(why);
}

// This node out of service; the rest goes on.
Outcome AttemptRunner::node_fault(const std::string& why) {
    slot_.reset();
    set_want([&](Want& want) { want.result = fmt::format("{}: {}", result_failed, why); });
    take_out(why);
    return finish(Outcome::failed, why);
}

Outcome AttemptRunner::unsure(const std::string& why) {
    take_out(fmt::format("{} {} {}: {}", attempt_.action, attempt_.request, unsure_words, why));
    attempt_.outcome = Outcome::unsure;
    attempt_.reason = why;
    save();
    return Outcome::unsure;
}

Outcome AttemptRunner::untouched(const std::string& why) {
    take_out(untouched_because(why));
    return finish(Outcome::untouched, why);
}

// Nothing was sent: the node is what it was.
void AttemptRunner::restore_label() {
    auto written = c_.desk.edit(attempt_.node, [&](NodeRecord& record) {
        if (!record.want || record.want->at < attempt_.began) return;
        record.want.reset();
        record.revision = attempt_.label;
    });
    if (!written) {
        log::error("{}: {}", attempt_.node, written.error().message);
        return;
    }
    // advance misses no wish of an attempt that asked for nothing: it would withdraw the label
    // again.
    attempt_.posted = 0;
}

// Only our own attempt's wish is changed: a later one has another time.
void AttemptRunner::set_want(const std::function<void(Want&)>& change) {
    if (attempt_.phase == Phase::begun) return;
    auto written = c_.desk.edit(attempt_.node, [&](NodeRecord& record) {
        if (record.want && record.want->at == attempt_.posted) change(*record.want);
    });
    if (!written)
        log::error("{}: cohort_want could not be written: {}", attempt_.node,
                   written.error().message);
}

void AttemptRunner::take_out(const std::string& why) {
    log::error("{}: {}", attempt_.node, why);
    if (auto out = c_.desk.take_out(attempt_.node, why); !out)
        log::error("{}: could not be taken out of service: {}", attempt_.node, out.error().message);
}

Outcome AttemptRunner::finish(Outcome outcome, const std::string& reason) {
    attempt_.outcome = outcome;
    attempt_.phase = Phase::ended;
    attempt_.reason = reason;
    attempt_.ended = epoch_now();
    save();
    return outcome;
}

void AttemptRunner::save() {
    if (auto saved = c_.journal.update(attempt_); !saved)
        log::error("{}: {}", attempt_.node, saved.error().message);
}

void leave_untouched(Journal& journal, NodeDesk& desk, const std::string& node,
                     const std::string& why) {
    Attempt attempt;
    attempt.node = node;
    attempt.began = attempt.ended = epoch_now();
    attempt.phase = Phase::ended;
    attempt.outcome = Outcome::untouched;
    attempt.reason = why;
    if (auto kept = journal.begin(attempt); !kept) log::error("{}: {}", node, kept.error().message);
    if (auto out = desk.take_out(node, untouched_because(why)); !out)
        log::error("{}: {}", node, out.error().message);
}

}  // namespace cohort
