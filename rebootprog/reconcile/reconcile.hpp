// SPDX-License-Identifier: GPL-2.0-or-later
//
// `scohort reconcile`: one pass, inventory -> decide -> act. The result is an exit code.
//
// Safe to run at any time; a second one at the same moment ends with try_again, and on a controller
// that is not the active one it does nothing. Runs as SlurmUser. Every act goes into the journal.
#pragma once

#include <string>

#include "rebootprog/site/site.hpp"

namespace cohort {

struct ReconcileOptions {
    bool dry_run = false;
    bool json = false;
    bool quiet = false;        // say nothing when nothing is done
    bool invalid_reg = false;  // only repair stale registrations: no inventory is read
    std::string min_age;       // a duration; empty: ReconcileAge
};

int reconcile(const Site& site, const ReconcileOptions& options, const std::string& who);

}  // namespace cohort
