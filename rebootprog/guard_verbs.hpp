// SPDX-License-Identifier: GPL-2.0-or-later
//
// scohort adopt, guard and detach: how the guard is brought in, switched off in an emergency, and
// taken away again. Each returns the exit code, runs as SlurmUser and is idempotent.
#pragma once

#include <string>

#include "rebootprog/site/site.hpp"

namespace cohort {

// Labels the nodes of EXPRESSION (a host list; empty: all) that have no label, by what they run:
// the image of the server and its stamp, as the cloud has it. Nodes with an attempt on record, or
// whose Extra is not ours, are left alone.
int adopt(const Site& site, const std::string& expression);

// WORD is off (for LIMIT, "30min"), on, or empty: says how it is.
int guard_switch(const Site& site, const std::string& word, const std::string& limit);

// Takes every trace of the suite off waiting jobs and nodes (admin_comment, constraints, Extra,
// features). Refused while rebuild jobs exist.
int detach(const Site& site);

}  // namespace cohort
