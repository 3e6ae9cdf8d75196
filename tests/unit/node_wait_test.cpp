// SPDX-License-Identifier: GPL-2.0-or-later
//
// Ten thousand nodes that boot in the same second: how their joins are spread.
#include "rebootprog/node/node_wait.hpp"

#include <algorithm>
#include <vector>

#include "tests/unit/unit.hpp"

using namespace cohort;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t nodes = 10000;

// How many of NODES begin in each slice of JITTER.
std::vector<std::size_t> slices(std::chrono::milliseconds jitter, std::chrono::milliseconds slice) {
    std::vector<std::size_t> count(static_cast<std::size_t>(jitter / slice));
    for (std::size_t i = 0; i < nodes; ++i) {
        const auto at = std::min(random_part(jitter), jitter - 1ms);
        ++count[static_cast<std::size_t>(at / slice)];
    }
    return count;
}

}  // namespace

int main() {
    return unit::run(
        "node wait",
        {{"ten thousand joins within 5 s: no tenth of a second gets twice its part",
          [] {
              const auto count = slices(5s, 100ms);
              unit::expect_equal(count.size(), std::size_t{50});
              const auto [least, most] = std::ranges::minmax(count);
              // 200 on average; 7 standard deviations are 99.
              unit::expect(most < 300, fmt::format("{} at once", most));
              unit::expect(least > 100, fmt::format("only {}", least));
          }},
         {"a longer time spreads them further",
          [] {
              const auto most = std::ranges::max(slices(60s, 100ms));
              unit::expect(most < 50, fmt::format("{} at once", most));  // 17 on average
          }},
         {"never later than asked, and at once when nothing was asked", [] {
              for (int i = 0; i < 1000; ++i) {
                  const auto part = random_part(20ms);
                  unit::expect(part >= 0ms && part <= 20ms, fmt::format("{}", part.count()));
              }
              unit::expect(random_part(0ms) == 0ms && random_part(-5ms) == 0ms, "none");
          }}});
}
