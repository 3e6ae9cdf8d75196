// SPDX-License-Identifier: GPL-2.0-or-later
//
// Does slurmctld know a feature at this very moment?
//
// Up to 23.02 `scontrol reconfigure` drops the features that were set by an update, in the running
// process, and a job that names one of them is refused ("Invalid feature specification") until the
// plugin's thread has put them back, up to 50 ms later. Only slurmctld's own list tells whether it
// is that moment. Newer versions start a new process, which begins cold.
#pragma once

#include <string>
#include <vector>

namespace cohort::slurm {

// For a job_submit or job_modify hook only: slurmctld holds its node lock then. False when one of
// NAMES is missing from the list; true where that cannot be told.
bool features_are_live(const std::vector<std::string>& names) noexcept;

}  // namespace cohort::slurm
