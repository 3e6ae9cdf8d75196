// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/attempt.hpp"

#include <ctime>
#include <thread>

#include <fmt/core.h>
#include <unistd.h>

#include "common/log.hpp"
#include "common/revision.hpp"
#include "common/text.hpp"
#include "rebootprog/slots.hpp"
#include "rebootprog/wanted.hpp"

namespace cohort {
namespace {

using Act = Decision::Act;
using Clock = AttemptContext::Clock;

constexpr auto longest_pause = std::chrono::seconds(15);
// nova records an action before it answers a request: one that is not listed by then never came.
constexpr std::int64_t settle_seconds = 60;
// How long a rebuild that somebody else began may have been running when we join it.
constexpr std::int64_t adopt_window_seconds = 24 * 3600;

std::int64_t now() {
    return std::time(nullptr);
}

std::string untouched_because(const std::string& why) {
    return fmt::format("cloud out of reach, node untouched ({})", why);
}

// What was learned before anything is sent.
struct Plan {
    ServerState server;
    ImageState image;
    Decision decision;
};

class Runner {
  public:
    Runner(const AttemptContext& context, Attempt attempt)
        : c_(context), attempt_(std::move(attempt)), pause_(context.first_pause) {}

    Outcome run() {
        auto plan = look();
        if (!plan) return give_up(plan.error());
        if (plan->decision.act == Act::refuse) return node_fault(plan->decision.why);
        auto slot =
            acquire_slot(c_.state_dir, c_.settings.max_concurrent, attempt_.node, c_.deadline);
        if (!slot) return give_up(slot.error());
        // Waiting for the slot took time: decide by what is true now.
        plan = look();
        if (!plan) return give_up(plan.error());
        if (plan->decision.act == Act::refuse) return node_fault(plan->decision.why);
        if (auto announced = announce(*plan); !announced)
            return node_fault("Slurm refused to take its note: " + announced.error().message);
        if (c_.open_cohort) c_.open_cohort(attempt_.node);
        if (plan->decision.act == Act::adopt) return follow_newest(now() - adopt_window_seconds);
        return send_and_follow(*plan);
    }

    // One look, no waiting: Outcome::open when it has to be looked at again.
    Outcome adopt() {
        if (attempt_.phase == Phase::begun) {
            // Nothing had been sent. The node's label may be withdrawn already: it is given back.
            restore_label();
            return untouched("the process that worked on it died before it asked the cloud");
        }
        if (attempt_.request.empty()) {
            auto newest =
                c_.backend.newest_action(attempt_.server, attempt_.action, attempt_.posted);
            if (!newest) return Outcome::open;
            if (!*newest && now() < attempt_.posted + settle_seconds) return Outcome::open;
            if (!*newest) return give_back_unsent();
            note_request((*newest)->request);
        }
        auto action = c_.backend.action(attempt_.server, attempt_.request);
        if (!action || !action->finished) return Outcome::open;
        return action->succeeded ? succeeded() : action_failed(action->message);
    }

