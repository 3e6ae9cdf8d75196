// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/guard/verdict.hpp"

#include <algorithm>

#include "common/guard/judge.hpp"
#include "common/text.hpp"

namespace cohort::guard {

Verdict Judge::run() {
    out_.het_choice = request_.het_choice;
    read_constraints();
    if (!find_places()) return out_;
    find_cohorts();
    if (involved_.empty()) return out_;
    if (caller_.admin && !rule_.admins) return out_;
    count_tally();
    if (holds_by_itself()) return out_;
    if (rule_.mixed == MixedRevision::block)
        return request_.queued ? hold(Cause::rule, held_by_rule(tally_))
                               : refuse(Cause::rule, refused_by_rule(tally_));
    if (rule_.mixed == MixedRevision::hold)
        return request_.queued || could_run_unbound() ? hold(Cause::rule, held_by_rule(tally_))
                                                      : out_;
    return confine();
}

void Judge::read_constraints() {
    if (auto read = parse_constraint(request_.features)) {
        features_ = std::move(*read);
    } else {
        unclear_ = read.error().message;
    }
    if (auto read = parse_constraint(request_.prefer)) {
        prefer_ = std::move(*read);
    } else {
        unclear_ = read.error().message;
    }
}

NodeSet Judge::excluded() const {
    NodeSet set(view_.all().size());
    for (const auto& name : request_.excluded)
        if (const auto i = view_.position(name); i != GuardView::npos) set.add(i);
    return set;
}

bool Judge::find_places() {
    NodeSet within = view_.all() - excluded();
    if (!request_.reservation.empty()) {
        NodeSet reserved(view_.all().size());
        for (const auto& name : text::split(request_.reservation, ',')) {
            const NodeSet* one = view_.reservation(name);
            if (!one) return false;
            reserved |= *one;
        }
        within &= reserved;
    }
    for (const auto& name : text::split(request_.partition, ',')) {
        const NodeSet* nodes = view_.partition(name);
        if (!nodes) return false;
        add_place(name, within & *nodes);
    }
    if (places_.empty()) {
        const NodeSet* nodes = view_.default_partition();
        // A reservation can bring its own partition.
        if (!nodes && request_.reservation.empty()) return false;
        add_place("", request_.reservation.empty() ? within & *nodes : within);
    }
    for (const auto& name : request_.required)
        if (const auto i = view_.position(name); i != GuardView::npos) required_.push_back(i);
    return true;
}

void Judge::add_place(const std::string& name, NodeSet base) {
    Place place{name, base, base, {base}, NodeSet(base.size())};
    if (unclear_.empty()) {
        place.choices = choices(features_, base);
        place.features = merged(place.choices);
        if (!prefer_.empty()) place.prefer = merged(choices(prefer_, base));
    }
    places_.push_back(std::move(place));
}

std::vector<NodeSet> Judge::choices(const Constraint& constraint, const NodeSet& base) const {
    // Slurm does not hold the nodes of a list against the alternatives in brackets.
    if (!request_.required.empty() && constraint.has_brackets()) return {base};
    return alternatives(constraint, base, look_up());
}

FeatureNodes Judge::look_up() const {
    return [this](std::string_view name) -> const NodeSet& { return view_.feature(name); };
}

NodeSet Judge::merged(const std::vector<NodeSet>& sets) {
    NodeSet all = sets.front();
    for (const auto& set : sets) all |= set;
    return all;
}

bool Judge::spans(const Cohort& cohort, const NodeSet& set) const {
    if (!set.meets(cohort.nodes)) return false;
    if (request_.het) return !cohort.uniform || cohort.open;
    const NodeSet nodes = set & cohort.nodes;
    if (nodes.count() < 2) return false;
    if (cohort.open || !nodes.within(view_.labelled())) return true;
    std::size_t kinds = 0;
    for (std::size_t i = 0; i < view_.revisions().size(); ++i)
        kinds += view_.revision(i).meets(nodes) ? 1 : 0;
    return kinds > 1;
}

bool Judge::spans(const Cohort& cohort, const Place& place) const {
    return spans(cohort, place.features) || spans(cohort, place.prefer);
}

void Judge::find_cohorts() {
    const bool one_node = request_.one_node_only();
    rule_ = Rule{MixedRevision::off, false, false};
    for (const auto& cohort : view_.cohorts()) {
        if (!cohort.guarded() || (one_node && !cohort.rule.single_node)) continue;
        if (std::ranges::none_of(places_, [&](const auto& p) { return spans(cohort, p); }))
            continue;
        involved_.push_back(&cohort);
        rule_ = strictest(rule_, cohort.rule);
    }
}

void Judge::count_tally() {
    tally_.cohort = out_.cohort = involved_.front()->name;
    NodeSet nodes(view_.all().size());
    for (const auto& place : places_) nodes |= place.features;
    for (std::size_t i = 0; i < view_.revisions().size(); ++i)
        if (const auto n = view_.revision(i).count_common(nodes); n > 0)
            tally_.revisions.push_back({view_.revisions()[i], n});
    std::ranges::sort(tally_.revisions,
                      [](const auto& a, const auto& b) { return a.nodes > b.nodes; });
    NodeSet guarded(nodes.size());
    for (const auto* cohort : involved_) guarded |= cohort->nodes;
    tally_.unlabelled =
        (nodes & guarded).count() - (nodes & guarded).count_common(view_.labelled());
}

bool Judge::holds_by_itself() const {
    if (!unclear_.empty() || request_.het) return false;
    const auto enough = [&](const Constraint& c) {
        const Holds holds = holds_one_revision(c);
        return holds == Holds::pin || (holds == Holds::group && required_.empty());
    };
    return enough(features_) && (prefer_.empty() || enough(prefer_));
}

bool Judge::could_run_unbound() const {
    if (!unclear_.empty() || features_.has_counts()) return true;
    return std::ranges::any_of(places_, [&](const Place& place) {
        return std::ranges::any_of(place.choices, [&](const NodeSet& choice) {
            return choice.count() >= request_.nodes_needed() && has_cpus(choice) &&
                   std::ranges::all_of(required_, [&](auto i) { return choice.has(i); });
        });
    });
}

bool Judge::has_cpus(const NodeSet& nodes) const {
    if (request_.overcommit || request_.cpus <= nodes.count()) return true;
    std::uint64_t cpus = 0;
    nodes.for_each([&](std::size_t i) { cpus += view_.cpus(i); });
    return cpus >= request_.cpus;
}

Verdict Judge::hold(Cause cause, Lines lines) {
    out_.outcome = Outcome::hold;
    out_.cause = cause;
    out_.message = std::move(lines);
    return out_;
}

Verdict Judge::refuse(Cause cause, Lines lines) {
    out_.outcome = Outcome::refuse;
    out_.cause = cause;
    out_.message = std::move(lines);
    return out_;
}

bool Request::one_node_only() const {
    if (het || required.size() > 1) return false;
    if (max_nodes == 1) return true;
    const std::uint32_t per_task = std::max(cpus_per_task, 1U);
    return max_nodes == 0 && min_nodes <= 1 && tasks <= 1 && cpus <= per_task && !job_wide_gres;
}

std::uint32_t Request::nodes_needed() const {
    return std::max({1U, min_nodes, static_cast<std::uint32_t>(required.size())});
}

Verdict judge(const Request& request, const Caller& caller, const GuardView* view) {
    if (!view) {
        Verdict verdict;
        if (request.one_node_only() || caller.admin) return verdict;
        verdict.outcome = Outcome::hold;
        verdict.cause = Cause::cold;
        verdict.message = held_cold();
        return verdict;
    }
    return Judge(request, caller, *view).run();
}

}  // namespace cohort::guard
