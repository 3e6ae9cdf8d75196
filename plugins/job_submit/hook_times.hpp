// SPDX-License-Identifier: GPL-2.0-or-later
//
// How long slurmctld spends inside this plugin's hooks, measured from inside: counts in steps of a
// quarter of an octave, so that a quantile is at most 19 % too high. Any number of threads add
// while one reads; a reading is not of one instant. Begins anew with slurmctld.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>

#include "common/snapshot_file.hpp"

namespace cohort {

class HookTimes {
  public:
    using Clock = std::chrono::steady_clock;

    void add(std::chrono::nanoseconds took) {
        const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(took.count(), 1));
        steps_[step_of(ns)].fetch_add(1, std::memory_order_relaxed);
        total_.fetch_add(ns, std::memory_order_relaxed);
        auto most = most_.load(std::memory_order_relaxed);
        while (ns > most && !most_.compare_exchange_weak(most, ns, std::memory_order_relaxed)) {
        }
    }

    HookSummary summary() const {
        std::array<std::uint64_t, step_count> counts{};
        HookSummary sum;
        for (std::size_t i = 0; i < step_count; ++i)
            sum.calls += counts[i] = steps_[i].load(std::memory_order_relaxed);
        sum.seconds = static_cast<double>(total_.load(std::memory_order_relaxed)) / 1e9;
        sum.max_us = static_cast<double>(most_.load(std::memory_order_relaxed)) / 1e3;
        sum.median_us = std::min(sum.max_us, quantile_us(counts, sum.calls, 50));
        sum.p99_us = std::min(sum.max_us, quantile_us(counts, sum.calls, 99));
        return sum;
    }

    // From here to the end of its scope.
    class Lap {
      public:
        explicit Lap(HookTimes* times) : times_(times) {}
        Lap(const Lap&) = delete;
        Lap& operator=(const Lap&) = delete;
        ~Lap() {
            if (times_) times_->add(Clock::now() - began_);
        }

      private:
        HookTimes* times_;
        Clock::time_point began_ = Clock::now();
    };

  private:
    static constexpr std::size_t step_count = 40 * 4;  // up to 2^40 ns, 18 minutes

    static std::size_t step_of(std::uint64_t ns) {
        const auto octave = static_cast<std::size_t>(std::bit_width(ns)) - 1;
        const auto quarter = octave < 2 ? 0 : (ns >> (octave - 2)) & 3;
        return std::min<std::size_t>(octave * 4 + quarter, step_count - 1);
    }
    // The upper end of the step that the quantile falls into.
    static double quantile_us(const std::array<std::uint64_t, step_count>& counts,
                              std::uint64_t calls, std::uint64_t percent) {
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i < step_count; ++i) {
            seen += counts[i];
            if (calls > 0 && seen * 100 >= calls * percent)
                return static_cast<double>(std::uint64_t{1} << (i / 4)) *
                       (1 + static_cast<double>(i % 4 + 1) / 4) / 1e3;
        }
        return 0;
    }

    std::array<std::atomic<std::uint64_t>, step_count> steps_{};
    std::atomic<std::uint64_t> total_{0}, most_{0};  // ns
};

}  // namespace cohort
