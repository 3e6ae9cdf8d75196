// SPDX-License-Identifier: GPL-2.0-or-later
//
// A barrier as plain values: one whole cohort closed, replaced, proved and opened again.
//
// Written by `scohort barrier`, kept in the journal (barrier_journal.hpp), re-asserted by `scohort
// advance` while it is closed. Times are seconds since the epoch, 0 = not yet. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

// What is done next; every step may be done again from its beginning.
enum class BarrierStep {
    close,    // its partitions are set DOWN and every node is drained
    wait,     // for jobs to end by themselves
    replace,  // every machine, through a rollout or the site's command
    enroll,   // every node of the recorded set has booted and registered
    prove,    // every node runs the one revision, by its label and by a step on it
    resume,   // our drains are lifted; a reservation keeps users off
    test,     // a job on all of them, as users submit it
    open,     // the reservation ends
};

enum class BarrierState {
    closed,      // unfinished: whatever happens, no user's job begins
    opened,      // it went through
    given_up,    // before anything was replaced; everything as it was before
    superseded,  // another barrier took its nodes over
};

struct Barrier {
    std::int64_t id = 0;
    BarrierState state = BarrierState::closed;
    BarrierStep step = BarrierStep::close;
    std::string cohort;
    std::string nodes;       // host list: the set that must be complete at the end
    std::string others;      // host list: an administrator had drained them, they are left out
    std::string partitions;  // comma list: those that it has set DOWN
    std::string image;       // --to; empty: each node's file
    std::string revision;    // the label that all must have; empty until it is known
    std::string command;     // JSON array: an argument vector instead of a rollout; empty: none
    std::string who, reason;
    std::string why;  // what stopped it last; empty: it is at work
    std::int64_t began = 0, ended = 0;
    std::int64_t replaced = 0;  // when the replacement began
    std::int64_t rollout = 0;

    std::string name() const { return "barrier " + std::to_string(id); }
    // Our drains are the lock; after that it is the reservation.
    bool drains() const { return state == BarrierState::closed && step < BarrierStep::resume; }
    bool reserves() const {
        return state == BarrierState::closed &&
               (step == BarrierStep::resume || step == BarrierStep::test);
    }
    std::string reservation() const { return "cohort_barrier_" + std::to_string(id); }
};

constexpr std::string_view name_of(BarrierStep step) {
    constexpr std::string_view names[] = {"close", "wait",   "replace", "register",
                                          "prove", "resume", "test",    "open"};
    return names[static_cast<int>(step)];
}

constexpr std::string_view name_of(BarrierState state) {
    constexpr std::string_view names[] = {"closed", "opened", "given up", "superseded"};
    return names[static_cast<int>(state)];
}

// What a run begins with: is the wanted revision the one the cohort has (or is being brought to),
// and is the cohort open?
enum class Sameness { same, changed, unknown };
enum class Openness { open, closed, unknown };
enum class BarrierStart {
    nothing,  // the fast path: it is open on that revision
    recover,  // go on with what was left
    begin,    // a new one
    refuse,   // nobody can tell: that is no evidence of health
};
BarrierStart decide_start(Sameness revision, Openness cohort);

}  // namespace cohort
