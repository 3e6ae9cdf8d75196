// SPDX-License-Identifier: GPL-2.0-or-later
//
// A View (view.hpp) as text: sentences and a table for `status`, a picture for `watch` on a
// terminal, lines for `watch` in a pipe, Prometheus' text format for `metrics`. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "rebootprog/view/table.hpp"
#include "rebootprog/view/view.hpp"

namespace cohort {

Table table_of(const View& view);

// What has changed since BEFORE, one line each.
std::vector<std::string> changes_between(const View& before, const View& now);

struct Screen {
    std::size_t width = 80, height = 24;
    bool colour = true;
    bool unicode = true;
};

// At most HEIGHT lines of at most WIDTH columns each, without a newline at the end of the last.
// NEWS: the latest events, oldest first; as many as there is room for are shown.
std::string picture_of(const View& view, const Screen& screen,
                       const std::vector<std::string>& news);

// One JSON object: rollout, progress, breaker, quarantined, and "status" with one object a node.
std::string json_of(const View& view);

// Names and labels are the project's promise: scohort(8) lists them.
std::string metrics_of(const View& view);

}  // namespace cohort
