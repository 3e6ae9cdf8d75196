// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/reboot/attempt.hpp"

#include <thread>

#include <fmt/core.h>
#include <unistd.h>

#include "common/log.hpp"
#include "rebootprog/reboot/attempt_runner.hpp"
#include "rebootprog/reboot/wanted.hpp"
#include "rebootprog/rollout/rollout_journal.hpp"

namespace cohort {
namespace {

using Act = Decision::Act;
using Clock = AttemptContext::Clock;

constexpr auto longest_pause = std::chrono::seconds(15);

Request request_of(const AttemptPlan& plan) {
    switch (plan.decision.act) {
        case Act::rebuild:
            return plan.server.volume_backed ? Request::rebuild_volume : Request::rebuild;
        case Act::soft_reboot:
            return Request::soft_reboot;
        default:
            return Request::hard_reboot;
    }
}

// A rebuild job that was sent by hand knows nothing of what `scohort rebuild` has found out. An
// image that cannot be looked up passes: a rollout's own images are judged where it is planned.
std::string why_quarantined(const Journal& journal, const ImageState& image) {
    const auto bad = RolloutJournal(journal).quarantined();
    if (!bad) return {};
    for (const auto& one : *bad)
        if (one.image == image.id)
            return fmt::format(
                "image {} is in quarantine: {}. 'scohort rebuild --allow-quarantined' lifts it",
                image.name.empty() ? image.id : image.name, one.reason);
    return {};
}

}  // namespace

Outcome AttemptRunner::run() {
    auto plan = look();
    while (plan) {
        if (auto early = prepare(*plan)) return *early;
        if (plan->decision.act == Act::adopt)
            return follow_newest(epoch_now() - adopt_window_seconds);
        const Outcome outcome = send_and_follow(*plan);
        // nova is busy with the server since we looked: with what, and shall we join it?
        if (outcome != Outcome::open) return outcome;
        plan = wait_before_retry() ? look() : fail(Errc::failed, attempt_.reason);
    }
    return give_up(plan.error());
}

// All that comes before the POST. PLAN is what is true when the slot is there; an outcome when the
// attempt is over.
std::optional<Outcome> AttemptRunner::prepare(AttemptPlan& plan) {
    std::optional<AttemptPlan> announced;
    while (true) {
        if (plan.decision.act == Act::refuse) {
            if (attempt_.phase != Phase::begun) restore_label();  // nothing was sent
            return node_fault(plan.decision.why);
        }
        if (!announced || !announced->same_request(plan)) {
            if (auto told = announce(plan); !told) {
                // slurmctld that does not answer for a moment is no fault of the node.
                if (told.error().code == Errc::unreachable && wait_before_retry()) continue;
                return node_fault("Slurm refused to take its note: " + told.error().message);
            }
            if (!announced && c_.open_cohort) c_.open_cohort(attempt_.node);
            announced = plan;
        }
        if (slot_) return std::nullopt;
        const auto asked = Clock::now();
        if (auto taken = take_slot(); !taken) return give_up(taken.error());
        if (Clock::now() - asked < c_.fresh) return std::nullopt;
        // Waiting for the slot took time: decide by what is true now.
        auto now = look();
        if (!now) return give_up(now.error());
        plan = std::move(*now);
    }
}

Status AttemptRunner::take_slot() {
    auto slot = acquire_slot(c_.state_dir, c_.settings.max_concurrent, attempt_.node, c_.deadline,
                             [this](const SlotUse& use) { return still_runs(use); });
    if (!slot) return tl::unexpected(slot.error());
    slot_.emplace(std::move(*slot));
    return {};
}

// Written before the POST and when its id is known: who takes the slot of a dead process needs it.
void AttemptRunner::note_slot() {
    if (!slot_) return;
    const auto left = std::chrono::ceil<std::chrono::seconds>(c_.deadline - Clock::now()).count();
    slot_->note(attempt_.node, {attempt_.server, attempt_.action, attempt_.request, epoch_now(),
                                epoch_now() + std::max<std::int64_t>(left, 1)});
}

// Whether the cloud still works on what the dead holder of a slot had asked for.
bool AttemptRunner::still_runs(const SlotUse& use) {
    if (use.request.empty()) {
        auto newest = c_.backend.newest_action(use.server, use.action, use.posted);
        if (!newest) return newest.error().code == Errc::unreachable;
        if (!*newest) return epoch_now() < use.posted + settle_seconds;
        return !(*newest)->finished;
    }
    auto action = c_.backend.action(use.server, use.request);
    return action ? !action->finished : action.error().code == Errc::unreachable;
}

// Reads desired, server and image until all are there and the server is free, or the deadline.
Result<AttemptPlan> AttemptRunner::look() {
    while (true) {
        auto plan = look_once();
        if (plan && plan->decision.act != Act::wait) {
            if (c_.cloud_answered) c_.cloud_answered();
            pause_ = c_.first_pause;
            return plan;
        }
        if (!plan && plan.error().code != Errc::unreachable) return plan;
        if (!plan && c_.cloud_failed) c_.cloud_failed(plan.error().message);
        if (!wait_before_retry())
            return plan ? fail(Errc::failed, plan->decision.why) : tl::unexpected(plan.error());
    }
}

Result<AttemptPlan> AttemptRunner::look_once() {
    Target target{attempt_.node, "", ""};
    bool by_hand = false;
    if (c_.backend.knows_images()) {
        auto wanted = wanted_of(c_.journal, c_.settings, attempt_.node);
        if (!wanted) return tl::unexpected(wanted.error());
        target.server = wanted->desired.instance_id;
        target.image = wanted->desired.image_id;
        by_hand = wanted->rollout == 0;
    }
    if (!c_.server.empty()) target.server = c_.server;
    auto server = c_.backend.server(target);
    if (!server) return tl::unexpected(server.error());
    auto image = c_.backend.image(target.image);
    // An image that is absent or inactive is absent for every node: the cloud's fault.
    if (!image) return fail(Errc::unreachable, image.error().message);
    if (!image->usable) return fail(Errc::unreachable, image->why_not);
    attempt_.server = server->id;
    attempt_.image_from = server->image;
    attempt_.image_to = image->id;
    const DecisionPolicy policy{c_.settings.allow_volume_rebuild, c_.settings.unlock, unproved()};
    Decision decision = decide(*server, image->id, policy);
    if (decision.act == Act::rebuild && by_hand)
        if (auto why = why_quarantined(c_.journal, *image); !why.empty())
            decision = {Act::refuse, std::move(why)};
    log::info("{}: {}: {}", attempt_.node, name_of(decision.act), decision.why);
    return AttemptPlan{std::move(*server), std::move(*image), std::move(decision)};
}

// Out of service with its label withdrawn: what the cloud shows was not enough before.
bool AttemptRunner::unproved() {
    const auto node = c_.desk.node(attempt_.node);
    return node && node->state.fail && node->has_our_reason() && node->record.withdrawn();
}

bool AttemptRunner::wait_before_retry() {
    if (Clock::now() + pause_ >= c_.deadline) return false;
    std::this_thread::sleep_for(pause_);
    pause_ = std::min<std::chrono::milliseconds>(pause_ * 2, longest_pause);
    return true;
}

// One update: the label is withdrawn and the node told what it is to become.
Status AttemptRunner::announce(const AttemptPlan& plan) {
    // Before the time of the request is noted: a boot after it must be told from one before.
    std::this_thread::sleep_until(c_.first_post);
    const bool rebuild = plan.decision.act == Act::rebuild || plan.decision.act == Act::adopt;
    auto before = c_.desk.node(attempt_.node);
    if (!before) return tl::unexpected(before.error());
    // Kept first: whoever finds this attempt after a crash must know what to give back. A second
    // announcement of the same attempt finds the label withdrawn already.
    if (attempt_.phase == Phase::begun) attempt_.label = before->record.revision;
    attempt_.action = !plan.action.empty() ? plan.action : rebuild ? "rebuild" : "reboot";
    attempt_.posted = epoch_now();
    save();
    Want want;
    want.image = plan.image.id;
    want.stamp = plan.image.stamp;
    // An image without a stamp has no name of its own but its id; rebooted as it is, the node keeps
    // the name that it had.
    want.revision = c_.backend.knows_images() ? plan.image.label() : attempt_.label;
    want.action = attempt_.action;
    want.at = attempt_.posted;
    auto written = c_.desk.edit(attempt_.node, [&](NodeRecord& record) {
        // A second attempt after a failed one finds the label withdrawn already.
        want.from = record.revision.empty() && record.want ? record.want->from : record.revision;
        record.revision.clear();
        want.root = record.root;
        record.want = want;
    });
    if (!written) return written;
    attempt_.phase = Phase::posting;
    save();
    return {};
}

// Outcome::open: nova was busy with the server.
Outcome AttemptRunner::send_and_follow(const AttemptPlan& plan) {
    if (plan.server.locked) {
        auto unlocked = c_.backend.send(Request::unlock, plan.server.id, "");
        if (!unlocked) log::warning("{}: {}", attempt_.node, unlocked.error().message);
    }
    auto sent = send(request_of(plan), plan);
    if (!sent && sent.error().code == Errc::unsure) return follow_unsure(sent.error().message);
    if (!sent && sent.error().code == Errc::busy) {
        log::info("{}: {}: looking again", attempt_.node, sent.error().message);
        attempt_.reason = sent.error().message;
        return Outcome::open;
    }
    if (!sent) {
        // Refused in words (400, 403, locked since we looked): the cloud took nothing. A label that
        // an earlier attempt withdrew stays so: that one's end is not undone by this one's.
        const Errc code = sent.error().code;
        if ((code == Errc::invalid || code == Errc::denied) && !attempt_.label.empty())
            restore_label();
        return give_up(sent.error());
    }
    const Outcome outcome = follow(*sent);
    if (outcome == Outcome::ok && plan.decision.act == Act::rebuild)
        return start_if_off(plan.server);
    return outcome;
}

// Retries only what was certainly not taken.
Result<std::string> AttemptRunner::send(Request request, const AttemptPlan& plan) {
    note_slot();
    while (true) {
        auto sent = c_.backend.send(request, plan.server.id, plan.image.id);
        if (sent || sent.error().code != Errc::unreachable) return sent;
        if (c_.cloud_failed) c_.cloud_failed(sent.error().message);
        if (!wait_before_retry()) return sent;
    }
}

Outcome AttemptRunner::give_up(const Error& error) {
    slot_.reset();
    if (error.code != Errc::unreachable && error.code != Errc::busy)
        return node_fault(error.message);
    restore_label();
    return untouched(error.message);
}

Outcome run_attempt(const AttemptContext& context, const std::string& node) {
    Attempt attempt;
    attempt.node = node;
    attempt.began = epoch_now();
    attempt.pid = ::getpid();
    auto id = context.journal.begin(attempt);
    if (id) {
        attempt.id = *id;
    } else {
        log::error("{}: the journal does not take the attempt: {}", node, id.error().message);
    }
    return AttemptRunner(context, std::move(attempt)).run();
}

Outcome adopt_attempt(const AttemptContext& context, Attempt attempt) {
    attempt.pid = ::getpid();
    return AttemptRunner(context, std::move(attempt)).adopt();
}

}  // namespace cohort
