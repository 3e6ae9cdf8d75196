// SPDX-License-Identifier: GPL-2.0-or-later
//
// Which nodes must be of one revision for one job, and under which rule.
//
// A cohort is a Cohort= line of cohort.conf, else (for the nodes that no line names) a partition
// whose nodes all have one desired revision. Where no desired revision is known for any node of a
// partition it counts as a cohort: what is only suspected to be one must not mix. Pure; host lists
// are expanded and desired revisions looked up by functions of the caller, outside of any hook.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"
#include "common/settings.hpp"
#include "common/snapshot.hpp"

namespace cohort::guard {

// The guard's rule for one cohort.
struct Rule {
    MixedRevision mixed = MixedRevision::confine;
    bool single_node = false;  // GuardSingleNode: jobs of one node are bound too
    bool admins = false;       // GuardAdmins
    bool operator==(const Rule&) const = default;
};

struct CohortDefinition {
    std::string name;
    std::vector<std::string> nodes;
    Rule rule;
};

using ExpandHosts = std::function<Result<std::vector<std::string>>(std::string_view)>;
// What a node is to run (image or revision: any word that differs when they differ); "" = unknown.
using DesiredRevision = std::function<std::string(const std::string& node)>;

// The strictest of the rules (block > hold > confine > off), and each flag that one of them sets.
Rule strictest(const Rule& a, const Rule& b);
Rule rule_of(const Settings& settings);

// Fails on a host list that cannot be expanded, naming the cohort. Nodes=ALL is every node.
Result<std::vector<CohortDefinition>> define_cohorts(const Configuration& configuration,
                                                     const Snapshot& snapshot,
                                                     const ExpandHosts& expand,
                                                     const DesiredRevision& desired);

}  // namespace cohort::guard
