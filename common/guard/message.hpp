// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the guard says to users: which revisions, how many nodes, and the way out. At most four
// lines of one sentence each; Slurm puts "sbatch: error: " before every line. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cohort::guard {

// How a job's candidate nodes divide.
struct Tally {
    struct Count {
        std::string revision;
        std::size_t nodes = 0;
    };
    std::vector<Count> revisions;  // largest first
    std::size_t unlabelled = 0;
    std::string cohort;

    std::size_t largest() const { return revisions.empty() ? 0 : revisions.front().nodes; }
    std::string text() const;  // "rev_a: 5 nodes, rev_b: 3 nodes, without a revision: 1"
};

using Lines = std::vector<std::string>;

Lines told_bound(const Tally& tally, const std::string& bound);
Lines told_trimmed(const Tally& tally, const std::string& partition);
Lines held_cold();
Lines held_by_rule(const Tally& tally);
Lines held_for_size(const Tally& tally, std::uint32_t needed);
Lines refused_by_rule(const Tally& tally);
Lines refused_size(const Tally& tally, std::uint32_t needed);
Lines refused_node_list(const Tally& tally, const std::string& nodes);
Lines refused_counts(const Tally& tally, const std::string& constraint);
Lines refused_unclear(const Tally& tally, const std::string& constraint, const std::string& why);
Lines refused_component(const Tally& tally, const std::string& revision);

}  // namespace cohort::guard