  private:
    // Reads desired, server and image until all are there and the server is free, or the deadline.
    Result<Plan> look() {
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

    Result<Plan> look_once() {
        auto wanted = wanted_of(c_.journal, c_.settings.desired_dir, attempt_.node);
        if (!wanted) return tl::unexpected(wanted.error());
        const Desired& desired = wanted->desired;
        const Target target{attempt_.node, desired.instance_id, desired.image_id};
        auto server = c_.backend.server(target);
        if (!server) return tl::unexpected(server.error());
        auto image = c_.backend.image(target.image);
        // An image that is absent or inactive is absent for every node: the cloud's fault.
        if (!image) return fail(Errc::unreachable, image.error().message);
        if (!image->usable) return fail(Errc::unreachable, image->why_not);
        attempt_.server = server->id;
        attempt_.image_from = server->image;
        attempt_.image_to = image->id;
        const DecisionPolicy policy{c_.settings.allow_volume_rebuild, c_.settings.unlock,
                                    unproved()};
        Decision decision = decide(*server, image->id, policy);
        log::info("{}: {}: {}", attempt_.node, name_of(decision.act), decision.why);
        return Plan{std::move(*server), std::move(*image), std::move(decision)};
    }

    // Out of service with its label withdrawn: what the cloud shows was not enough before.
    bool unproved() {
        const auto node = c_.desk.node(attempt_.node);
        return node && node->state.fail && node->has_our_reason() && node->record.withdrawn();
    }

    bool wait_before_retry() {
        if (Clock::now() + pause_ >= c_.deadline) return false;
        std::this_thread::sleep_for(pause_);
        pause_ = std::min<std::chrono::milliseconds>(pause_ * 2, longest_pause);
        return true;
    }

    // One update: the label is withdrawn and the node told what it is to become.
    Status announce(const Plan& plan) {
        // Before the time of the request is noted: a boot after it must be told from one before.
        std::this_thread::sleep_until(c_.first_post);
        const bool rebuild = plan.decision.act == Act::rebuild || plan.decision.act == Act::adopt;
        auto before = c_.desk.node(attempt_.node);
        if (!before) return tl::unexpected(before.error());
        // Kept first: whoever finds this attempt after a crash must know what to give back.
        attempt_.label = before->record.revision;
        attempt_.action = rebuild ? "rebuild" : "reboot";
        attempt_.posted = now();
        save();
        Want want;
        want.image = plan.image.id;
        want.stamp = plan.image.stamp;
        // An image without a stamp has no name of its own but its id.
        want.revision = revision_name_of_stamp(plan.image.stamp.empty() ? "image:" + plan.image.id
                                                                        : plan.image.stamp);
        want.action = attempt_.action;
        want.at = attempt_.posted;
        auto written = c_.desk.edit(attempt_.node, [&](NodeRecord& record) {
            // A second attempt after a failed one finds the label withdrawn already.
            want.from =
                record.revision.empty() && record.want ? record.want->from : record.revision;
            record.revision.clear();
            want.root = record.root;
            record.want = want;
        });
        if (!written) return written;
        attempt_.phase = Phase::posting;
        save();
        return {};
    }

    Outcome send_and_follow(const Plan& plan) {
        if (plan.server.locked) {
            auto unlocked = c_.backend.send(Request::unlock, plan.server.id, "");
            if (!unlocked) log::warning("{}: {}", attempt_.node, unlocked.error().message);
        }
        const Request request = request_of(plan);
        auto sent = send(request, plan);
        if (!sent && sent.error().code == Errc::unsure) return follow_unsure(sent.error().message);
        if (!sent && sent.error().code == Errc::unreachable) return give_up(sent.error());
        if (!sent) return node_fault(sent.error().message);
        const Outcome outcome = follow(*sent);
        if (outcome == Outcome::ok && plan.decision.act == Act::rebuild)
            return start_if_off(plan.server);
        return outcome;
    }

    static Request request_of(const Plan& plan) {
        switch (plan.decision.act) {
            case Act::rebuild:
                return plan.server.volume_backed ? Request::rebuild_volume : Request::rebuild;
            case Act::soft_reboot:
                return Request::soft_reboot;
            default:
                return Request::hard_reboot;
        }
    }

    // Retries only what was certainly not taken.
    Result<std::string> send(Request request, const Plan& plan) {
        while (true) {
            auto sent = c_.backend.send(request, plan.server.id, plan.image.id);
            if (sent || sent.error().code != Errc::unreachable) return sent;
            if (c_.cloud_failed) c_.cloud_failed(sent.error().message);
            if (!wait_before_retry()) return sent;
        }
    }

    void note_request(const std::string& request) {
        attempt_.request = request;
        attempt_.phase = Phase::following;
        save();
        set_want([&](Want& want) { want.request = request; });
    }

    Outcome follow(const std::string& request) {
        note_request(request);
        const auto soft_until = Clock::now() + c_.settings.soft_reboot_time;
        bool may_harden = attempt_.action == "reboot";
        while (true) {
            auto action = c_.backend.action(attempt_.server, request);
            if (action && action->finished)
                return action->succeeded ? succeeded() : action_failed(action->message);
            if (!action && action.error().code != Errc::unreachable &&
                action.error().code != Errc::not_found)
                return action_failed(action.error().message);
            if (Clock::now() >= c_.deadline) return unsure("it has not ended in Slurm's time");
            if (may_harden && Clock::now() >= soft_until) {
                may_harden = false;
                if (auto hard = c_.backend.send(Request::hard_reboot, attempt_.server, ""))
                    return follow_hard(*hard);
            }
            std::this_thread::sleep_for(c_.poll);
        }
    }

    Outcome follow_hard(const std::string& request) {
        log::warning("{}: the soft reboot did not end after {} s, hard reboot", attempt_.node,
                     c_.settings.soft_reboot_time.count());
        attempt_.action = "hard reboot";
        return follow(request);
    }

    Outcome follow_newest(std::int64_t since) {
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
    Outcome follow_unsure(const std::string& why) {
        log::warning("{}: {}: looking whether the cloud took the request", attempt_.node, why);
        attempt_.reason = why;
        const auto patience = std::min(c_.deadline, Clock::now() + std::chrono::seconds(30));
        while (Clock::now() < patience) {
            auto action =
                c_.backend.newest_action(attempt_.server, attempt_.action, attempt_.posted);
            if (action && *action) return follow((*action)->request);
            std::this_thread::sleep_for(c_.poll);
        }
        return unsure(why);
    }

    Outcome give_back_unsent() {
        restore_label();
        return untouched("the cloud never took the request");
    }

    Outcome start_if_off(const ServerState& before) {
        auto after = c_.backend.server({attempt_.node, before.id, ""});
        if (!after || after->status != "SHUTOFF") return Outcome::ok;
        log::info("{}: the rebuilt server stays SHUTOFF: it is started", attempt_.node);
        auto started = c_.backend.send(Request::start, before.id, "");
        if (started) return Outcome::ok;
        return node_fault("the rebuilt server could not be started: " + started.error().message);
    }

    Outcome succeeded() {
        set_want([](Want& want) { want.result = std::string(result_ok); });
        log::info("{}: {} {} ended well", attempt_.node, attempt_.action, attempt_.request);
        return finish(Outcome::ok, "");
    }

    Outcome action_failed(const std::string& message) {
        const std::string why = fmt::format("{} {} failed: {}", attempt_.action, attempt_.request,
                                            message.empty() ? "no reason given" : message);
        return node_fault(why);
    }

    // This node out of service; the rest goes on.
    Outcome node_fault(const std::string& why) {
        set_want([&](Want& want) { want.result = fmt::format("{}: {}", result_failed, why); });
        take_out(why);
        return finish(Outcome::failed, why);
    }

    Outcome unsure(const std::string& why) {
        take_out(fmt::format("{} {} may still be under way: {}", attempt_.action, attempt_.request,
                             why));
        attempt_.outcome = Outcome::unsure;
        attempt_.reason = why;
        save();
        return Outcome::unsure;
    }

    Outcome untouched(const std::string& why) {
        take_out(untouched_because(why));
        return finish(Outcome::untouched, why);
    }

    Outcome give_up(const Error& error) {
        if (error.code != Errc::unreachable && error.code != Errc::busy)
            return node_fault(error.message);
        restore_label();
        return untouched(error.message);
    }

    // Nothing was sent: the node is what it was.
    void restore_label() {
        auto written = c_.desk.edit(attempt_.node, [&](NodeRecord& record) {
            if (!record.want || record.want->at < attempt_.began) return;
            record.want.reset();
            record.revision = attempt_.label;
        });
        if (!written) log::error("{}: {}", attempt_.node, written.error().message);
    }

    // Only our own attempt's wish is changed: a later one has another time.
    void set_want(const std::function<void(Want&)>& change) {
        if (attempt_.phase == Phase::begun) return;
        auto written = c_.desk.edit(attempt_.node, [&](NodeRecord& record) {
            if (record.want && record.want->at == attempt_.posted) change(*record.want);
        });
        if (!written)
            log::error("{}: cohort_want could not be written: {}", attempt_.node,
                       written.error().message);
    }

    void take_out(const std::string& why) {
        log::error("{}: {}", attempt_.node, why);
        if (auto out = c_.desk.take_out(attempt_.node, why); !out)
            log::error("{}: could not be taken out of service: {}", attempt_.node,
                       out.error().message);
    }

    Outcome finish(Outcome outcome, const std::string& reason) {
        attempt_.outcome = outcome;
        attempt_.phase = Phase::ended;
        attempt_.reason = reason;
        attempt_.ended = now();
        save();
        return outcome;
    }

    void save() {
        if (auto saved = c_.journal.update(attempt_); !saved)
            log::error("{}: {}", attempt_.node, saved.error().message);
    }

    const AttemptContext& c_;
    Attempt attempt_;
    std::chrono::milliseconds pause_;
};

}  // namespace

Outcome run_attempt(const AttemptContext& context, const std::string& node) {
    Attempt attempt;
    attempt.node = node;
    attempt.began = now();
    attempt.pid = ::getpid();
    auto id = context.journal.begin(attempt);
    if (id) {
        attempt.id = *id;
    } else {
        log::error("{}: the journal does not take the attempt: {}", node, id.error().message);
    }
    return Runner(context, std::move(attempt)).run();
}

void leave_untouched(Journal& journal, NodeDesk& desk, const std::string& node,
                     const std::string& why) {
    Attempt attempt;
    attempt.node = node;
    attempt.began = attempt.ended = now();
    attempt.phase = Phase::ended;
    attempt.outcome = Outcome::untouched;
    attempt.reason = why;
    if (auto kept = journal.begin(attempt); !kept) log::error("{}: {}", node, kept.error().message);
    if (auto out = desk.take_out(node, untouched_because(why)); !out)
        log::error("{}: {}", node, out.error().message);
}

Outcome adopt_attempt(const AttemptContext& context, Attempt attempt) {
    attempt.pid = ::getpid();
    return Runner(context, std::move(attempt)).adopt();
}

}  // namespace cohort
