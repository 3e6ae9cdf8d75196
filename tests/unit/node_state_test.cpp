// SPDX-License-Identifier: GPL-2.0-or-later
//
// Odd words of a node's state: each is busy, rebooting, unavailable or unknown, never just idle.
#include "common/slurm/node_state.hpp"

#include <slurm/slurm.h>

#include "tests/unit/unit.hpp"

using namespace cohort;

namespace {

struct Row {
    std::uint32_t raw;
    const char* text;
    bool available, busy, rebooting;
};

const Row rows[] = {
    {NODE_STATE_IDLE, "IDLE", true, false, false},
    {NODE_STATE_MIXED, "MIXED", true, true, false},
    {NODE_STATE_DOWN, "DOWN", false, false, false},
    {NODE_STATE_IDLE | NODE_STATE_DRAIN, "IDLE+DRAIN", false, false, false},
    {NODE_STATE_MIXED | NODE_STATE_DRAIN, "MIXED+DRAIN", false, true, false},
    {NODE_STATE_IDLE | NODE_STATE_COMPLETING | NODE_STATE_PLANNED, "IDLE+COMPLETING+PLANNED", true,
     true, false},
    {NODE_STATE_IDLE | NODE_STATE_REBOOT_REQUESTED | NODE_STATE_NO_RESPOND | NODE_STATE_DRAIN,
     "IDLE+DRAIN+NOT_RESPONDING+REBOOT_REQUESTED", false, false, true},
    {NODE_STATE_MIXED | NODE_STATE_PLANNED, "MIXED+PLANNED", true, true, false},
    {NODE_STATE_IDLE | NODE_STATE_PLANNED, "IDLE+PLANNED", true, false, false},
    {NODE_STATE_ALLOCATED, "ALLOCATED", false, true, false},
    {NODE_STATE_IDLE | NODE_STATE_COMPLETING, "IDLE+COMPLETING", true, true, false},
    {NODE_STATE_IDLE | NODE_STATE_DRAIN | NODE_STATE_REBOOT_REQUESTED,
     "IDLE+DRAIN+REBOOT_REQUESTED", false, false, true},
    {NODE_STATE_DOWN | NODE_STATE_REBOOT_ISSUED, "DOWN+REBOOT_ISSUED", false, false, true},
    {NODE_STATE_MIXED | NODE_STATE_DRAIN | NODE_STATE_REBOOT_REQUESTED,
     "MIXED+DRAIN+REBOOT_REQUESTED", false, true, true},
    // sinfo's idle^: its reboot is under way.
    {NODE_STATE_IDLE | NODE_STATE_REBOOT_ISSUED, "IDLE+REBOOT_ISSUED", false, false, true},
    {NODE_STATE_IDLE | NODE_STATE_POWERING_UP, "IDLE+POWERING_UP", false, false, true},
    {NODE_STATE_IDLE | NODE_STATE_INVALID_REG, "IDLE+INVALID_REG", false, false, false},
    {NODE_STATE_IDLE | NODE_STATE_CLOUD | NODE_STATE_POWERED_DOWN, "IDLE+POWER_SAVING", false,
     false, false},
    {NODE_STATE_IDLE | NODE_STATE_NO_RESPOND, "IDLE+NOT_RESPONDING", false, false, false},
    {NODE_STATE_IDLE | NODE_STATE_MAINT, "IDLE+MAINT", false, false, false},
    {NODE_STATE_DOWN | NODE_STATE_FAIL, "DOWN+FAIL", false, false, false},
    {NODE_STATE_ERROR, "DOWN", false, false, false},
    {NODE_STATE_FUTURE, "FUTURE", false, false, false},
    {NODE_STATE_UNKNOWN, "UNKNOWN", false, false, false},
    {NODE_STATE_END, "UNKNOWN", false, false, false},
};

}  // namespace

int main() {
    std::vector<unit::Rule> rules;
    for (const auto& row : rows)
        rules.push_back({row.text, [&row] {
                             const auto state = slurm::node_state(row.raw);
                             unit::expect_equal(state.text(), std::string(row.text));
                             unit::expect_equal(state.available(), row.available);
                             unit::expect_equal(state.busy(), row.busy);
                             unit::expect_equal(state.rebooting(), row.rebooting);
                         }});
    return unit::run("node_state", rules);
}
