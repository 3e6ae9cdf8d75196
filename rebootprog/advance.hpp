// SPDX-License-Identifier: GPL-2.0-or-later
//
// `scohort advance`: one idempotent step, observe -> decide -> act.
//
// Safe to run at any time, from a timer or by hand; a second one at the same moment ends with
// try_again. Runs as SlurmUser.
#pragma once

#include "rebootprog/site.hpp"

namespace cohort {

// VERBOSE: say also when there was nothing to do.
int advance(const Site& site, bool verbose);

}  // namespace cohort
