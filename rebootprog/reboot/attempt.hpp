// SPDX-License-Identifier: GPL-2.0-or-later
//
// One attempt: takes one node to its desired image, from the first look to the action's end.
//
// Order of the writes, so that a kill -9 between any two of them is recognised by advance:
// journal begun -> (read, decide) -> one node update: label withdrawn + cohort_want -> journal
// posting -> the cohort is open for rolling (choke_point.hpp) -> slot (and, when that took time,
// read and decide again) -> POST -> journal following + request id into cohort_want -> followed ->
// slot given back -> result into cohort_want -> journal ended.
// Thread-safe: each attempt runs in one thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "common/cluster.hpp"
#include "common/result.hpp"
#include "common/settings.hpp"
#include "rebootprog/cloud/backend.hpp"
#include "rebootprog/cloud/desired.hpp"
#include "rebootprog/cloud/follower.hpp"
#include "rebootprog/journal/journal.hpp"

namespace cohort {

// Node states and records: Slurm in life, a fake in unit tests.
class NodeDesk {
  public:
    virtual ~NodeDesk() = default;
    virtual Result<Node> node(const std::string& name) = 0;
    virtual Status edit(const std::string& name,
                        const std::function<void(NodeRecord&)>& change) = 0;
    virtual Status take_out(const std::string& name, const std::string& reason) = 0;
};

struct AttemptContext {
    using Clock = std::chrono::steady_clock;
    const Settings& settings;
    std::string state_dir;
    Backend& backend;
    NodeDesk& desk;
    Journal& journal;
    Clock::time_point deadline;  // Slurm gives the node up at ResumeTimeout; we stop before
    // Called at the first fault of the cloud as such (opens the breaker, holds other jobs), and
    // when the cloud has answered again.
    std::function<void(const std::string& reason)> cloud_failed;
    std::function<void()> cloud_answered;
    // Returns when no job can span the node's old and new revision any more; may be empty.
    std::function<void(const std::string& node)> open_cohort = {};
    // Returns when the action may have ended or UNTIL has passed: one request per round for all
    // attempts of a process (follower.hpp). Empty: each attempt asks by itself, every `poll`.
    std::function<Result<ActionState>(const Followed& followed, Clock::time_point until)> follower =
        {};
    // Slurm asks for a boot later than its call, in whole seconds: a machine that is back within
    // two of them would be missed and its job given up at ResumeTimeout [22.05, measured].
    Clock::time_point first_post = Clock::now() + std::chrono::seconds(2);
    std::chrono::milliseconds poll{1000};  // between two looks at an action
    // What was seen before it waited for a slot holds for so long: nova refuses what does not fit.
    std::chrono::milliseconds fresh{15000};
    std::chrono::milliseconds first_pause{
        1000};                // between two tries at an unreachable cloud; doubles
    std::string server = {};  // the node's machine where the caller has found it; else looked for
};

// Runs the attempt for NODE to its end (or to the deadline) and returns how it ended. Whatever
// happens is in the journal, on the node and in the log.
Outcome run_attempt(const AttemptContext& context, const std::string& node);

// Goes on with an attempt that a process left behind. One look, no waiting: Outcome::open when it
// has to be looked at again.
Outcome adopt_attempt(const AttemptContext& context, Attempt attempt);

// Journals an attempt for NODE that could not even begin, and takes the node out as untouched.
void leave_untouched(Journal& journal, NodeDesk& desk, const std::string& node,
                     const std::string& why);

}  // namespace cohort
