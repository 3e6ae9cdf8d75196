// SPDX-License-Identifier: GPL-2.0-or-later
//
// `scohort rebuild|pause|resume|abort|retry|rollback`: the administrator's words on rollouts.
//
// Each takes advance's lock, changes the journal, and takes one step of advance, so that what it
// asked for begins at once. WHO is the person, for the journal. The result is an exit code.
#pragma once

#include <cstdint>
#include <string>

#include "rebootprog/rollout/plan_make.hpp"
#include "rebootprog/site/site.hpp"

namespace cohort {

struct RebuildOptions {
    Choice choice;
    std::string max_unavailable, min_available;  // empty: cohort.conf's
    std::int64_t failure_budget = -1;            // -1: cohort.conf's
    std::int64_t canary = 0;
    std::string soak;  // a duration
    std::string order = "free";
    std::string window;       // HH:MM-HH:MM
    std::string via = "job";  // job, reboot
    std::string reason;
    bool allow_quarantined = false;
    bool dry_run = false;
};

int rebuild(const Site& site, const RebuildOptions& options, const std::string& who);

// ROLLOUT 0: all that are open.
int pause_rollout(const Site& site, std::int64_t rollout, const std::string& reason,
                  const std::string& who);
int resume_rollout(const Site& site, std::int64_t rollout, const std::string& who);
int abort_rollout(const Site& site, std::int64_t rollout, const std::string& reason,
                  const std::string& who);

// NODES (a host list) that failed in their newest rollout are begun anew.
int retry_nodes(const Site& site, const std::string& nodes, const std::string& who);

// A new rollout that brings what ROLLOUT (0: the newest) changed or tried to change back to the
// image that each node had before; that rollout is aborted when it is still open.
int rollback(const Site& site, std::int64_t rollout, const std::string& who);

// The person behind this process: call before the user id is changed.
std::string invoking_person();

}  // namespace cohort
