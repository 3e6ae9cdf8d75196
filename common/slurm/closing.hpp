// SPDX-License-Identifier: GPL-2.0-or-later
//
// What keeps users off whole sets of nodes: the state of a partition, and a reservation.
//
// One or two RPCs each; needs SlurmUser, root or an operator. A partition's state is lost when
// slurmctld restarts or reconfigures without ReconfigFlags=KeepPartState; a reservation is not.
#pragma once

#include <string>
#include <vector>

#include "common/result.hpp"

namespace cohort::slurm {

Status set_partition(const std::string& name, bool up);

// Only USERS may use NODES, in reservation NAME, until unreserve(); jobs that run there go on, and
// no other reservation's jobs begin there (MAINT). Nothing is done when NAME exists.
Status reserve(const std::string& name, const std::vector<std::string>& nodes,
               const std::vector<std::string>& users);

// Nothing is done when there is no such reservation. Errc::busy: a job of it runs.
Status unreserve(const std::string& name);

}  // namespace cohort::slurm
