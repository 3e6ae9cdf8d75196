// SPDX-License-Identifier: GPL-2.0-or-later
//
// `scohort status|watch|history|metrics|report`. All but watch only look. The result is an exit
// code. ROLLOUT 0: the newest that is under way, else the newest.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "rebootprog/site/site.hpp"

namespace cohort {

int status(const Site& site, std::int64_t rollout, bool json);

struct WatchOptions {
    std::int64_t rollout = 0;
    std::chrono::milliseconds interval{2000};
    bool advance = true;
};
// Draws until the rollout has ended (some_failed when a node failed) or a signal comes. On a
// terminal in place, otherwise one line per change. Takes a step of advance each time.
int watch(const Site& site, const WatchOptions& options);

struct HistoryOptions {
    std::int64_t rollout = 0;  // 0: all rollouts, one line each
    std::string node;          // its rebuilds
    int limit = 50;
    bool json = false;
};
int history(const Site& site, const HistoryOptions& options);

// FILE empty: standard output; else it is replaced as a whole.
int metrics(const Site& site, const std::string& file);
int report(const Site& site, std::int64_t rollout, const std::string& file);

}  // namespace cohort
