// SPDX-License-Identifier: GPL-2.0-or-later
//
// `scohort barrier`: closes a cohort, brings all of it to one revision, and opens it again. The
// result is an exit code. Runs as SlurmUser; one at a time (try_again).
#pragma once

#include <string>

#include "rebootprog/site/site.hpp"

namespace cohort {

struct BarrierOptions {
    std::string cohort;
    std::string image;     // --to
    std::string revision;  // the label that every node must have at the end
    std::string command;   // words between white space, instead of the cloud
    std::string wait;      // a duration: for jobs to end; empty: as long as they take
    std::string time;      // a duration: for machines to be replaced
    std::string reason;
    bool check_only = false;
    bool undo = false;
};

int barrier(const Site& site, const BarrierOptions& options, const std::string& who);

}  // namespace cohort
