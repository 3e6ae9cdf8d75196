// SPDX-License-Identifier: GPL-2.0-or-later
//
// The site as a program on the controller sees it: cohort.conf, slurm.conf and the state folder.
#pragma once

#include <string>

#include "common/cluster.hpp"
#include "common/result.hpp"
#include "common/settings.hpp"

namespace cohort {

struct Site {
    Configuration configuration;
    ControllerConfig slurm;
    std::string state_dir;  // exists, belongs to SlurmUser, mode 0700

    const Settings& settings() const { return configuration.site; }
};

// Everything but submitting is SlurmUser's work: files of the state folder must not become root's.
// For root and SlurmUser only (Errc::denied).
Status become_slurm_user(const ControllerConfig& slurm);

// Reads both. A missing cohort.conf means the defaults; a bad one falls back to
// StateDir/cohort.conf.good (kept by the job_submit plugin), which is logged. Creates the state
// folder when it is absent. One RPC. Errc::unreachable when slurmctld does not answer.
Result<Site> load_site();

}  // namespace cohort
