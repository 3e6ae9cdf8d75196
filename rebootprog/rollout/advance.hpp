// SPDX-License-Identifier: GPL-2.0-or-later
//
// `scohort advance`: one idempotent step, observe -> decide -> act.
//
// Safe to run at any time, from a timer or by hand; a second one at the same moment ends with
// try_again. Runs as SlurmUser.
#pragma once

#include <string>

#include "common/file.hpp"
#include "common/result.hpp"
#include "rebootprog/journal/journal.hpp"
#include "rebootprog/site/site.hpp"

namespace cohort {

// VERBOSE: say also when there was nothing to do.
int advance(const Site& site, bool verbose);

// The lock that every step, and every verb that changes a rollout, holds; waits at most SECONDS.
Result<UniqueFd> lock_advance(const Site& site, int seconds);

// The step itself, under that lock. WHO goes into the journal.
int take_step(const Site& site, Journal& journal, const std::string& who, bool verbose);

}  // namespace cohort
