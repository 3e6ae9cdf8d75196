// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/cluster.hpp"

namespace cohort {

bool NodeState::busy() const {
    return base == Base::allocated || base == Base::mixed || completing;
}

bool NodeState::available() const {
    return (base == Base::idle || base == Base::mixed) && !drain && !fail && !not_responding &&
           !rebooting() && !power_saving && !invalid_registration && !maintenance;
}

std::string NodeState::text() const {
    std::string out;
    switch (base) {
        case Base::unknown:
            out = "UNKNOWN";
            break;
        case Base::down:
            out = "DOWN";
            break;
        case Base::idle:
            out = "IDLE";
            break;
        case Base::allocated:
            out = "ALLOCATED";
            break;
        case Base::mixed:
            out = "MIXED";
            break;
        case Base::future:
            out = "FUTURE";
            break;
    }
    const auto flag = [&](bool set, std::string_view name) {
        if (set) out.append("+").append(name);
    };
    flag(drain, "DRAIN");
    flag(fail, "FAIL");
    flag(completing, "COMPLETING");
    flag(not_responding, "NOT_RESPONDING");
    flag(reboot_requested, "REBOOT_REQUESTED");
    flag(reboot_issued, "REBOOT_ISSUED");
    flag(powering_up, "POWERING_UP");
    flag(power_saving, "POWER_SAVING");
    flag(invalid_registration, "INVALID_REG");
    flag(maintenance, "MAINT");
    flag(planned, "PLANNED");
    return out;
}

}  // namespace cohort
