// SPDX-License-Identifier: GPL-2.0-or-later
#include <map>

#include "common/guard/bound.hpp"
#include "common/guard/constraint.hpp"
#include "tests/unit/guard_random.hpp"
#include "tests/unit/unit.hpp"

using namespace cohort::guard;
using guard_random::revision;

namespace {

const std::string a = revision('a'), b = revision('b');

// Nodes 0-3; "x" is on 0 and 2, "y" on 1, "z" on 3, rev_a on 0 and 1, rev_b on 2 and 3.
NodeSet nodes_of(std::string_view name) {
    static const std::map<std::string, std::vector<std::size_t>, std::less<>> table = {
        {"x", {0, 2}}, {"y", {1}}, {"z", {3}}, {a, {0, 1}}, {b, {2, 3}}};
    NodeSet set(4);
    if (const auto at = table.find(name); at != table.end())
        for (const auto i : at->second) set.add(i);
    return set;
}

std::string allowed(const std::string& text) {
    const auto parsed = parse_constraint(text);
    unit::expect(parsed.has_value(), parsed ? "" : parsed.error().message);
    static std::map<std::string, NodeSet, std::less<>> kept;
    const FeatureNodes look = [](std::string_view name) -> const NodeSet& {
        return kept.insert_or_assign(std::string(name), nodes_of(name)).first->second;
    };
    std::string out;
    allowed_nodes(*parsed, NodeSet(4, true), look).for_each([&](std::size_t i) {
        out += fmt::format("{}", i);
    });
    return out;
}

void refuses(const std::string& text, const std::string& why) {
    const auto parsed = parse_constraint(text);
    unit::expect(!parsed.has_value(), "understood: " + text);
    unit::expect_contains(parsed.error().message, why);
}

std::string bound(const std::string& text, const Bound& with) {
    return add_bound(text, *parse_constraint(text), with).value_or("none");
}

const Bound group{Bound::Form::group, {a, b}};
const Bound pin{Bound::Form::pin, {b}};
const Bound both{Bound::Form::union_of, {a, b}};

Holds holds(const std::string& text) {
    return holds_one_revision(*parse_constraint(text));
}

void random_constraints_survive() {
    guard_random::Dice dice(7);
    for (int i = 0; i < 20000; ++i) {
        const auto text = guard_random::constraint(dice, {"x", "y", "z", "gpu_2"}, 30);
        const auto parsed = parse_constraint(text);
        if (!parsed) {
            unit::expect_contains(text, "[");
            continue;
        }
        unit::expect_equal(print(*parsed), text);
        for (const Bound& one : {group, pin, both}) {
            const auto with = add_bound(text, *parsed, one);
            if (!with) continue;
            unit::expect(parse_constraint(*with).has_value(), *with);
            const auto back = strip_bound(*with);
            unit::expect(back.has_value(), "not recognised: " + *with);
            unit::expect_equal(back->original, text);
            unit::expect_equal(back->bound.text(), one.text());
            unit::expect(holds_one_revision(*parse_constraint(*with)) != Holds::no ||
                             one.form == Bound::Form::union_of,
                         "does not hold: " + *with);
        }
    }
}

void random_bytes_are_read_or_refused() {
    guard_random::Dice dice(11);
    const std::vector<char> letters = {'a', '&', '|', '[', ']', '(',
                                       ')', '*', ',', '1', ' ', '\x80'};
    for (int i = 0; i < 50000; ++i) {
        std::string text;
        for (unsigned n = dice.upto(12); n > 0; --n) text += dice.pick(letters);
        if (const auto parsed = parse_constraint(text)) {
            const auto again = parse_constraint(print(*parsed));
            unit::expect(again.has_value() && *again == *parsed, text);
        }
        (void)strip_bound(text);
    }
}

}  // namespace

