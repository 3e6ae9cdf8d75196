// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/guard/constraint.hpp"

#include <algorithm>
#include <optional>

#include <fmt/core.h>

namespace cohort::guard {
namespace {

// "1234567" is more nodes than any cluster has; strtol in slurmctld would take more.
constexpr std::uint32_t max_count = 1000000;

constexpr std::string_view special = "&|,*[]()";

class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) {}

    Result<Constraint> run() {
        if (text_.size() > max_constraint_bytes) return complain("it is too long");
        for (const char c : text_)
            if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
                return complain("it has a control character");
        if (text_.empty()) return Constraint{};
        while (true) {
            if (auto read = operand(); !read) return tl::unexpected(read.error());
            if (at_end()) break;
            const auto op = take_op();
            if (!op) return complain("an operator is missing");
            out_.ops.push_back(*op);
        }
        return check();
    }

  private:
    bool at_end() const { return at_ == text_.size(); }
    char peek() const { return at_end() ? '\0' : text_[at_]; }
    bool take(char c) {
        if (peek() != c || at_end()) return false;
        ++at_;
        return true;
    }
    std::optional<Op> take_op() {
        // slurmctld turns commas into &, a "common error" of users.
        if (take('&') || take(',')) return Op::And;
        if (take('|')) return Op::Or;
        return std::nullopt;
    }
    tl::unexpected<Error> complain(std::string_view why) const {
        return fail(Errc::invalid, fmt::format("'{}' is not a constraint that this program "
                                               "understands: {} (at character {})",
                                               text_.substr(0, 200), why, at_ + 1));
    }

    Status operand() {
        if (!take('[')) return term();
        if (out_.has_brackets()) return complain("there are two pairs of brackets");
        out_.bracket_begin = out_.terms.size();
        while (true) {
            if (auto read = term(); !read) return read;
            if (take(']')) break;
            const auto op = take_op();
            if (!op) return complain("a bracket is not closed");
            out_.ops.push_back(*op);
        }
        out_.bracket_end = out_.terms.size();
        return {};
    }

    Status term() {
        Term term;
        term.parentheses = take('(');
        while (true) {
            auto name = take_name();
            if (name.empty()) return complain("a name is missing");
            term.names.push_back(std::move(name));
            if (!term.parentheses || take(')')) break;
            const auto op = take_op();
            if (!op) return complain("a parenthesis is not closed");
            term.ops.push_back(*op);
        }
        if (take('*')) {
            const auto count = take_count();
            if (count == 0) return complain("a count is not a number of nodes");
            term.count = count;
        }
        out_.terms.push_back(std::move(term));
        return {};
    }

    std::string take_name() {
        const auto end = std::min(text_.find_first_of(special, at_), text_.size());
        std::string name(text_.substr(at_, end - at_));
        at_ = end;
        return name;
    }

    std::uint32_t take_count() {
        std::uint32_t n = 0;
        while (peek() >= '0' && peek() <= '9' && !at_end()) {
            n = n * 10 + static_cast<std::uint32_t>(text_[at_++] - '0');
            if (n > max_count) return 0;
        }
        return n;
    }

    // What the grammar allows and slurmctld refuses (_valid_feature_list).
    Result<Constraint> check() {
        if (out_.has_brackets() && out_.bracket_end - out_.bracket_begin > 1) {
            const auto begin = out_.bracket_begin;
            const Op op = out_.ops[begin];
            for (auto i = begin; i + 1 < out_.bracket_end; ++i)
                if (out_.ops[i] != op) return complain("& and | are mixed in the brackets");
            for (auto i = begin; i < out_.bracket_end; ++i)
                if ((out_.terms[i].count != 0) != (op == Op::And))
                    return complain("brackets take counts with & and none with |");
        }
        return std::move(out_);
    }

    std::string_view text_;
    std::size_t at_ = 0;
    Constraint out_;
};

NodeSet nodes_of(const Term& term, const FeatureNodes& nodes) {
    NodeSet set = nodes(term.names[0]);
    for (std::size_t i = 1; i < term.names.size(); ++i) {
        if (term.ops[i - 1] == Op::And) {
            set &= nodes(term.names[i]);
        } else {
            set |= nodes(term.names[i]);
        }
    }
    return set;
}

void print_term(std::string& out, const Term& term) {
    if (term.parentheses) out += '(';
    for (std::size_t i = 0; i < term.names.size(); ++i) {
        if (i > 0) out += static_cast<char>(term.ops[i - 1]);
        out += term.names[i];
    }
    if (term.parentheses) out += ')';
    if (term.count) out += fmt::format("*{}", term.count);
}

}  // namespace

bool Term::has_or() const {
    return std::ranges::find(ops, Op::Or) != ops.end();
}

bool Constraint::has_counts() const {
    return std::ranges::any_of(terms, [](const Term& t) { return t.count != 0; });
}

bool Constraint::has_parentheses() const {
    return std::ranges::any_of(terms, [](const Term& t) { return t.parentheses; });
}

bool Constraint::has_open_or() const {
    for (std::size_t i = 0; i < ops.size(); ++i)
        if (ops[i] == Op::Or && !(in_brackets(i) && in_brackets(i + 1))) return true;
    return false;
}

Result<Constraint> parse_constraint(std::string_view text) {
    return Parser(text).run();
}

std::string print(const Constraint& c) {
    std::string out;
    for (std::size_t i = 0; i < c.terms.size(); ++i) {
        if (i > 0) out += static_cast<char>(c.ops[i - 1]);
        if (c.has_brackets() && i == c.bracket_begin) out += '[';
        print_term(out, c.terms[i]);
        if (c.has_brackets() && i + 1 == c.bracket_end) out += ']';
    }
    return out;
}

std::vector<NodeSet> alternatives(const Constraint& c, const NodeSet& all,
                                  const FeatureNodes& nodes) {
    if (c.empty() || c.has_counts()) return {all};
    NodeSet filter = all;
    std::vector<NodeSet> in_brackets;
    for (std::size_t i = 0; i < c.terms.size(); ++i) {
        NodeSet operand = nodes_of(c.terms[i], nodes);
        if (c.in_brackets(i)) {
            in_brackets.push_back(std::move(operand));
        } else if (i == 0 || c.ops[i - 1] == Op::And) {
            filter &= operand;
        } else {
            filter |= operand;
        }
    }
    filter &= all;
    if (in_brackets.empty()) return {std::move(filter)};
    for (auto& set : in_brackets) set &= filter;
    return in_brackets;
}

bool counts_fit(const Constraint& c, const NodeSet& all, const FeatureNodes& nodes) {
    // Hall's condition: every choice of terms has enough nodes together.
    constexpr std::size_t most_terms = 8;
    if (c.terms.size() > most_terms) return false;
    std::vector<NodeSet> sets;
    for (const auto& term : c.terms) sets.push_back(nodes_of(term, nodes) & all);
    for (unsigned choice = 1; choice < 1U << sets.size(); ++choice) {
        NodeSet together(all.size());
        std::size_t needed = 0;
        for (std::size_t i = 0; i < sets.size(); ++i) {
            if (!(choice >> i & 1)) continue;
            together |= sets[i];
            needed += c.terms[i].count;
        }
        if (together.count() < needed) return false;
    }
    return true;
}

NodeSet allowed_nodes(const Constraint& c, const NodeSet& all, const FeatureNodes& nodes) {
    auto sets = alternatives(c, all, nodes);
    for (std::size_t i = 1; i < sets.size(); ++i) sets[0] |= sets[i];
    return std::move(sets[0]);
}

}  // namespace cohort::guard
