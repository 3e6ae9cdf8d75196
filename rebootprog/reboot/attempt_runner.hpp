// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the sources of an attempt share. Private to them: attempt.cpp (from the first look to the
// POST), attempt_follow.cpp (from the POST to what is written at the end) and power.cpp.
#pragma once

#include <ctime>
#include <functional>
#include <optional>
#include <string>

#include "rebootprog/cloud/slots.hpp"
#include "rebootprog/reboot/attempt.hpp"

namespace cohort {

// nova records an action before it answers a request: one that is not listed by then never came.
constexpr std::int64_t settle_seconds = 60;
// How long a rebuild that somebody else began may have been running when we join it.
constexpr std::int64_t adopt_window_seconds = 24 * 3600;

inline std::int64_t epoch_now() {
    return std::time(nullptr);
}

// What was learned before anything is sent.
struct AttemptPlan {
    ServerState server;
    ImageState image;
    Decision decision;
    std::string action = {};  // empty: what the decision says
    bool same_request(const AttemptPlan& other) const {
        return decision.act == other.decision.act && image.id == other.image.id;
    }
};

class AttemptRunner {
  public:
    AttemptRunner(const AttemptContext& context, Attempt attempt)
        : c_(context), attempt_(std::move(attempt)), pause_(context.first_pause) {}

    Outcome run();
    // One look, no waiting: Outcome::open when it has to be looked at again.
    Outcome adopt();

  protected:
    // attempt.cpp
    Result<AttemptPlan> look();
    Result<AttemptPlan> look_once();
    bool unproved();
    bool wait_before_retry();
    Status announce(const AttemptPlan& plan);
    std::optional<Outcome> prepare(AttemptPlan& plan);
    Status take_slot();
    void note_slot();
    bool still_runs(const SlotUse& use);
    Outcome send_and_follow(const AttemptPlan& plan);
    Result<std::string> send(Request request, const AttemptPlan& plan);
    Outcome give_up(const Error& error);

    // attempt_follow.cpp
    void note_request(const std::string& request);
    Outcome follow(const std::string& request);
    Outcome follow_hard(const std::string& request);
    Outcome follow_newest(std::int64_t since);
    Outcome follow_unsure(const std::string& why);
    Outcome start_if_off(const ServerState& before);
    Outcome ended(const ActionState& action);
    Outcome succeeded();
    Outcome action_failed(const std::string& message);
    Outcome node_fault(const std::string& why);
    Outcome unsure(const std::string& why);
    Outcome untouched(const std::string& why);
    void restore_label();
    void set_want(const std::function<void(Want&)>& change);
    void take_out(const std::string& why);
    Outcome finish(Outcome outcome, const std::string& reason);
    void save();

    const AttemptContext& c_;
    Attempt attempt_;
    std::chrono::milliseconds pause_;
    std::optional<Slot> slot_;
};

}  // namespace cohort
