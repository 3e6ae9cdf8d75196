// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/guard/cohorts.hpp"

#include <algorithm>
#include <set>
#include <unordered_set>

#include <fmt/core.h>

#include "common/text.hpp"

namespace cohort::guard {
namespace {

int strictness(MixedRevision mixed) {
    switch (mixed) {
        case MixedRevision::block:
            return 3;
        case MixedRevision::hold:
            return 2;
        case MixedRevision::confine:
            return 1;
        case MixedRevision::off:
            return 0;
    }
    return 3;
}

std::vector<std::string> all_names(const Snapshot& snapshot) {
    std::vector<std::string> names;
    names.reserve(snapshot.nodes.size());
    for (const auto& node : snapshot.nodes) names.push_back(node.name);
    return names;
}

bool of_one_desire(const std::vector<std::string>& nodes, const DesiredRevision& desired) {
    std::set<std::string> wanted;
    for (const auto& node : nodes)
        if (auto one = desired ? desired(node) : std::string(); !one.empty())
            wanted.insert(std::move(one));
    return wanted.size() <= 1;
}

}  // namespace

Rule strictest(const Rule& a, const Rule& b) {
    return Rule{strictness(a.mixed) >= strictness(b.mixed) ? a.mixed : b.mixed,
                a.single_node || b.single_node, a.admins || b.admins};
}

Rule rule_of(const Settings& settings) {
    return Rule{settings.mixed_revision, settings.guard_single_node, settings.guard_admins};
}

Result<std::vector<CohortDefinition>> define_cohorts(const Configuration& configuration,
                                                     const Snapshot& snapshot,
                                                     const ExpandHosts& expand,
                                                     const DesiredRevision& desired) {
    std::vector<CohortDefinition> cohorts;
    std::unordered_set<std::string> named;
    for (const auto& line : configuration.cohorts) {
        CohortDefinition cohort{line.name, {}, rule_of(line.settings)};
        if (text::iequals(line.nodes, "ALL")) {
            cohort.nodes = all_names(snapshot);
        } else {
            auto nodes = expand(line.nodes);
            if (!nodes) return fail(fmt::format("Cohort={}", line.name), nodes.error());
            cohort.nodes = std::move(*nodes);
        }
        named.insert(cohort.nodes.begin(), cohort.nodes.end());
        cohorts.push_back(std::move(cohort));
    }
    for (const auto& partition : snapshot.partitions) {
        std::vector<std::string> rest;
        for (const auto& node : partition.nodes)
            if (!named.contains(node)) rest.push_back(node);
        if (rest.empty() || !of_one_desire(rest, desired)) continue;
        cohorts.push_back({partition.name, std::move(rest), rule_of(configuration.site)});
    }
    return cohorts;
}

}  // namespace cohort::guard
