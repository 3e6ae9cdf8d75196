// SPDX-License-Identifier: GPL-2.0-or-later
//
// Fuzz target for the constraint grammar: reads any bytes, and what it understands survives
// printing, binding and stripping. Built with libFuzzer under --enable-fuzzing; else with a main()
// that replays the corpus (tests/fuzz/corpus/constraint, and every prefix of each file) in `make
// check`.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "common/guard/bound.hpp"
#include "common/guard/constraint.hpp"

using namespace cohort::guard;

namespace {

void require(bool holds) {
    if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    (void)strip_bound(text);
    const auto constraint = parse_constraint(text);
    if (!constraint) {
        require(!constraint.error().message.empty());
        return 0;
    }
    const auto again = parse_constraint(print(*constraint));
    require(again && *again == *constraint);
    (void)holds_one_revision(*constraint);
    const NodeSet all(70, true), some(70);
    const FeatureNodes nodes = [&](std::string_view name) -> const NodeSet& {
        return name.size() % 2 ? all : some;
    };
    require(allowed_nodes(*constraint, all, nodes).within(all));
    const Bound bound{Bound::Form::group, {"rev_0123456789abcdef", "rev_fedcba9876543210"}};
    if (const auto bound_text = add_bound(text, *constraint, bound)) {
        const auto stripped = strip_bound(*bound_text);
        require(stripped && stripped->original == text && stripped->bound == bound);
        require(holds_one_revision(*parse_constraint(*bound_text)) == Holds::group);
    }
    (void)add_bound_to_counts(*constraint, "rev_0123456789abcdef", 2);
    return 0;
}

#ifndef COHORT_LIBFUZZER
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

int main() {
    const char* source = std::getenv("srcdir");
    const std::filesystem::path corpus =
        std::filesystem::path(source ? source : ".") / "tests/fuzz/corpus/constraint";
    int files = 0;
    for (const auto& file : std::filesystem::directory_iterator(corpus)) {
        std::ifstream in(file.path(), std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(in), {}};
        for (std::size_t n = 0; n <= bytes.size(); ++n)
            LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), n);
        ++files;
    }
    std::printf("%d files replayed\n", files);
    return files > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
#endif
