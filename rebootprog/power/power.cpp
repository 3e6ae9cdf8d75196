// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/power/power.hpp"

#include <algorithm>
#include <thread>

#include <fmt/core.h>
#include <unistd.h>

#include "common/log.hpp"
#include "common/text.hpp"
#include "rebootprog/power/power_runner.hpp"
#include "rebootprog/reboot/wanted.hpp"

namespace cohort {
namespace {

using Clock = AttemptContext::Clock;

std::string ids_of(const std::vector<ServerState>& servers) {
    std::vector<std::string> ids;
    for (const auto& one : servers) ids.push_back(one.id);
    return text::join(ids, ", ");
}

Attempt attempt_for(const std::string& node) {
    Attempt attempt;
    attempt.node = node;
    attempt.began = epoch_now();
    attempt.pid = ::getpid();
    return attempt;
}

}  // namespace

void PowerRunner::begin(const char* action) {
    attempt_.action = action;
    if (attempt_.id != 0) return;
    auto id = c_.journal.begin(attempt_);
    if (id)
        attempt_.id = *id;
    else
        log::error("{}: the journal does not take the attempt: {}", attempt_.node,
                   id.error().message);
}

// Empty where no file, or none that can be read, names one.
std::string PowerRunner::named_instance() const {
    const auto desired = read_desired(c_.settings, attempt_.node);
    return desired ? desired->instance_id : std::string();
}

Result<Machines> PowerRunner::machines_once() const {
    auto named = c_.backend.named(attempt_.node);
    if (!named) return tl::unexpected(named.error());
    const std::string instance = named_instance();
    Machines found;
    for (auto& one : *named) {
        if (is_gone(one)) continue;
        if (one.owner == attempt_.node || one.id == instance)
            found.ours.push_back(std::move(one));
        else
            found.foreign.push_back(one.id);
    }
    const bool listed =
        std::ranges::find(found.ours, instance, &ServerState::id) != found.ours.end();
    if (instance.empty() || listed) return found;
    auto server = c_.backend.server({attempt_.node, instance, ""});
    if (server && !is_gone(*server)) found.ours.push_back(std::move(*server));
    if (!server && server.error().code != Errc::not_found) return tl::unexpected(server.error());
    return found;
}

Result<Machines> PowerRunner::machines() {
    while (true) {
        auto found = machines_once();
        if (found && c_.cloud_answered) c_.cloud_answered();
        if (found || found.error().code != Errc::unreachable) return found;
        if (c_.cloud_failed) c_.cloud_failed(found.error().message);
        if (!wait_before_retry()) return found;
    }
}

Outcome PowerRunner::resume() {
    auto found = machines();
    if (found) found = after_doubt(std::move(*found));
    if (!found) {
        begin("create");
        return give_up(found.error());
    }
    if (found->ours.size() == 1 && found->ours.front().status != "BUILD") {
        log::info("{}: its machine {} is there already", attempt_.node, found->ours.front().id);
        AttemptContext context = c_;
        context.server = found->ours.front().id;
        return run_attempt(context, attempt_.node);
    }
    begin("create");
    if (found->ours.size() > 1)
        return node_fault(fmt::format("{} machines of this name are ours: {}. Remove all but one",
                                      found->ours.size(), ids_of(found->ours)));
    if (found->ours.empty() && !found->foreign.empty())
        return node_fault(
            fmt::format("machine {} has the node's name and was not made by slurm-cohort: rename "
                        "it, or name it "
                        "as instance_id in the node's desired file",
                        found->foreign.front()));
    if (!found->ours.empty()) attempt_.server = found->ours.front().id;
    return make();
}

// The last request for this node may still come true.
Result<Machines> PowerRunner::after_doubt(Machines found) {
    const auto last = c_.journal.latest_attempt(attempt_.node);
    if (!last) return tl::unexpected(last.error());
    if (!*last || (*last)->action != "create" || (*last)->phase != Phase::posting) return found;
    const bool open = (*last)->outcome == Outcome::unsure || (*last)->outcome == Outcome::open;
    while (open && found.ours.empty() && epoch_now() < (*last)->posted + create_settles) {
        if (Clock::now() >= c_.deadline)
            return fail(Errc::busy, "the request before this one may still make a machine");
        std::this_thread::sleep_for(c_.poll);
        auto again = machines();
        if (!again) return again;
        found = std::move(*again);
    }
    if (open) {
        Attempt ended = **last;
        ended.phase = Phase::ended;
        ended.outcome = found.ours.empty() ? Outcome::untouched : Outcome::ok;
        ended.ended = epoch_now();
        if (auto saved = c_.journal.update(ended); !saved) return tl::unexpected(saved.error());
    }
    return found;
}

Result<AttemptPlan> PowerRunner::image_to_make() {
    while (true) {
        auto wanted = wanted_of(c_.journal, c_.settings, attempt_.node);
        if (!wanted) return tl::unexpected(wanted.error());
        auto image = c_.backend.image(wanted->desired.image_id);
        if (image && image->usable) {
            AttemptPlan plan;
            plan.image = std::move(*image);
            plan.action = "create";
            return plan;
        }
        const std::string why = image ? image->why_not : image.error().message;
        if (c_.cloud_failed) c_.cloud_failed(why);
        if (!wait_before_retry()) return fail(Errc::unreachable, why);
    }
}

Outcome PowerRunner::make() {
    auto plan = image_to_make();
    if (!plan) return give_up(plan.error());
    attempt_.image_to = plan->image.id;
    auto keys = read_server_keys(c_.settings, attempt_.node);
    if (!keys) return node_fault(keys.error().message);
    if (auto told = announce(*plan); !told)
        return node_fault("Slurm refused to take its note: " + told.error().message);
    if (!attempt_.server.empty()) return follow_machine();
    if (auto taken = take_slot(); !taken) return give_up(taken.error());
    return order(*plan, {attempt_.node, plan->image.id, std::move(*keys),
                         fmt::format("{}-{}", attempt_.node, attempt_.posted)});
}

Outcome PowerRunner::order(const AttemptPlan& plan, const MachineOrder& order) {
    note_slot();
    while (true) {
        auto made = c_.backend.create(order);
        if (made) {
            attempt_.server = made->server;
            note_request(made->request);
            log::info("{}: machine {} of image {} is being made", attempt_.node, made->server,
                      plan.image.name);
            return follow_machine();
        }
        if (made.error().code == Errc::unsure) return look_for_it(order, made.error().message);
        if (made.error().code != Errc::unreachable) return node_fault(made.error().message);
        if (c_.cloud_failed) c_.cloud_failed(made.error().message);
        if (!wait_before_retry()) return give_up(made.error());
    }
}

// The POST broke off: only its mark on a machine tells whether it was taken.
Outcome PowerRunner::look_for_it(const MachineOrder& order, const std::string& why) {
    log::warning("{}: {}: looking whether the cloud took the request", attempt_.node, why);
    attempt_.reason = why;
    while (Clock::now() < c_.deadline) {
        auto found = machines_once();
        const auto is_it = [&](const ServerState& one) { return one.mark == order.mark; };
        if (found)
            if (const auto it = std::ranges::find_if(found->ours, is_it); it != found->ours.end()) {
                attempt_.server = it->id;
                note_request("");
                return follow_machine();
            }
        std::this_thread::sleep_for(c_.poll);
    }
    // Left as it is: Slurm gives the node up at ResumeTimeout and calls ResumeFailProgram.
    attempt_.outcome = Outcome::unsure;
    save();
    return Outcome::unsure;
}

Outcome PowerRunner::follow_machine() {
    while (true) {
        const auto now = c_.backend.server({attempt_.node, attempt_.server, ""});
        if (now && now->status == "ACTIVE" && now->task_state.empty()) {
            slot_.reset();
            return succeeded();
        }
        if (now && now->status == "ERROR") {
            const std::string why =
                fmt::format("its machine could not be made: {}",
                            now->fault.empty() ? "no reason given" : now->fault);
            if (auto gone = remove_all({*now}); !gone)
                log::warning("{}: {}", attempt_.node, gone.error().message);
            return node_fault(why);
        }
        if (!now && now.error().code == Errc::not_found)
            return node_fault("its machine went away while it was being made");
        if (Clock::now() >= c_.deadline) {
            attempt_.reason = "its machine is not ready in Slurm's time";
            log::warning("{}: {}", attempt_.node, attempt_.reason);
            attempt_.outcome = Outcome::unsure;
            save();
            return Outcome::unsure;
        }
        std::this_thread::sleep_for(c_.poll);
    }
}

Outcome resume_node(const AttemptContext& context, const std::string& node) {
    return PowerRunner(context, attempt_for(node)).resume();
}

Outcome suspend_node(const AttemptContext& context, const std::string& node) {
    return PowerRunner(context, attempt_for(node)).suspend();
}

Outcome resume_failed(const AttemptContext& context, const std::string& node) {
    return PowerRunner(context, attempt_for(node)).resume_failed();
}

Outcome adopt_power_attempt(const AttemptContext& context, Attempt attempt) {
    attempt.pid = ::getpid();
    return PowerRunner(context, std::move(attempt)).adopt_power();
}

}  // namespace cohort
