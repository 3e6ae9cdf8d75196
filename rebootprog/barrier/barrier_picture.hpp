// SPDX-License-Identifier: GPL-2.0-or-later
//
// A cohort as a barrier finds it: its nodes, its partitions, and what is under way there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/cluster.hpp"
#include "common/result.hpp"
#include "rebootprog/barrier/barrier.hpp"
#include "rebootprog/journal/journal.hpp"
#include "rebootprog/site/site.hpp"

namespace cohort {

struct CohortPicture {
    std::vector<Node> members;
    std::vector<std::string> others;      // drained by somebody else
    std::vector<std::string> partitions;  // wholly of the cohort
    std::vector<std::string> down;        // of them, those that are not UP
    std::vector<std::string> shared;      // partitions that have other nodes too
    std::optional<Barrier> unfinished;

    std::vector<std::string> member_names() const;
    Openness openness() const;
    // All members serve with this label; nothing when they differ, or one is out.
    std::optional<std::string> common_label() const;
};

// Two RPCs. Errc::invalid: there is no such cohort or partition; Errc::denied: none of its nodes
// can be replaced.
Result<CohortPicture> look_at_cohort(const Site& site, const Journal& journal,
                                     const std::string& cohort);

// Errc::denied when another barrier, or a rollout that is not its own, has nodes of it.
Status nobody_else(const CohortPicture& picture, const Journal& journal);

}  // namespace cohort
