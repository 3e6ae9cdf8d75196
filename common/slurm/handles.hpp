// SPDX-License-Identifier: GPL-2.0-or-later
//
// Owners of the messages that libslurm allocates. Move-only; not shared between threads.
#pragma once

#include <memory>

#include "common/slurm/compat.hpp"

namespace cohort::slurm {

template <auto Free>
struct Freer {
    template <class T>
    void operator()(T* p) const noexcept {
        Free(p);
    }
};

using NodeMessage = std::unique_ptr<node_info_msg_t, Freer<slurm_free_node_info_msg>>;
using PartitionMessage =
    std::unique_ptr<partition_info_msg_t, Freer<slurm_free_partition_info_msg>>;
using JobMessage = std::unique_ptr<job_info_msg_t, Freer<slurm_free_job_info_msg>>;
using ConfigMessage = std::unique_ptr<slurm_conf_t, Freer<compat::free_config>>;
using AssociationMessage =
    std::unique_ptr<assoc_mgr_info_msg_t, Freer<slurm_free_assoc_mgr_info_msg>>;
using ReservationMessage =
    std::unique_ptr<reserve_info_msg_t, Freer<slurm_free_reservation_info_msg>>;

// Empty for a null pointer: any of Slurm's strings may be one.
inline std::string text(const char* s) {
    return s ? s : "";
}

}  // namespace cohort::slurm
