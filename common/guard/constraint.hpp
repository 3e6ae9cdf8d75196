// SPDX-License-Identifier: GPL-2.0-or-later
//
// Slurm's constraint grammar (--constraint, --prefer) as a value.
//
//   constraint = operand { ("&" | ",") operand | "|" operand }
//   operand    = term | "[" term { ("&" | "|") term } "]"          at most one pair of brackets
//   term       = ( name | "(" name { ("&" | "|") name } ")" ) [ "*" count ]
//
// As slurmctld reads it (22.05 build_feature_list, 24.11 and 26.05 _feature_string2list):
// parentheses do not nest, & and | have the same rank and are taken from left to right
// ("rev_b&x|y" is "(rev_b&x)|y"), names are verbatim. A text that some version refuses or reads
// otherwise is "cannot tell" (Errc::invalid with the reason): never a guess and never a crash.
// Pure; texts beyond max_constraint_bytes are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/guard/node_set.hpp"
#include "common/result.hpp"

namespace cohort::guard {

// Slurm refuses longer features and prefer strings at submission.
constexpr std::size_t max_constraint_bytes = 1024;

enum class Op : char { And = '&', Or = '|' };

// One name, or the names of one pair of parentheses.
struct Term {
    std::vector<std::string> names;
    std::vector<Op> ops;  // between the names
    bool parentheses = false;
    std::uint32_t count = 0;  // 0: none

    bool is_single() const { return names.size() == 1; }
    bool has_or() const;
    bool operator==(const Term&) const = default;
};

struct Constraint {
    std::vector<Term> terms;
    std::vector<Op> ops;  // between the terms, inside and outside of the brackets
    std::size_t bracket_begin = 0, bracket_end = 0;  // terms [begin, end) stand in brackets

    bool empty() const { return terms.empty(); }
    bool has_brackets() const { return bracket_end > bracket_begin; }
    bool has_counts() const;
    bool has_parentheses() const;
    // A | outside of parentheses and brackets.
    bool has_open_or() const;
    bool in_brackets(std::size_t term) const { return term >= bracket_begin && term < bracket_end; }
    bool operator==(const Constraint&) const = default;
};

// An empty text is the empty constraint.
Result<Constraint> parse_constraint(std::string_view text);

// Canonical text; parse_constraint(print(c)) == c.
std::string print(const Constraint& constraint);

// The nodes that have a feature; a name that no node has gives an empty set.
using FeatureNodes = std::function<const NodeSet&(std::string_view name)>;

// The sets of nodes of which Slurm gives a job with CONSTRAINT, out of ALL: one set, or with
// brackets one per alternative (all nodes of the job are of one of them). What stands outside of
// the brackets filters every alternative, even behind a |. With counts there is one set, ALL: Slurm
// then does not filter the other nodes of the job.
std::vector<NodeSet> alternatives(const Constraint& constraint, const NodeSet& all,
                                  const FeatureNodes& nodes);

// Whether a job of counts alone ("[x*1&y*2]") finds its nodes in ALL, none of them used twice.
bool counts_fit(const Constraint& constraint, const NodeSet& all, const FeatureNodes& nodes);

// The union of the alternatives.
NodeSet allowed_nodes(const Constraint& constraint, const NodeSet& all, const FeatureNodes& nodes);

}  // namespace cohort::guard
