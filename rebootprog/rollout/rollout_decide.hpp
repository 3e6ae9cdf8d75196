// SPDX-License-Identifier: GPL-2.0-or-later
//
// What one step of `scohort advance` does for one rollout: first what is seen of each node is
// brought into its row, then what is to be begun, taken back or ended. Pure.
//
// Unavailable, and so within MaxUnavailable, are: nodes that are down, drained, failed, not
// responding or rebooting, whoever's doing it is, and nodes with a rebuild job that could start or
// has (ours or submitted by hand). A slot is given only while there are fewer of them than allowed.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rebootprog/rollout/advance_decide.hpp"
#include "rebootprog/rollout/rollout.hpp"

namespace cohort {

struct RolloutView {
    Rollout rollout;
    std::vector<RolloutNode> rows;
    std::vector<std::string> scope;  // expanded
    std::int64_t verify_wait = 600;
};

struct RolloutAct {
    enum class Kind {
        note_row,       // ROW is as seen; TEXT, when there is one, is an event
        note_rollout,   // the state changed: TEXT
        quarantine,     // ROW.image_to, because of TEXT
        take_out,       // a node in service that never proved itself
        submit,         // a rebuild job, held
        rebuild,        // without a job: the node is out of service for a reason of ours
        release,        // JOB may start
        take_back,      // JOB, which has not started, is held again
        cancel,         // JOB of an aborted rollout
        reboot,         // --via reboot: when the node is idle
        cancel_reboot,  // the same taken back: the row as it is to be
        give_back,      // a node that has proved itself after that
    };
    Kind kind = Kind::note_row;
    Rollout rollout;
    RolloutNode row;
    std::optional<MarkedJob> job;
    std::string text;
};

// How many rebuild jobs of the whole site wait, how many could start or have, and the nodes that
// were given a slot since the look: rollouts may share nodes in their scopes.
struct Pace {
    std::uint32_t pending = 0, starting = 0;
    std::set<std::string> given;
};
Pace pace_of(const Observation& seen);

// In the order in which they are to be done. PACE is shared by the rollouts of one step.
std::vector<RolloutAct> decide_rollout(const Observation& seen, const RolloutView& view,
                                       Pace& pace);

// NODE counts as unavailable by its state alone.
bool is_unavailable(const Node& node);

// How many of SCOPE nodes may be unavailable at once.
std::size_t out_limit(const Rollout& rollout, std::size_t scope);

// "25%" or "4" as Amount; nothing when it is neither.
std::optional<Amount> parse_amount(std::string_view text);
// "HH:MM-HH:MM": is NOW_MINUTE (of the local day) inside? Over midnight too. Nothing: no window.
std::optional<bool> in_window(std::string_view window, int now_minute);

}  // namespace cohort
