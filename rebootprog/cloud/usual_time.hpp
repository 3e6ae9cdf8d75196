// SPDX-License-Identifier: GPL-2.0-or-later
//
// How long the cloud usually takes for an action, learned from the site's own, and from that when
// to look at one again: seldom while nothing can have happened, more often when its end is due, so
// that a slot is not held by an action that has ended.
//
// What was learned is kept in <StateDir>/usual/<action> (milliseconds): each rebuild job is a
// process of its own; only a change that matters is written. Losing it costs nothing but a second
// of a slot. Thread-safe.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace cohort {

// From now to the next look at an action that began ELAPSED ago; BASE when nothing is known. Never
// more than BASE, never less than a fifth of a second.
std::chrono::milliseconds until_next_look(std::chrono::milliseconds elapsed,
                                          std::optional<std::chrono::milliseconds> usual,
                                          std::chrono::milliseconds base);

class UsualTimes {
  public:
    // STATE_DIR empty: nothing is read or kept.
    explicit UsualTimes(std::string state_dir = {}) : state_dir_(std::move(state_dir)) {}

    std::optional<std::chrono::milliseconds> of(const std::string& action);
    // An ACTION succeeded after TOOK: counts for a quarter of what is known then.
    void learn(const std::string& action, std::chrono::milliseconds took);

  private:
    struct Time {
        std::optional<std::chrono::milliseconds> known, kept;
    };
    Time& time_of(const std::string& action);
    std::string file_of(const std::string& action) const;

    const std::string state_dir_;
    std::mutex mutex_;
    std::map<std::string, Time> times_;
};

}  // namespace cohort
