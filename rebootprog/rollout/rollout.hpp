// SPDX-License-Identifier: GPL-2.0-or-later
//
// A rollout as plain values: one planned change of a set of nodes, from plan to end.
//
// Written by `scohort rebuild|pause|resume|abort|retry|rollback` and by `scohort advance`, kept in
// the journal (rollout_journal.hpp). Times are seconds since the epoch, 0 = not yet. Pure values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

enum class RolloutState {
    active,
    paused,   // by an administrator: nothing new begins
    halted,   // by advance: FailureBudget was passed; `resume` goes on, `rollback` goes back
    aborted,  // by an administrator; nodes that had begun are still followed to their end
    done,     // every node has ended, well or not
};

// How far one node of a rollout has come.
enum class Step {
    planned,     // no job yet
    held,        // its rebuild job waits for us
    released,    // its rebuild job may start as soon as the node is free: counts as unavailable
    rebuilding,  // the job has begun, or the node is rebuilt without one, being out of service
    done,        // proved: it runs the image and is back
    failed,      // out of service, see why
    cancelled,   // taken out of the rollout: by abort, or its job was cancelled
};

struct Rollout {
    std::int64_t id = 0;
    RolloutState state = RolloutState::active;
    std::int64_t began = 0, ended = 0;
    std::string who;     // who asked for it
    std::string reason;  // --reason
    std::string why;     // of the present state: "3 nodes failed ..."
    std::string scope;   // the chosen nodes (host list): what the limits are counted in
    std::string image;   // --to, as given; empty: what each node's file in DesiredDir says
    std::string max_unavailable = "10%", min_available = "0";
    std::int64_t failure_budget = 2;
    std::int64_t forgiven = 0;   // failures before the last `resume`: they halt no more
    std::int64_t canary = 0;     // so many nodes first; 0: none
    std::int64_t soak = 0;       // seconds between the last canary's end and the others
    std::string order = "free";  // free, name, given
    std::string window;          // "HH:MM-HH:MM" local time; empty: always
    std::string via = "job";     // job, reboot
    std::int64_t rollback_of = 0;

    bool open() const { return state != RolloutState::done && state != RolloutState::aborted; }
};

struct RolloutNode {
    std::int64_t rollout = 0;
    std::string node;
    std::int64_t position = 0;  // order of the rollout
    bool canary = false;
    bool direct = false;  // rebuilt without a job: it was out of service for a reason of ours
    Step step = Step::planned;
    std::uint32_t job = 0;
    std::string image_from;       // what the cloud said it ran when the rollout was planned
    std::string image_to;         // UUID
    bool explicit_image = false;  // --to or rollback; else the file's
    std::string file_image;       // image_id of the file in DesiredDir then
    std::string why;
    std::int64_t tries = 0;          // how often it was begun
    std::int64_t after_attempt = 0;  // the node's newest attempt before this try: not ours
    std::int64_t planned = 0, submitted = 0, released = 0, started = 0, ended = 0;

    bool open() const { return step < Step::done; }
    // Slurm or we may take it out of service at any moment, or have.
    bool under_way() const { return step == Step::released || step == Step::rebuilding; }
};

// An image that no rollout begins with any more.
struct Quarantine {
    std::string image;
    std::int64_t since = 0;
    std::int64_t rollout = 0;
    std::string reason;
};

// Where a node is to go by its newest rollout: while it is under way there, and after that (when
// the rollout named the image) until the node's file in DesiredDir is changed.
struct Pin {
    std::string node, image, file_image;
    std::int64_t rollout = 0;
    bool open = false;
};

constexpr std::string_view name_of(RolloutState state) {
    constexpr std::string_view names[] = {"active", "paused", "halted", "aborted", "done"};
    return names[static_cast<int>(state)];
}

constexpr std::string_view name_of(Step step) {
    constexpr std::string_view names[] = {"planned", "held",   "released", "rebuilding",
                                          "done",    "failed", "cancelled"};
    return names[static_cast<int>(step)];
}

}  // namespace cohort
