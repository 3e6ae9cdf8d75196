// SPDX-License-Identifier: GPL-2.0-or-later
//
// MixedRevision=confine: to which revisions a job can be bound, and what becomes of it when to
// none.
#include <algorithm>
#include <tuple>

#include "common/guard/judge.hpp"
#include "common/text.hpp"

namespace cohort::guard {

Verdict Judge::confine() {
    if (!unclear_.empty())
        return cannot(Cause::unclear, refused_unclear(tally_, constraint_text(), unclear_));
    if (prefer_.has_counts()) return cannot(Cause::counts, refused_counts(tally_, request_.prefer));
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

std::string Judge::constraint_text() const {
    return request_.features.empty() ? request_.prefer : request_.features;
}

void Judge::find_present() {
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

bool Judge::fits(const Revisions& revisions) const {
    NodeSet allowed(view_.all().size());
    for (const auto r : revisions) allowed |= view_.revision(r);
    return std::ranges::any_of(places_, [&](const Place& place) {
        return std::ranges::any_of(place.choices, [&](const NodeSet& choice) {
            if (choice.count_common(allowed) < request_.nodes_needed()) return false;
            return has_cpus(choice & allowed);
        });
    });
}

bool Judge::consistent(const Revisions& revisions) const {
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

Revisions Judge::grow(Revisions seed) const {
    for (const auto r : present_) {
        if (std::ranges::find(seed, r) != seed.end()) continue;
        seed.push_back(r);
        if (!consistent(seed)) seed.pop_back();
    }
    return seed;
}

Verdict Judge::pin_best() {
    for (const auto r : present_)
        if (fits({r})) return bind(pin_of({r}));
    for (const auto r : present_)
        if (const auto grown = grow({r}); grown.size() > 1 && fits(grown))
            return bind(pin_of(grown));
    if (request_.queued && !present_.empty()) return bind(pin_of({present_.front()}));
    return cannot_fit();
}

Verdict Judge::confine_node_list() {
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

bool Judge::choose(const Revisions& revisions) {
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

std::uint32_t Judge::least_within(const NodeSet& nodes, std::size_t r) const {
    const std::size_t needed = request_.nodes_needed();
    std::size_t least = needed;
    for (const auto& place : places_) {
        const NodeSet mine = place.features & view_.revision(r);
        const std::size_t outside = mine.count() - mine.count_common(nodes);
        least = std::min(least, needed - std::min(needed, outside));
    }
    return static_cast<std::uint32_t>(least);
}

Verdict Judge::confine_component() {
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

Verdict Judge::component_refused() {
    std::string chosen;
    for (const auto* cohort : involved_)
        if (const auto at = request_.het_choice.find(cohort->name); at != request_.het_choice.end())
            chosen = at->second.revision;
    return cannot(Cause::component, refused_component(tally_, chosen));
}

Verdict Judge::confine_counts() {
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

Bound Judge::group_of(const Revisions& revisions) const {
    Bound bound{revisions.size() > 1 ? Bound::Form::group : Bound::Form::pin, {}};
    for (const auto r : revisions)
        if (bound.revisions.size() < max_group) bound.revisions.push_back(view_.revisions()[r]);
    return bound;
}

Bound Judge::pin_of(const Revisions& revisions) const {
    Bound bound = group_of(revisions);
    bound.form = revisions.size() > 1 ? Bound::Form::union_of : Bound::Form::pin;
    return bound;
}

Verdict Judge::bind(const Bound& bound) {
    for (const auto& name : bound.revisions)
        if (!view_.revision_known_to_slurm(view_.revision_index(name)))
            return hold(Cause::cold, held_cold());
    auto features = add_bound(request_.features, features_, bound);
    auto prefer = prefer_.empty()                   ? std::optional<std::string>("")
                  : bound_defeats_preference(bound) ? add_bound("", {}, bound)
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

bool Judge::bound_defeats_preference(const Bound& bound) const {
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

std::string Judge::harmless_partitions() const {
    if (request_.queued || request_.het || places_.size() < 2) return {};
    std::vector<std::string> names;
    for (const auto& place : places_)
        if (place.features.count() >= request_.nodes_needed() &&
            std::ranges::none_of(involved_, [&](const auto* c) { return spans(*c, place); }))
            names.push_back(place.partition);
    return text::join(names, ",");
}

Verdict Judge::cannot_fit() {
    return cannot(Cause::size, refused_size(tally_, request_.nodes_needed()));
}

Verdict Judge::cannot(Cause cause, Lines lines) {
    if (auto partition = harmless_partitions(); !partition.empty()) {
        out_.outcome = Outcome::bind;
        out_.message = told_trimmed(tally_, partition);
        out_.partition = std::move(partition);
        return out_;
    }
    if (request_.queued) return hold(cause, held_for_size(tally_, request_.nodes_needed()));
    return refuse(cause, std::move(lines));
}

}  // namespace cohort::guard
