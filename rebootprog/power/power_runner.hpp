// SPDX-License-Identifier: GPL-2.0-or-later
//
// What power.cpp (a machine is made) and power_suspend.cpp (it is removed; what went wrong) share.
// Private to them.
#pragma once

#include <string>
#include <vector>

#include "rebootprog/power/power.hpp"
#include "rebootprog/reboot/attempt_runner.hpp"

namespace cohort {

// A machine that was asked for is in the cloud's list by then, or never came.
constexpr std::int64_t create_settles = 120;

// What the cloud has for a node.
struct Machines {
    std::vector<ServerState> ours;
    std::vector<std::string> foreign;  // ids of others of the same name
};

inline bool is_gone(const ServerState& server) {
    return server.status == "DELETED" || server.status == "SOFT_DELETED";
}

class PowerRunner : public AttemptRunner {
  public:
    using AttemptRunner::AttemptRunner;

    Outcome resume();
    Outcome suspend();
    Outcome resume_failed();
    Outcome adopt_power();

  private:
    std::string named_instance() const;
    Result<Machines> machines_once() const;
    Result<Machines> machines();
    Result<AttemptPlan> image_to_make();
    Result<Machines> after_doubt(Machines found);
    Outcome make();
    Outcome order(const AttemptPlan& plan, const MachineOrder& order);
    Outcome look_for_it(const MachineOrder& order, const std::string& why);
    Outcome follow_machine();
    Status remove_all(const std::vector<ServerState>& machines);
    Status wait_until_gone(const std::string& server);
    void promise_label();
    void begin(const char* action);
};

}  // namespace cohort