int main() {
    return unit::run(
        "guard constraint",
        {
            {"names are verbatim, a comma is an &",
             [] {
                 unit::expect_equal(print(*parse_constraint("gpu,nvme|x")),
                                    std::string("gpu&nvme|x"));
                 unit::expect(parse_constraint("")->empty(), "empty");
             }},
            {"& and | are taken from left to right",
             [] {
                 unit::expect_equal(allowed(b + "&x|y"), std::string("12"));
                 unit::expect_equal(allowed("y|x&" + b), std::string("2"));
                 unit::expect_equal(allowed("(x|y)&" + b), std::string("2"));
                 unit::expect_equal(allowed("z|(x&" + a + ")"), std::string("03"));
             }},
            {"brackets allow the union of their alternatives",
             [] {
                 unit::expect_equal(allowed("x&[" + a + "|" + b + "]"), std::string("02"));
                 unit::expect_equal(allowed("[(x&" + a + ")|(z&" + b + ")]"), std::string("03"));
                 unit::expect_equal(allowed("[x|y]&" + a), std::string("01"));
                 unit::expect_equal(allowed("[x|y]|z"), std::string("012"));
                 unit::expect_equal(allowed("z|[x|" + b + "]"), std::string("3"));
             }},
            {"counts filter nothing: Slurm gives the other nodes of the job freely",
             [] { unit::expect_equal(allowed("[x*1&y*1]&" + a), std::string("0123")); }},
            {"a name that no node has allows none",
             [] { unit::expect_equal(allowed("nowhere"), std::string("")); }},
            {"what a Slurm version refuses or reads otherwise is not guessed at",
             [] {
                 for (const char* text : {"&x",
                                          "x&",
                                          "x|",
                                          "x&&y",
                                          "(x",
                                          "x)",
                                          "((x|y)&z)",
                                          "[x",
                                          "x]",
                                          "[x|y]&[z|y]",
                                          "(x)y",
                                          "[x]y",
                                          "x(y)",
                                          "x*",
                                          "x*0",
                                          "x*y",
                                          "x*99999999999",
                                          "()",
                                          "[]",
                                          "*2",
                                          "([x|y])",
                                          "(x*2&y)",
                                          "[x&y]",
                                          "[x|y*2]",
                                          "[x*1&y*1|z*1]",
                                          "[gpu&x|gpu&y]"})
                     unit::expect(!parse_constraint(text).has_value(), text);
                 refuses(std::string("a\nb"), "control character");
                 refuses(std::string(2000, 'x'), "too long");
                 refuses("x&", "a name is missing (at character 3)");
             }},
            {"no features: the bound alone",
             [] {
                 unit::expect_equal(bound("", group), "[" + a + "|" + b + "]");
                 unit::expect_equal(bound("", pin), b);
                 unit::expect_equal(bound("", both), "(" + a + "|" + b + ")");
             }},
            {"AND only: F&[..]",
             [] { unit::expect_equal(bound("gpu&x", group), "gpu&x&" + group.text()); }},
            {"an open OR is put in parentheses: (F)&[..]",
             [] {
                 unit::expect_equal(bound("x|y", group), "(x|y)&" + group.text());
                 unit::expect_equal(bound("x|y", pin), "(x|y)&" + b);
             }},
            {"parentheses do not nest: behind F with its own, which Slurm reads from left to right",
             [] { unit::expect_equal(bound("(x&y)|z", pin), "(x&y)|z&" + b); }},
            {"F as a whole in parentheses: before it, so that it comes back letter by letter",
             [] { unit::expect_equal(bound("(x|y)", group), group.text() + "&(x|y)"); }},
            {"one pair of brackets is all that Slurm takes: no group on brackets, a pin works",
             [] {
                 unit::expect_equal(bound("[x|y]", group), std::string("none"));
                 unit::expect_equal(bound("[x|y]", pin), "[x|y]&" + b);
             }},
            {"counts are not bound by a pin beside them",
             [] {
                 unit::expect_equal(bound("x*2", pin), std::string("none"));
                 unit::expect_equal(bound("[x*1&y*1]", pin), std::string("none"));
             }},
            {"counts hold when each term carries the revision and they add up to the job's nodes",
             [] {
                 const auto c = *parse_constraint("[x*1&y*1]");
                 unit::expect_equal(add_bound_to_counts(c, b, 2).value_or(""),
                                    "[(x&" + b + ")*1&(y&" + b + ")*1]");
                 unit::expect(!add_bound_to_counts(c, b, 3), "a third node would be free");
                 unit::expect_equal(
                     add_bound_to_counts(*parse_constraint("x*2"), b, 2).value_or(""),
                     "[(x&" + b + ")*2]");
                 unit::expect(!add_bound_to_counts(*parse_constraint("x*1&[y*1]"), b, 2),
                              "outside of brackets");
             }},
            {"a text that Slurm would find too long is not made",
             [] { unit::expect_equal(bound(std::string(1010, 'x'), pin), std::string("none")); }},
            {"what holds by itself: a pin, or a group of revisions",
             [] {
                 unit::expect(holds("gpu&" + a) == Holds::pin, "AND");
                 unit::expect(holds("x|y&" + a) == Holds::pin, "left to right");
                 unit::expect(holds("x|" + a) == Holds::no, "an open OR");
                 unit::expect(holds(a + "&x|y") == Holds::no, "left to right");
                 unit::expect(holds("gpu&[" + a + "|" + b + "]") == Holds::group, "group");
                 unit::expect(holds("[" + a + "|" + b + "]&gpu") == Holds::group, "group first");
                 unit::expect(holds("[(gpu&" + a + ")|(gpu&" + b + ")]") == Holds::group,
                              "alternatives");
                 unit::expect(holds("[" + a + "]") == Holds::pin, "group of one");
                 unit::expect(holds("[x|y]") == Holds::no, "other brackets");
                 unit::expect(holds("gpu&(" + a + "|" + b + ")") == Holds::no, "an OR mixes");
                 unit::expect(holds("z|[" + a + "|" + b + "]") == Holds::no, "joined by OR");
                 unit::expect(holds("[x*1&y*1]&" + a) == Holds::no, "counts");
             }},
            {"strip_bound leaves a user's own constraint alone",
             [] {
                 unit::expect(!strip_bound("gpu"), "gpu");
                 unit::expect(!strip_bound("gpu|" + a), "OR");
                 unit::expect(!strip_bound("[x|" + a + "]"), "mixed group");
                 unit::expect(!strip_bound(""), "empty");
                 unit::expect(!strip_bound("[" + a + "*2]"), "counts");
             }},
            {"strip_bound(add_bound(x)) == x, whatever x is", random_constraints_survive},
            {"random bytes are read or refused", random_bytes_are_read_or_refused},
        });
}
