// SPDX-License-Identifier: GPL-2.0-or-later
//
// Slurm's state bits of a node as a value. Pure.
#pragma once

#include <cstdint>

#include "common/cluster.hpp"

namespace cohort::slurm {

// RAW: node_info_t::node_state. A base that Slurm did not have when this was written is unknown.
NodeState node_state(std::uint32_t raw);

}  // namespace cohort::slurm
