// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/guard/bound.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/revision.hpp"
#include "common/text.hpp"

namespace cohort::guard {
namespace {

// The whole of the constraint is one pair of parentheses.
bool is_wrapped(const Constraint& c) {
    return c.terms.size() == 1 && c.terms[0].parentheses && !c.has_brackets() &&
           c.terms[0].count == 0;
}

bool all_revisions(const Term& term) {
    return std::ranges::all_of(term.names, [](const auto& n) { return is_revision_name(n); });
}

// The bound that terms [begin, end) of C are, if they are one.
std::optional<Bound> bound_at(const Constraint& c, std::size_t begin, std::size_t end) {
    Bound bound;
    for (auto i = begin; i < end; ++i) {
        const Term& term = c.terms[i];
        if (term.count || !all_revisions(term)) return std::nullopt;
        bound.revisions.insert(bound.revisions.end(), term.names.begin(), term.names.end());
    }
    if (c.in_brackets(begin)) {
        const bool is_all = c.bracket_begin == begin && c.bracket_end == end;
        for (auto i = begin; i < end; ++i)
            if (!c.terms[i].is_single() || c.terms[i].parentheses ||
                (i + 1 < end && c.ops[i] != Op::Or))
                return std::nullopt;
        if (!is_all) return std::nullopt;
        bound.form = Bound::Form::group;
        return bound;
    }
    const Term& term = c.terms[begin];
    if (term.parentheses) {
        if (term.is_single() || std::ranges::find(term.ops, Op::And) != term.ops.end())
            return std::nullopt;
        bound.form = Bound::Form::union_of;
    } else {
        bound.form = Bound::Form::pin;
    }
    return bound;
}

// Where the last operand of C begins: a term, or the brackets.
std::size_t last_operand(const Constraint& c) {
    if (c.has_brackets() && c.bracket_end == c.terms.size()) return c.bracket_begin;
    return c.terms.size() - 1;
}

// An alternative that carries its revision: rev_a, or (gpu&rev_a).
bool carries_revision(const Term& term) {
    return !term.has_or() &&
           std::ranges::any_of(term.names, [](const auto& n) { return is_revision_name(n); });
}

}  // namespace

std::string Bound::text() const {
    if (revisions.empty()) return {};
    const std::string inner = text::join(revisions, "|");
    if (revisions.size() == 1) return inner;
    return form == Form::group ? "[" + inner + "]" : "(" + inner + ")";
}

std::optional<std::string> add_bound(std::string_view original, const Constraint& c,
                                     const Bound& bound) {
    if (bound.revisions.empty() || c.has_counts()) return std::nullopt;
    const bool group = bound.form == Bound::Form::group && bound.revisions.size() > 1;
    if (c.has_brackets() && group) return std::nullopt;
    std::string text;
    if (c.empty()) {
        text = bound.text();
    } else if (is_wrapped(c)) {
        text = fmt::format("{}&{}", bound.text(), original);
    } else if (c.has_open_or() && !c.has_parentheses() && !c.has_brackets()) {
        text = fmt::format("({})&{}", original, bound.text());
    } else {
        text = fmt::format("{}&{}", original, bound.text());
    }
    if (text.size() > max_constraint_bytes) return std::nullopt;
    return text;
}

std::optional<std::string> add_bound_to_counts(const Constraint& c, const std::string& revision,
                                               std::uint32_t nodes) {
    const bool all_in_brackets =
        c.has_brackets() && c.bracket_begin == 0 && c.bracket_end == c.terms.size();
    if (c.empty() || (!all_in_brackets && c.terms.size() != 1)) return std::nullopt;
    std::uint64_t sum = 0;
    Constraint out = c;
    for (auto& term : out.terms) {
        if (term.count == 0) return std::nullopt;
        sum += term.count;
        term.parentheses = true;
        term.ops.push_back(Op::And);
        term.names.push_back(revision);
    }
    // 26.05 refuses a count on parentheses outside of brackets.
    out.bracket_begin = 0;
    out.bracket_end = out.terms.size();
    if (sum != nodes) return std::nullopt;
    std::string text = print(out);
    if (text.size() > max_constraint_bytes) return std::nullopt;
    return text;
}

std::optional<Stripped> strip_bound(std::string_view text) {
    const auto parsed = parse_constraint(text);
    if (!parsed || parsed->empty()) return std::nullopt;
    const Constraint& c = *parsed;
    const auto last = last_operand(c);
    // Before: bound&(F).
    if (last > 0 && last + 1 == c.terms.size() && c.terms[last].parentheses &&
        c.terms[last].count == 0 && c.ops[last - 1] == Op::And) {
        if (auto bound = bound_at(c, 0, last);
            bound && (last == 1 || c.bracket_end == last) && !all_revisions(c.terms[last])) {
            const auto open = text.rfind('(');
            return Stripped{std::string(text.substr(open)), std::move(*bound)};
        }
    }
    auto bound = bound_at(c, last, c.terms.size());
    if (!bound) return std::nullopt;
    if (last == 0) return Stripped{{}, std::move(*bound)};
    if (c.ops[last - 1] != Op::And) return std::nullopt;
    const std::size_t tail = bound->text().size() + 1;
    // A group of one keeps its brackets in the text that Slurm was given.
    const std::size_t brackets = c.in_brackets(last) && bound->revisions.size() == 1 ? 2 : 0;
    if (text.size() < tail + brackets) return std::nullopt;
    std::string original(text.substr(0, text.size() - tail - brackets));
    const auto inner = parse_constraint(original);
    if (inner && is_wrapped(*inner) && inner->terms[0].has_or())
        original = original.substr(1, original.size() - 2);
    return Stripped{std::move(original), std::move(*bound)};
}

Holds holds_one_revision(const Constraint& c) {
    if (c.empty() || c.has_counts()) return Holds::no;
    // From the end: what is joined by & behind the last open | binds everything before it.
    for (std::size_t i = c.terms.size(); i-- > 0;) {
        const bool bracketed = c.in_brackets(i);
        const bool joined = i == 0 || c.ops[i - 1] == Op::And;
        if (!bracketed && joined && carries_revision(c.terms[i])) return Holds::pin;
        if (bracketed) {
            i = c.bracket_begin;
            if (i > 0 && c.ops[i - 1] == Op::Or) return Holds::no;
            const auto begin = c.terms.begin();
            if (std::all_of(begin + static_cast<std::ptrdiff_t>(c.bracket_begin),
                            begin + static_cast<std::ptrdiff_t>(c.bracket_end), carries_revision))
                return c.bracket_end - c.bracket_begin == 1 ? Holds::pin : Holds::group;
        }
        if (i > 0 && c.ops[i - 1] == Op::Or) return Holds::no;
    }
    return Holds::no;
}

}  // namespace cohort::guard
