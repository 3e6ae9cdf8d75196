// SPDX-License-Identifier: GPL-2.0-or-later
// The constraint grammar: what it understands survives printing, binding and stripping.
#include "common/guard/bound.hpp"
#include "common/guard/constraint.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace cohort::guard;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text = fuzz::text(data, size);
    (void)strip_bound(text);
    const auto constraint = parse_constraint(text);
    if (!constraint) {
        fuzz::must(!constraint.error().message.empty(), "an error has words");
        return 0;
    }
    const auto again = parse_constraint(print(*constraint));
    fuzz::must(again && *again == *constraint, "what is printed reads the same");
    (void)holds_one_revision(*constraint);
    const NodeSet all(70, true), some(70);
    const FeatureNodes nodes = [&](std::string_view name) -> const NodeSet& {
        return name.size() % 2 ? all : some;
    };
    fuzz::must(allowed_nodes(*constraint, all, nodes).within(all), "only nodes that there are");
    const Bound bound{Bound::Form::group, {"rev_0123456789abcdef", "rev_fedcba9876543210"}};
    if (const auto bound_text = add_bound(text, *constraint, bound)) {
        const auto stripped = strip_bound(*bound_text);
        fuzz::must(stripped && stripped->original == text && stripped->bound == bound,
                   "a bound comes off as it went on");
        fuzz::must(holds_one_revision(*parse_constraint(*bound_text)) == Holds::group,
                   "a bound text holds one revision");
    }
    (void)add_bound_to_counts(*constraint, "rev_0123456789abcdef", 2);
    return 0;
}
