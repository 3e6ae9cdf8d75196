// SPDX-License-Identifier: GPL-2.0-or-later
//
// `scohort doctor`: one line per check, PASS, WARN or FAIL, and what to do. Changes nothing.
#pragma once

namespace cohort {

// Ends with some_failed when a check failed, with unreachable when slurmctld does not answer.
int doctor(bool json);

}  // namespace cohort
