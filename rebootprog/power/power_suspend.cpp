// SPDX-License-Identifier: GPL-2.0-or-later
#include <thread>

#include <fmt/core.h>

#include "common/log.hpp"
#include "rebootprog/power/power_promise.hpp"
#include "rebootprog/power/power_runner.hpp"

namespace cohort {
namespace {

using Clock = AttemptContext::Clock;

}  // namespace

Status PowerRunner::wait_until_gone(const std::string& server) {
    while (true) {
        const auto now = c_.backend.server({attempt_.node, server, ""});
        if (now && is_gone(*now)) return {};
        if (!now && now.error().code == Errc::not_found) return {};
        if (now && now->status == "ERROR" && now->task_state.empty())
            return fail(Errc::failed,
                        fmt::format("machine {} could not be removed: {}", server, now->fault));
        if (Clock::now() >= c_.deadline)
            return fail(Errc::busy, fmt::format("machine {} is not gone yet", server));
        std::this_thread::sleep_for(c_.poll);
    }
}

Status PowerRunner::remove_all(const std::vector<ServerState>& machines) {
    for (const auto& one : machines) {
        while (true) {
            auto removed = c_.backend.remove(one.id);
            if (removed || removed.error().code == Errc::not_found) break;
            if (removed.error().code != Errc::unreachable) return tl::unexpected(removed.error());
            if (c_.cloud_failed) c_.cloud_failed(removed.error().message);
            if (!wait_before_retry()) return tl::unexpected(removed.error());
        }
        log::info("{}: machine {} is being removed", attempt_.node, one.id);
        if (auto gone = wait_until_gone(one.id); !gone) return gone;
    }
    return {};
}

void PowerRunner::promise_label() {
    const auto label =
        promised_label(c_.journal, c_.settings, attempt_.node,
                       [this](const std::string& id) { return c_.backend.image(id); });
    auto written = c_.desk.edit(attempt_.node, [&](NodeRecord& record) {
        const bool labelled = !record.revision.empty() || record.want;
        record.want.reset();
        record.root.clear();
        record.revision.clear();
        if (labelled && label) record.revision = *label;
    });
    if (!written) log::error("{}: {}", attempt_.node, written.error().message);
}

Outcome PowerRunner::suspend() {
    auto found = machines();
    if (found && found->ours.empty()) {
        if (!found->foreign.empty())
            log::warning("{}: machine {} has its name and was not made by slurm-cohort: left alone",
                         attempt_.node, found->foreign.front());
        promise_label();
        return Outcome::ok;
    }
    begin("delete");
    if (!found) return finish(Outcome::failed, found.error().message);
    attempt_.server = found->ours.front().id;
    attempt_.image_from = found->ours.front().image;
    attempt_.posted = epoch_now();
    attempt_.phase = Phase::following;
    save();
    promise_label();
    if (auto gone = remove_all(found->ours); !gone) {
        log::error("{}: {}", attempt_.node, gone.error().message);
        return finish(Outcome::failed, gone.error().message);
    }
    log::info("{}: its machine is gone", attempt_.node);
    return finish(Outcome::ok, "");
}

Outcome PowerRunner::resume_failed() {
    const auto last = c_.journal.latest_attempt(attempt_.node);
    if (last && *last && !is_power_action((*last)->action) && (*last)->phase != Phase::ended)
        attempt_ = **last;  // a machine that was there, rebooted in vain
    if (last && *last && (*last)->action == "create") attempt_ = **last;
    begin(attempt_.action.empty() ? "create" : attempt_.action.c_str());
    std::string why = attempt_.reason.empty() ? "the node did not register" : attempt_.reason;
    auto found = machines();
    if (found && !found->ours.empty()) {
        const auto& one = found->ours.front();
        why += fmt::format(" (machine {} was {}{}{})", one.id, one.status,
                           one.fault.empty() ? "" : ": ", one.fault);
        if (auto gone = remove_all(found->ours); !gone) why += "; " + gone.error().message;
    }
    if (!found) why += "; " + found.error().message;
    return node_fault("not up within ResumeTimeout: " + why);
}

Outcome PowerRunner::adopt_power() {
    if (attempt_.phase == Phase::begun) return finish(Outcome::untouched, "its process died");
    const auto found = machines_once();
    if (!found) return Outcome::open;
    if (attempt_.action == "delete") {
        if (found->ours.empty()) return finish(Outcome::ok, "");
        const auto node = c_.desk.node(attempt_.node);
        if (!node) return Outcome::open;
        if (!node->state.power_saving)
            return finish(Outcome::failed, "the node was woken before its machine was gone");
        for (const auto& one : found->ours) (void)c_.backend.remove(one.id);
        return Outcome::open;
    }
    if (found->ours.empty())
        return epoch_now() < attempt_.posted + create_settles
                   ? Outcome::open
                   : finish(Outcome::untouched, "the cloud never took the request");
    const auto& one = found->ours.front();
    attempt_.server = one.id;
    if (one.status == "ACTIVE" && one.task_state.empty()) return succeeded();
    // Slurm calls ResumeFailProgram, or the next resume finds it.
    return Outcome::open;
}

}  // namespace cohort
