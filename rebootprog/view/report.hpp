// SPDX-License-Identifier: GPL-2.0-or-later
//
// `scohort report`: one rollout as one self-contained HTML page. Nodes x time coloured by state,
// users' jobs over it, a summary, failures, events. Pure; report_collect.hpp fills the values.
//
// The page loads nothing from anywhere, has no script, and follows the reader's light or dark
// scheme. Every text in it is escaped. Times are seconds since the epoch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rebootprog/view/view.hpp"

namespace cohort {

// What a node was doing for a while.
struct ReportSpan {
    enum class Kind {
        serving,     // in service, before or after
        waiting,     // its rebuild job may start: the node empties itself
        rebuilding,  // from the job's start to the end of the cloud's action
        booting,     // from there to its proof
        failed,      // out of service
    };
    Kind kind = Kind::serving;
    std::int64_t from = 0, to = 0;
    bool operator==(const ReportSpan&) const = default;
};

struct ReportJob {
    std::uint32_t id = 0;
    std::string user;
    std::vector<std::string> nodes;
    std::int64_t start = 0, end = 0;  // end 0: it still runs
};

struct Report {
    View view;  // with a rollout
    std::vector<ReportJob> jobs;
    std::vector<Event> events;  // oldest first
};

// From BEGIN to END, without gaps.
std::vector<ReportSpan> spans_of(const ViewNode& node, std::int64_t begin, std::int64_t end);

// Where the picture begins and ends: the rollout with a margin, up to now while it is open.
struct ReportTime {
    std::int64_t begin = 0, end = 0;
    std::int64_t tick = 60;  // seconds between two marks of the axis
};
ReportTime time_of(const Report& report);

// (time, how many): how many of them run or are out at that time, at each change.
using Steps = std::vector<std::pair<std::int64_t, std::size_t>>;
Steps jobs_running(const Report& report, const ReportTime& time);
Steps nodes_out(const Report& report, const ReportTime& time);

std::string html_of(const Report& report);

}  // namespace cohort
