// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/slurm/node_state.hpp"

#include "common/slurm/handles.hpp"

namespace cohort::slurm {

NodeState node_state(std::uint32_t raw) {
    NodeState s;
    switch (raw & NODE_STATE_BASE) {
        case NODE_STATE_DOWN:
        case NODE_STATE_ERROR:
            s.base = NodeState::Base::down;
            break;
        case NODE_STATE_IDLE:
            s.base = NodeState::Base::idle;
            break;
        case NODE_STATE_ALLOCATED:
            s.base = NodeState::Base::allocated;
            break;
        case NODE_STATE_MIXED:
            s.base = NodeState::Base::mixed;
            break;
        case NODE_STATE_FUTURE:
            s.base = NodeState::Base::future;
            break;
        default:
            s.base = NodeState::Base::unknown;
            break;
    }
    s.drain = raw & NODE_STATE_DRAIN;
    s.fail = raw & NODE_STATE_FAIL;
    s.completing = raw & NODE_STATE_COMPLETING;
    s.not_responding = raw & NODE_STATE_NO_RESPOND;
    s.reboot_requested = raw & NODE_STATE_REBOOT_REQUESTED;
    s.reboot_issued = raw & NODE_STATE_REBOOT_ISSUED;
    s.powering_up = raw & (NODE_STATE_POWERING_UP | NODE_STATE_POWER_UP);
    s.power_saving =
        raw & (NODE_STATE_POWERED_DOWN | NODE_STATE_POWERING_DOWN | NODE_STATE_POWER_DOWN);
    s.powered_down = raw & NODE_STATE_POWERED_DOWN;
    s.invalid_registration = raw & NODE_STATE_INVALID_REG;
    s.maintenance = raw & NODE_STATE_MAINT;
    s.reserved = raw & NODE_STATE_RES;
    s.planned = raw & NODE_STATE_PLANNED;
    s.dynamic = raw & NODE_STATE_DYNAMIC_NORM;
    s.cloud = raw & NODE_STATE_CLOUD;
    return s;
}

}  // namespace cohort::slurm
