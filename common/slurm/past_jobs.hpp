// SPDX-License-Identifier: GPL-2.0-or-later
//
// Jobs of the past, from slurmdbd. Programs only: slurmctld exports none of this to plugins.
//
// One connection and one query, which may take seconds on a large database. Needs SlurmUser, root
// or an operator to see everybody's jobs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/result.hpp"

namespace cohort::slurm {

struct PastJob {
    std::uint32_t id = 0;
    std::uint32_t user_id = 0;
    std::string nodes;  // host list expression
    std::string admin_comment;
    std::int64_t start = 0, end = 0;  // end 0: it still runs, as far as slurmdbd knows
};

// Those of CLUSTER that ran at some time between FROM and TO (seconds since the epoch).
// Errc::unreachable: no slurmdbd answers, or the site has none.
Result<std::vector<PastJob>> load_past_jobs(const std::string& cluster, std::int64_t from,
                                            std::int64_t to);

}  // namespace cohort::slurm
