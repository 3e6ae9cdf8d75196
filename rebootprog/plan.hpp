// SPDX-License-Identifier: GPL-2.0-or-later
//
// `scohort plan` and `scohort status`: tables of what would be done and of what was done.
#pragma once

#include "rebootprog/plan_make.hpp"
#include "rebootprog/site.hpp"

namespace cohort {

// Changes nothing.
int plan(const Site& site, const Choice& choice, bool json);

int status(const Site& site, bool json);

}  // namespace cohort
