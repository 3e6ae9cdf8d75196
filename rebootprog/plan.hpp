// SPDX-License-Identifier: GPL-2.0-or-later
//
// `scohort plan` and `scohort status`: tables of what would be done and of what was done.
#pragma once

#include <string>

#include "rebootprog/site.hpp"

namespace cohort {

// NODES: a host list, or empty for every node with a file in DesiredDir. Changes nothing.
int plan(const Site& site, const std::string& nodes, bool json);

int status(const Site& site, bool json);

}  // namespace cohort
