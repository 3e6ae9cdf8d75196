// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/reboot/decide.hpp"

#include <fmt/core.h>

namespace cohort {
namespace {

using Act = Decision::Act;

bool is_rebuilding(const ServerState& server) {
    return server.task_state.starts_with("rebuild") ||
           (server.status == "REBUILD" && server.task_state.empty());
}

Decision while_task_runs(const ServerState& server, const std::string& desired_image) {
    if (is_rebuilding(server)) {
        if (server.image == desired_image)
            return {Act::adopt, fmt::format("already rebuilding to {}", desired_image)};
        return {Act::refuse,
                fmt::format("server {} is being rebuilt to another image ({}), wanted {}",
                            server.name, server.image, desired_image)};
    }
    if (server.task_state == "deleting" || server.task_state == "soft-deleting")
        return {Act::refuse, fmt::format("server {} is being deleted", server.name)};
    return {Act::wait, fmt::format("server {} is busy: {}", server.name, server.task_state)};
}

}  // namespace

Decision decide(const ServerState& server, const std::string& desired_image,
                const DecisionPolicy& policy) {
    if (!server.image_known)
        return {Act::soft_reboot,
                "it is rebooted as it is: with Backend=reboot no image is compared"};
    if (server.locked && !policy.unlock)
        return {Act::refuse,
                fmt::format("server {} is locked{}: unlock it, or set Unlock=yes", server.name,
                            server.locked_reason.empty() ? "" : " (" + server.locked_reason + ")")};
    if (!server.task_state.empty() || server.status == "REBUILD")
        return while_task_runs(server, desired_image);
    if (server.volume_backed && !policy.allow_volume_rebuild)
        return {Act::refuse, fmt::format("server {} boots from a volume, its image cannot be told "
                                         "and a rebuild would wipe the volume: see "
                                         "AllowVolumeRebuild",
                                         server.name)};
    const bool matches = !server.volume_backed && server.image == desired_image;
    if (server.status == "ERROR")
        return {Act::rebuild,
                matches ? "image matches but the server is in ERROR" : "image differs"};
    if (matches && policy.unproved && (server.status == "ACTIVE" || server.status == "SHUTOFF"))
        return {Act::rebuild, "image matches but the node never proved that it runs it"};
    if (server.status == "ACTIVE")
        return matches ? Decision{Act::soft_reboot, "already on the desired image"}
                       : Decision{Act::rebuild, "image differs"};
    if (server.status == "SHUTOFF")
        return matches ? Decision{Act::hard_reboot, "image matches but the server is SHUTOFF"}
                       : Decision{Act::rebuild, "image differs, and the server is SHUTOFF"};
    if (server.status == "REBOOT" || server.status == "HARD_REBOOT" || server.status == "BUILD" ||
        server.status == "MIGRATING")
        return {Act::wait, fmt::format("server {} is in {}", server.name, server.status)};
    return {Act::refuse, fmt::format("server {} is {}, from which nova cannot rebuild: bring it to "
                                     "ACTIVE first",
                                     server.name, server.status)};
}

const char* name_of(Decision::Act act) {
    switch (act) {
        case Act::rebuild:
            return "rebuild";
        case Act::soft_reboot:
            return "reboot";
        case Act::hard_reboot:
            return "reboot (hard)";
        case Act::adopt:
            return "adopt";
        case Act::wait:
            return "wait";
        case Act::refuse:
            return "blocked";
    }
    return "blocked";
}

}  // namespace cohort
