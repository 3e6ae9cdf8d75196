// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/cloud/backend.hpp"

#include "common/revision.hpp"

namespace cohort {

std::string ImageState::label() const {
    return revision_name_of_stamp(stamp.empty() ? "image:" + id : stamp);
}

// What a back end need not have.
Result<std::vector<ServerState>> Backend::changed_since(std::chrono::system_clock::time_point) {
    return fail(Errc::invalid, "this back end has no list of changed servers");
}

Result<std::vector<ServerState>> Backend::named(const std::string&) {
    return fail(Errc::invalid, "this back end makes no machines: power saving needs nova or exec");
}

Result<MachineMade> Backend::create(const MachineOrder&) {
    return fail(Errc::invalid, "this back end makes no machines: power saving needs nova or exec");
}

Status Backend::remove(const std::string&) {
    return fail(Errc::invalid, "this back end removes no machines");
}

}  // namespace cohort
