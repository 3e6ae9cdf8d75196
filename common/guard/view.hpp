// SPDX-License-Identifier: GPL-2.0-or-later
//
// A snapshot with the guard's indices: nodes by revision, feature, partition, reservation, cohort.
//
// The plugin's thread builds one per snapshot and publishes it as shared_ptr<const GuardView>; the
// hooks only read it. A view owns its snapshot, never changes and holds no lock.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/guard/cohorts.hpp"
#include "common/guard/node_set.hpp"
#include "common/snapshot.hpp"

namespace cohort::guard {

// An attempt on it has begun and has not ended well yet: its revision is about to change.
bool is_under_way(const Node& node);

struct Cohort {
    std::string name;
    NodeSet nodes;
    Rule rule;
    // Most of its nodes carry a label or have had one withdrawn by us: `scohort adopt` has run, or
    // the rebuild of a cohort that was never adopted is half over. Not adopted: the guard is off.
    // (A first rebuild by hand does not turn it on for all the others.)
    bool adopted = false;
    // An attempt is under way or has withdrawn a label: revisions will differ soon.
    bool open = false;
    // All nodes have one label.
    bool uniform = false;

    bool guarded() const { return adopted && rule.mixed != MixedRevision::off; }
};

class GuardView {
  public:
    GuardView(std::shared_ptr<const Snapshot> snapshot,
              const std::vector<CohortDefinition>& cohorts);

    const Snapshot& snapshot() const { return *snapshot_; }
    const std::vector<Cohort>& cohorts() const { return cohorts_; }

    const NodeSet& all() const { return all_; }  // without nodes that do not exist yet (FUTURE)
    const NodeSet& available() const { return available_; }
    const NodeSet& labelled() const { return labelled_; }
    const std::vector<std::string>& revisions() const { return revisions_; }
    const NodeSet& revision(std::size_t index) const { return revision_nodes_[index]; }
    // A revision that is on labels and on no node's active features: slurmctld has lost them
    // (restart, reconfigure) and refuses jobs that name it until the thread has put them back.
    bool revision_known_to_slurm(std::size_t index) const { return live_[index]; }
    std::size_t revision_index(std::string_view name) const;  // npos: none
    static constexpr std::size_t npos = static_cast<std::size_t>(-1);

    // Nodes of a feature or revision name; the empty set for an unknown one. A revision is taken
    // from the label, which survives restarts, not from the feature.
    const NodeSet& feature(std::string_view name) const;
    const NodeSet* partition(std::string_view name) const;    // nullptr: no such partition
    const NodeSet* reservation(std::string_view name) const;  // nullptr: no such reservation
    const NodeSet* default_partition() const;
    std::size_t position(const std::string& node) const;  // npos: no such node
    // Beside each other: a job of many tasks is counted out in every submission.
    std::uint32_t cpus(std::size_t node) const { return cpus_[node]; }

  private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view s) const {
            return std::hash<std::string_view>()(s);
        }
    };
    using Sets = std::unordered_map<std::string, NodeSet, Hash, std::equal_to<>>;

    void index_nodes();
    void index_cohort(const CohortDefinition& definition);
    NodeSet set_of(const std::vector<std::string>& names) const;

    std::shared_ptr<const Snapshot> snapshot_;
    std::vector<Cohort> cohorts_;
    NodeSet none_, all_, available_, labelled_;
    std::vector<std::string> revisions_;
    std::vector<NodeSet> revision_nodes_;
    std::vector<bool> live_;
    std::vector<std::uint32_t> cpus_;
    Sets features_, partitions_, reservations_;
    std::string default_partition_;
};

}  // namespace cohort::guard
