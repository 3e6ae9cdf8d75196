// SPDX-License-Identifier: GPL-2.0-or-later
//
// The bound: what is added to a constraint so that Slurm itself keeps the job within one revision.
//
//   group   [rev_a|rev_b]   Slurm picks one of them at each attempt. Holds unless the job has a
//   node
//                           list, or brackets of its own (one pair is all that Slurm takes).
//   pin     rev_a           one revision, chosen now
//   union   (rev_a|rev_b)   one revision per cohort, for a job whose nodes lie in several cohorts
//
// add_bound() puts the bound behind the user's constraint ("F&bound"; "(F)&bound" when F has an
// open or, because people read & before |), or before it when F as a whole stands in parentheses.
// That is what makes strip_bound() its exact inverse: strip_bound(add_bound(F, b)) == F for every F
// that does not end in revisions itself. Pure text functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/guard/constraint.hpp"

namespace cohort::guard {

// slurmctld's MAX_FEATURES is 64 alternatives in 22.05; more revisions than this are not offered.
constexpr std::size_t max_group = 16;

struct Bound {
    enum class Form { group, pin, union_of };
    Form form = Form::group;
    std::vector<std::string> revisions;

    std::string text() const;
    bool operator==(const Bound&) const = default;
};

// The text that holds CONSTRAINT and BOUND; the original text is kept letter by letter. Nothing
// when it cannot be written: brackets with a group, counts (see add_bound_to_counts), or too long.
std::optional<std::string> add_bound(std::string_view original, const Constraint& constraint,
                                     const Bound& bound);

// Counts hold only when every counted term carries the revision ("[(x&rev_a)*1&(y&rev_a)*1]": a pin
// outside is ignored by 24.11 and 26.05) and when they add up to the job's NODES: Slurm does not
// filter the nodes beyond them.
std::optional<std::string> add_bound_to_counts(const Constraint& constraint,
                                               const std::string& revision, std::uint32_t nodes);

struct Stripped {
    std::string original;
    Bound bound;
};
// Nothing when TEXT does not end (or begin, see above) in a bound.
std::optional<Stripped> strip_bound(std::string_view text);

// How far a constraint by itself keeps a job within one revision, whatever the labels will be.
enum class Holds { no, group, pin };
Holds holds_one_revision(const Constraint& constraint);

}  // namespace cohort::guard
