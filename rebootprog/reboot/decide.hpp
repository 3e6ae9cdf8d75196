// SPDX-License-Identifier: GPL-2.0-or-later
//
// What to do with one server: the comparison of desired and actual. Pure.
//
// nova shows the NEW image from the moment it accepts a rebuild on, also when the rebuild failed:
// an equal image id says nothing without status and task_state. Rules of allowed actions are nova's
// (rebuild from ACTIVE, SHUTOFF, ERROR; SOFT reboot from ACTIVE only; HARD also from SHUTOFF).
#pragma once

#include <cstdint>
#include <string>

namespace cohort {

struct ServerState {
    std::string id;
    std::string name;
    std::string status;       // "ACTIVE", "ERROR", ...
    std::string task_state;   // empty: none
    std::string image;        // UUID; empty for a volume-backed server
    bool image_known = true;  // false: its owner cannot tell which image it has
    bool volume_backed = false;
    bool locked = false;
    std::string locked_reason;
    std::string fault;         // nova's fault message
    std::int64_t disk_gb = 0;  // 0: not known
    std::int64_t ram_mb = 0;   // 0: not known
    std::string owner;         // the node that we made it for; empty: it was not made by us
    std::string mark;          // of the order that made it
};

struct DecisionPolicy {
    bool allow_volume_rebuild = false;
    bool unlock = false;
    bool unproved = false;  // the node is out of service: what it really runs is not known
};

struct Decision {
    enum class Act {
        rebuild,
        soft_reboot,
        hard_reboot,
        adopt,   // a rebuild to the desired image is under way: follow it
        wait,    // another task is under way: look again later
        refuse,  // this node out of service, with WHY
    };
    Act act = Act::refuse;
    std::string why;  // one sentence
};

Decision decide(const ServerState& server, const std::string& desired_image,
                const DecisionPolicy& policy);

const char* name_of(Decision::Act act);

}  // namespace cohort
