// SPDX-License-Identifier: GPL-2.0-or-later
//
// `scohort plan`: a table of what would be done.
#pragma once

#include "rebootprog/rollout/plan_make.hpp"
#include "rebootprog/site/site.hpp"

namespace cohort {

// Changes nothing.
int plan(const Site& site, const Choice& choice, bool json);

}  // namespace cohort
