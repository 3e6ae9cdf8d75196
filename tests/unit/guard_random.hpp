// SPDX-License-Identifier: GPL-2.0-or-later
//
// Random constraints, clusters and requests for the guard's property tests: small, so that every
// node set can be enumerated, and from a fixed seed, so that a failure comes back.
#pragma once

#include <random>
#include <string>
#include <vector>

#include <fmt/core.h>

namespace guard_random {

class Dice {
  public:
    explicit Dice(unsigned seed) : engine_(seed) {}
    unsigned upto(unsigned n) { return std::uniform_int_distribution<unsigned>(0, n)(engine_); }
    bool chance(unsigned percent) { return upto(99) < percent; }
    template <class T>
    const T& pick(const std::vector<T>& from) {
        return from[upto(static_cast<unsigned>(from.size()) - 1)];
    }

  private:
    std::mt19937 engine_;
};

// "rev_" and 16 times the letter: a real revision name that is easy to read in a failure.
inline std::string revision(char letter) {
    return "rev_" + std::string(16, letter);
}

inline std::string term(Dice& dice, const std::vector<std::string>& names, bool count) {
    std::string out;
    if (dice.chance(30)) {
        out = "(" + dice.pick(names);
        const char op = dice.chance(50) ? '&' : '|';
        for (unsigned i = dice.upto(2); i > 0; --i)
            out += (dice.chance(80) ? op : '&') + dice.pick(names);
        out += ")";
    } else {
        out = dice.pick(names);
    }
    return count ? out + fmt::format("*{}", 1 + dice.upto(1)) : out;
}

// A text that parse_constraint() takes, of up to four operands.
inline std::string constraint(Dice& dice, const std::vector<std::string>& names,
                              unsigned percent_brackets) {
    std::string out;
    bool brackets = dice.chance(percent_brackets);
    for (unsigned i = 1 + dice.upto(3); i > 0; --i) {
        if (!out.empty()) out += dice.chance(70) ? '&' : '|';
        if (brackets) {
            brackets = false;
            const bool counts = dice.chance(30);
            std::string inner;
            for (unsigned k = 2 + dice.upto(1); k > 0; --k)
                inner += (inner.empty() ? "" : counts ? "&" : "|") + term(dice, names, counts);
            out += "[" + inner + "]";
        } else {
            out += term(dice, names, false);
        }
    }
    return out;
}

}  // namespace guard_random
