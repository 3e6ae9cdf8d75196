// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/guard/verdict.hpp"

#include <algorithm>
#include <tuple>

#include "common/guard/bound.hpp"
#include "common/guard/constraint.hpp"
#include "common/guard/message.hpp"
#include "common/text.hpp"

namespace cohort::guard {
namespace {

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

    Verdict run() {
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

  private:
    // --- what the job asks for -----------------------------------------------------------------

    void read_constraints() {
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

    NodeSet excluded() const {
        NodeSet set(view_.all().size());
        for (const auto& name : request_.excluded)
            if (const auto i = view_.position(name); i != GuardView::npos) set.add(i);
        return set;
    }

    // False: Slurm will refuse the job (no such partition or reservation, no default partition).
    bool find_places() {
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

    void add_place(const std::string& name, NodeSet base) {
        Place place{name, base, base, {base}, NodeSet(base.size())};
        if (unclear_.empty()) {
            place.choices = choices(features_, base);
            place.features = merged(place.choices);
            if (!prefer_.empty()) place.prefer = merged(choices(prefer_, base));
        }
        places_.push_back(std::move(place));
    }

    std::vector<NodeSet> choices(const Constraint& constraint, const NodeSet& base) const {
        // Slurm does not hold the nodes of a list against the alternatives in brackets.
        if (!request_.required.empty() && constraint.has_brackets()) return {base};
        return alternatives(constraint, base, look_up());
    }

    FeatureNodes look_up() const {
        return [this](std::string_view name) -> const NodeSet& { return view_.feature(name); };
    }

    static NodeSet merged(const std::vector<NodeSet>& sets) {
        NodeSet all = sets.front();
        for (const auto& set : sets) all |= set;
        return all;
    }

    // --- which rules it meets ------------------------------------------------------------------

    // More than one revision, or a node without one, among SET's nodes of COHORT.
    bool spans(const Cohort& cohort, const NodeSet& set) const {
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

    bool spans(const Cohort& cohort, const Place& place) const {
        return spans(cohort, place.features) || spans(cohort, place.prefer);
    }

    void find_cohorts() {
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

    void count_tally() {
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

    // The user has chosen a revision himself, in a form that Slurm enforces.
    bool holds_by_itself() const {
        if (!unclear_.empty() || request_.het) return false;
        const auto enough = [&](const Constraint& c) {
            const Holds holds = holds_one_revision(c);
            return holds == Holds::pin || (holds == Holds::group && required_.empty());
        };
        return enough(features_) && (prefer_.empty() || enough(prefer_));
    }

    // Would some partition's nodes take it, of whatever revision? Slurm refuses at submission what
    // no nodes could, but not what is held [22.05]: that would wait for ever. Counts are Slurm's to
    // judge.
    bool could_run_unbound() const {
        if (!unclear_.empty() || features_.has_counts()) return true;
        return std::ranges::any_of(places_, [&](const Place& place) {
            return std::ranges::any_of(place.choices, [&](const NodeSet& choice) {
                return choice.count() >= request_.nodes_needed() && has_cpus(choice) &&
                       std::ranges::all_of(required_, [&](auto i) { return choice.has(i); });
            });
        });
    }

    // --- confine -------------------------------------------------------------------------------

    Verdict confine() {
        if (!unclear_.empty())
            return cannot(Cause::unclear, refused_unclear(tally_, constraint_text(), unclear_));
        if (prefer_.has_counts())
            return cannot(Cause::counts, refused_counts(tally_, request_.prefer));
        find_present();
        if (!required_.empty()) return confine_node_list();
        if (request_.het) return confine_component();
        if (features_.has_counts()) return confine_counts();
        if (features_.has_brackets() || prefer_.has_brackets()) return pin_best();
        if (std::ranges::any_of(present_, [&](auto r) { return fits({r}); }) || request_.queued) {
            if (present_.empty()) return cannot_fit();
            return bind(group_of(present_));
        }
        return pin_best();
    }

    std::string constraint_text() const {
        return request_.features.empty() ? request_.prefer : request_.features;
    }

    // Revisions with nodes for this job; the ones with most free nodes first, but the one that it
    // is pinned to before them while it can start there as soon as elsewhere.
    void find_present() {
        struct Present {
            std::size_t free = 0, all = 0, revision = 0;
            bool keep = false;
        };
        std::vector<Present> order;
        const std::size_t needed = request_.nodes_needed();
        bool elsewhere = false;
        for (std::size_t r = 0; r < view_.revisions().size(); ++r) {
            Present one{0, 0, r, view_.revisions()[r] == request_.pinned};
            for (const auto& place : places_) {
                one.all += view_.revision(r).count_common(place.features);
                one.free += (view_.revision(r) & view_.available()).count_common(place.features);
            }
            elsewhere = elsewhere || (!one.keep && one.free >= needed);
            if (one.all > 0) order.push_back(one);
        }
        for (auto& one : order) one.keep = one.keep && (one.free >= needed || !elsewhere);
        std::ranges::stable_sort(order, [](const auto& a, const auto& b) {
            return std::tuple(a.keep, a.free, a.all) > std::tuple(b.keep, b.free, b.all);
        });
        for (const auto& one : order) present_.push_back(one.revision);
    }

    // Some partition has enough nodes of REVISIONS taken together.
    bool fits(const Revisions& revisions) const {
        NodeSet allowed(view_.all().size());
        for (const auto r : revisions) allowed |= view_.revision(r);
        return std::ranges::any_of(places_, [&](const Place& place) {
            return std::ranges::any_of(place.choices, [&](const NodeSet& choice) {
                if (choice.count_common(allowed) < request_.nodes_needed()) return false;
                return has_cpus(choice & allowed);
            });
        });
    }

    bool has_cpus(const NodeSet& nodes) const {
        if (request_.overcommit || request_.cpus <= nodes.count()) return true;
        std::uint64_t cpus = 0;
        nodes.for_each([&](std::size_t i) { cpus += view_.cpus(i); });
        return cpus >= request_.cpus;
    }

    // No guarded cohort has nodes of two of REVISIONS within one partition.
    bool consistent(const Revisions& revisions) const {
        for (const auto& cohort : view_.cohorts()) {
            if (!cohort.guarded()) continue;
            std::size_t kinds = 0;
            for (const auto r : revisions)
                kinds += std::ranges::any_of(places_, [&](const Place& place) {
                    return (view_.revision(r) & cohort.nodes).meets(place.base);
                });
            if (kinds > 1) return false;
        }
        return true;
    }

    // SEED and every revision of other cohorts that can stand beside it.
    Revisions grow(Revisions seed) const {
        for (const auto r : present_) {
            if (std::ranges::find(seed, r) != seed.end()) continue;
            seed.push_back(r);
            if (!consistent(seed)) seed.pop_back();
        }
        return seed;
    }

    Verdict pin_best() {
        for (const auto r : present_)
            if (fits({r})) return bind(pin_of({r}));
        for (const auto r : present_)
            if (const auto grown = grow({r}); grown.size() > 1 && fits(grown))
                return bind(pin_of(grown));
        if (request_.queued && !present_.empty()) return bind(pin_of({present_.front()}));
        return cannot_fit();
    }

    Verdict confine_node_list() {
        Revisions seed;
        bool bare = false, bare_in_guarded = false;
        for (const auto i : required_) {
            const auto& revision = view_.snapshot().nodes[i].record.revision;
            if (revision.empty()) {
                bare = true;
                for (const auto* cohort : involved_)
                    bare_in_guarded = bare_in_guarded || cohort->nodes.has(i);
                continue;
            }
            const auto r = view_.revision_index(revision);
            if (std::ranges::find(seed, r) == seed.end()) seed.push_back(r);
        }
        const auto listed = text::join(request_.required, ",");
        if (bare_in_guarded || !consistent(seed))
            return cannot(Cause::node_list, refused_node_list(tally_, listed));
        if (bare) {
            // Nodes outside of every cohort carry no revision to pin to; all is well when no other
            // node can join them.
            if (request_.max_nodes == request_.required.size()) return out_;
            return cannot(Cause::node_list, refused_node_list(tally_, listed));
        }
        if (features_.has_counts())
            return cannot(Cause::counts, refused_counts(tally_, request_.features));
        if (seed.empty()) return out_;  // no such nodes: Slurm refuses
        if (request_.het && !choose(seed)) return component_refused();
        if (!fits(seed)) seed = grow(seed);
        if (!fits(seed) && !request_.queued) return cannot_fit();
        return bind(pin_of(seed));
    }

    // Records what a het job is pinned to; false when an earlier component chose otherwise, or the
    // components need more nodes together than there are.
    bool choose(const Revisions& revisions) {
        for (const auto& cohort : view_.cohorts()) {
            if (!cohort.guarded()) continue;
            for (const auto r : revisions) {
                const NodeSet nodes = view_.revision(r) & cohort.nodes;
                if (std::ranges::none_of(
                        places_, [&](const Place& place) { return place.features.meets(nodes); }))
                    continue;
                const auto& name = view_.revisions()[r];
                HetPart& part = out_.het_choice.emplace(cohort.name, HetPart{name}).first->second;
                if (part.revision != name) return false;
                if (request_.queued) continue;  // it waits, and revisions come and go
                part.nodes += least_within(nodes, r);
                if (part.nodes > nodes.count()) return false;
            }
        }
        return true;
    }

    // How many of its nodes of revision R must be among NODES, a cohort's: the others may lie
    // outside.
    std::uint32_t least_within(const NodeSet& nodes, std::size_t r) const {
        const std::size_t needed = request_.nodes_needed();
        std::size_t least = needed;
        for (const auto& place : places_) {
            const NodeSet mine = place.features & view_.revision(r);
            const std::size_t outside = mine.count() - mine.count_common(nodes);
            least = std::min(least, needed - std::min(needed, outside));
        }
        return static_cast<std::uint32_t>(least);
    }

    Verdict confine_component() {
        if (features_.has_counts())
            return cannot(Cause::counts, refused_counts(tally_, request_.features));
        const auto before = out_.het_choice;
        for (const auto r : present_) {
            out_.het_choice = before;
            if (!choose({r}) || (!fits({r}) && !request_.queued)) continue;
            if (holds_one_revision(features_) == Holds::pin &&
                (prefer_.empty() || holds_one_revision(prefer_) == Holds::pin))
                return out_;
            return bind(pin_of({r}));
        }
        out_.het_choice = before;
        return before.empty() ? cannot_fit() : component_refused();
    }

    Verdict component_refused() {
        std::string chosen;
        for (const auto* cohort : involved_)
            if (const auto at = request_.het_choice.find(cohort->name);
                at != request_.het_choice.end())
                chosen = at->second.revision;
        return cannot(Cause::component, refused_component(tally_, chosen));
    }

    Verdict confine_counts() {
        const bool exact = request_.min_nodes > 0 && request_.min_nodes == request_.max_nodes;
        if (!exact || !prefer_.empty())
            return cannot(Cause::counts, refused_counts(tally_, request_.features));
        for (const auto r : present_) {
            if (std::ranges::none_of(places_, [&](const Place& place) {
                    return counts_fit(features_, place.base & view_.revision(r), look_up());
                }))
                continue;
            const auto& name = view_.revisions()[r];
            auto text = add_bound_to_counts(features_, name, request_.min_nodes);
            if (!text) break;
            if (!view_.revision_known_to_slurm(r)) return hold(Cause::cold, held_cold());
            out_.outcome = Outcome::bind;
            out_.features = std::move(*text);
            out_.message = told_bound(tally_, name);
            return out_;
        }
        return cannot(Cause::counts, refused_counts(tally_, request_.features));
    }

    Bound group_of(const Revisions& revisions) const {
        Bound bound{revisions.size() > 1 ? Bound::Form::group : Bound::Form::pin, {}};
        for (const auto r : revisions)
            if (bound.revisions.size() < max_group) bound.revisions.push_back(view_.revisions()[r]);
        return bound;
    }

    Bound pin_of(const Revisions& revisions) const {
        Bound bound = group_of(revisions);
        bound.form = revisions.size() > 1 ? Bound::Form::union_of : Bound::Form::pin;
        return bound;
    }

    Verdict bind(const Bound& bound) {
        for (const auto& name : bound.revisions)
            if (!view_.revision_known_to_slurm(view_.revision_index(name)))
                return hold(Cause::cold, held_cold());
        auto features = add_bound(request_.features, features_, bound);
        auto prefer = prefer_.empty() ? std::optional<std::string>("")
                      : bound_defeats_preference(bound)
                          ? add_bound("", {}, bound)
                          : add_bound(request_.prefer, prefer_, bound);
        if (!features || !prefer)
            return cannot(Cause::unclear,
                          refused_unclear(tally_, constraint_text(), "it gets too long"));
        out_.outcome = Outcome::bind;
        out_.features = std::move(features);
        if (!prefer_.empty()) out_.prefer = std::move(prefer);
        out_.message = told_bound(tally_, bound.text());
        return out_;
    }

    // No revision of BOUND has the preferred nodes that all of them together have. Slurm 22.05
    // takes no job whose preference can never be met, so it is left out until its user gets it
    // back.
    bool bound_defeats_preference(const Bound& bound) const {
        std::vector<NodeSet> together;
        for (const auto& name : bound.revisions) {
            const NodeSet& nodes = view_.revision(view_.revision_index(name));
            if (bound.form == Bound::Form::group || together.empty())
                together.push_back(nodes);
            else
                together.front() |= nodes;
        }
        const auto met = [&](const NodeSet& nodes) {
            return std::ranges::any_of(places_, [&](const Place& place) {
                return place.prefer.count_common(nodes) >= request_.nodes_needed();
            });
        };
        return met(view_.all()) && std::ranges::none_of(together, met);
    }

    // --- what cannot be bound ------------------------------------------------------------------

    // The partitions of a list whose nodes cannot span.
    std::string harmless_partitions() const {
        if (request_.queued || request_.het || places_.size() < 2) return {};
        std::vector<std::string> names;
        for (const auto& place : places_)
            if (place.features.count() >= request_.nodes_needed() &&
                std::ranges::none_of(involved_, [&](const auto* c) { return spans(*c, place); }))
                names.push_back(place.partition);
        return text::join(names, ",");
    }

    Verdict cannot_fit() {
        return cannot(Cause::size, refused_size(tally_, request_.nodes_needed()));
    }

    Verdict cannot(Cause cause, Lines lines) {
        if (auto partition = harmless_partitions(); !partition.empty()) {
            out_.outcome = Outcome::bind;
            out_.message = told_trimmed(tally_, partition);
            out_.partition = std::move(partition);
            return out_;
        }
        if (request_.queued) return hold(cause, held_for_size(tally_, request_.nodes_needed()));
        return refuse(cause, std::move(lines));
    }

    Verdict hold(Cause cause, Lines lines) {
        out_.outcome = Outcome::hold;
        out_.cause = cause;
        out_.message = std::move(lines);
        return out_;
    }

    Verdict refuse(Cause cause, Lines lines) {
        out_.outcome = Outcome::refuse;
        out_.cause = cause;
        out_.message = std::move(lines);
        return out_;
    }

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

}  // namespace

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
