// SPDX-License-Identifier: GPL-2.0-or-later
//
// What keeps users off a cohort while its barrier is closed. Idempotent; every change it has to
// make again goes into the journal.
//
// First our drain on every node, which survives restarts, with the partitions DOWN beside it, which
// Slurm forgets at a restart without KeepPartState; after the proof a reservation, so that the
// nodes can be resumed and tried while nobody else may use them.
#pragma once

#include <string>
#include <vector>

#include "common/cluster.hpp"
#include "common/result.hpp"
#include "rebootprog/barrier/barrier.hpp"
#include "rebootprog/journal/journal.hpp"
#include "rebootprog/site/site.hpp"

namespace cohort {

// Makes it true again, whatever the step. WHO goes into the journal.
Status assert_closed(const Site& site, const Journal& journal, const Barrier& barrier,
                     const std::string& who);
// For every unfinished barrier.
Status assert_all_closed(const Site& site, const Journal& journal, const std::string& who);

// Lifts our holds. The names of nodes that somebody else has drained since: they stay drained.
Result<std::vector<std::string>> lift_holds(const Barrier& barrier);
Status set_partitions(const Barrier& barrier, bool up);

// The nodes of BARRIER as Slurm has them; a node that is not in Slurm's table is not among them.
Result<std::vector<Node>> load_members(const Barrier& barrier);
std::vector<std::string> members_of(const Barrier& barrier);

}  // namespace cohort
