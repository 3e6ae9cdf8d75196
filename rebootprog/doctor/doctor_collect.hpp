// SPDX-License-Identifier: GPL-2.0-or-later
//
// Reads what `scohort doctor` judges: slurmctld, this machine, StateDir, the cloud.
//
// Changes nothing but the user that the process runs as: root becomes SlurmUser before any file is
// looked at, so that rights are judged as the daemons meet them. What cannot be read is said in the
// facts. A few RPCs, and a few requests to the cloud of at most ten seconds each.
#pragma once

#include "common/result.hpp"
#include "rebootprog/doctor/doctor_facts.hpp"

namespace cohort {

// Errc::denied for anybody but root and SlurmUser.
Result<DoctorFacts> collect_facts();

// Its part that asks the back ends of NODES (doctor_collect_cloud.cpp).
CloudFacts read_cloud(const Configuration& configuration, const std::vector<Node>& nodes);

}  // namespace cohort
