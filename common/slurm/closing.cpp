// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/slurm/closing.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>

#include <fmt/core.h>

#include "common/slurm/compat.hpp"
#include "common/slurm/hostlist.hpp"
#include "common/slurm/load.hpp"
#include "common/text.hpp"

namespace cohort::slurm {
namespace {

tl::unexpected<Error> refused(const std::string& what, int error) {
    return fail(error == ESLURM_RESERVATION_BUSY ? Errc::busy : Errc::failed,
                fmt::format("slurmctld refuses {}: {}", what, slurm_strerror(error)));
}

Result<bool> exists(const std::string& name) {
    const auto all = load_reservations();
    if (!all) return tl::unexpected(all.error());
    return std::ranges::any_of(*all, [&](const Reservation& one) { return one.name == name; });
}

}  // namespace

Status set_partition(const std::string& name, bool up) {
    update_part_msg_t message;
    slurm_init_part_desc_msg(&message);
    std::string copy = name;
    message.name = copy.data();
    message.state_up = up ? PARTITION_UP : PARTITION_DOWN;
    if (slurm_update_partition(&message) == SLURM_SUCCESS) return {};
    return refused(fmt::format("partition {} {}", name, up ? "UP" : "DOWN"), errno);
}

Status reserve(const std::string& name, const std::vector<std::string>& nodes,
               const std::vector<std::string>& users) {
    const auto known = exists(name);
    if (!known) return tl::unexpected(known.error());
    if (*known) return {};
    resv_desc_msg_t message;
    slurm_init_resv_desc_msg(&message);
    std::string copy = name, list = compress_hosts(nodes), who = text::join(users, ",");
    message.name = copy.data();
    message.node_list = list.data();
    message.users = who.data();
    message.start_time = std::time(nullptr);
    message.duration = INFINITE;
    message.flags = RESERVE_FLAG_MAINT | RESERVE_FLAG_IGN_JOBS;
    // The name is free()'s in 22.05 and xfree()'s in 26.05: these few bytes are left.
    if (!slurm_create_reservation(&message))
        return refused(fmt::format("reservation {} of {}", name, list), errno);
    return {};
}

Status unreserve(const std::string& name) {
    const auto known = exists(name);
    if (!known) return tl::unexpected(known.error());
    if (!*known) return {};
    std::string copy = name;
    reservation_name_msg_t message{};
    message.name = copy.data();
    if (slurm_delete_reservation(&message) == SLURM_SUCCESS) return {};
    return refused("to end reservation " + name, errno);
}

}  // namespace cohort::slurm
