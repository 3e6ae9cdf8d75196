// SPDX-License-Identifier: GPL-2.0-or-later
//
// The inside of judge() (verdict.hpp), for verdict.cpp and confine.cpp only: one request against
// one view, and what is found out on the way. An object lives for one verdict, in one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/guard/bound.hpp"
#include "common/guard/constraint.hpp"
#include "common/guard/message.hpp"
#include "common/guard/verdict.hpp"

namespace cohort::guard {

using Revisions = std::vector<std::size_t>;  // indices into GuardView::revisions()

// One partition that the job may run in, and its nodes there.
struct Place {
    std::string partition;
    NodeSet base;                  // before its features
    NodeSet features;              // what its features leave
    std::vector<NodeSet> choices;  // the alternatives that those are made of
    NodeSet prefer;  // what its --prefer leaves: Slurm tries that INSTEAD of the features
};

class Judge {
  public:
    Judge(const Request& request, const Caller& caller, const GuardView& view)
        : request_(request), caller_(caller), view_(view) {}

    Verdict run();

  private:
    // --- what the job asks for
    void read_constraints();
    NodeSet excluded() const;
    // False: Slurm will refuse the job (no such partition or reservation, no default partition).
    bool find_places();
    void add_place(const std::string& name, NodeSet base);
    std::vector<NodeSet> choices(const Constraint& constraint, const NodeSet& base) const;
    FeatureNodes look_up() const;
    static NodeSet merged(const std::vector<NodeSet>& sets);

    // --- which rules it meets
    // More than one revision, or a node without one, among SET's nodes of COHORT.
    bool spans(const Cohort& cohort, const NodeSet& set) const;
    bool spans(const Cohort& cohort, const Place& place) const;
    void find_cohorts();
    void count_tally();
    // The user has chosen a revision himself, in a form that Slurm enforces.
    bool holds_by_itself() const;
    // Would some partition's nodes take it, of whatever revision? Slurm refuses at submission what
    // no nodes could, but not what is held [22.05]: that would wait for ever. Counts are Slurm's to
    // judge.
    bool could_run_unbound() const;
    bool has_cpus(const NodeSet& nodes) const;

    // --- to which revisions it can be bound (confine.cpp)
    Verdict confine();
    std::string constraint_text() const;
    // Revisions with nodes for this job; the ones with most free nodes first, but the one that it
    // is pinned to before them while it can start there as soon as elsewhere.
    void find_present();
    // Some partition has enough nodes of REVISIONS taken together.
    bool fits(const Revisions& revisions) const;
    // No guarded cohort has nodes of two of REVISIONS within one partition.
    bool consistent(const Revisions& revisions) const;
    // SEED and every revision of other cohorts that can stand beside it.
    Revisions grow(Revisions seed) const;
    Verdict pin_best();
    Verdict confine_node_list();
    // Records what a het job is pinned to; false when an earlier component chose otherwise, or the
    // components need more nodes together than there are.
    bool choose(const Revisions& revisions);
    // How many of its nodes of revision R must be among NODES, a cohort's: the others may lie
    // outside.
    std::uint32_t least_within(const NodeSet& nodes, std::size_t r) const;
    Verdict confine_component();
    Verdict component_refused();
    Verdict confine_counts();
    Bound group_of(const Revisions& revisions) const;
    Bound pin_of(const Revisions& revisions) const;
    Verdict bind(const Bound& bound);
    // No revision of BOUND has the preferred nodes that all of them together have. Slurm 22.05
    // takes no job whose preference can never be met, so it is left out until its user gets it
    // back.
    bool bound_defeats_preference(const Bound& bound) const;

    // --- what cannot be bound
    // The partitions of a list whose nodes cannot span.
    std::string harmless_partitions() const;
    Verdict cannot_fit();
    Verdict cannot(Cause cause, Lines lines);
    Verdict hold(Cause cause, Lines lines);
    Verdict refuse(Cause cause, Lines lines);

    const Request& request_;
    const Caller& caller_;
    const GuardView& view_;
    Verdict out_;
    Constraint features_, prefer_;
    std::string unclear_;  // why a constraint could not be read
    std::vector<Place> places_;
    std::vector<std::size_t> required_;
    std::vector<const Cohort*> involved_;
    Rule rule_;
    Tally tally_;
    Revisions present_;
};

}  // namespace cohort::guard
