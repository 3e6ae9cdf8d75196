// SPDX-License-Identifier: GPL-2.0-or-later
//
// StateDir/snapshot.json: what the plugin's thread last read, for the programs on the controller.
//
// One writer (the plugin in the active controller), which replaces the file as a whole; readers
// must look at its age: a file that is older than StaleAfter tells nothing. Generations count up
// within one slurmctld process and begin at 1 in the next. JSON:
//
//   {"generation":7,"started":1700000000.123,"written":...,"slurmctld":4711,"host":"ctl","configuration":"...",
//    "hooks":{"calls":90,"seconds":0.004,"median_us":24.6,"p99_us":49.2,"max_us":81.3},
//    "fault":"...","breaker":false,"open":["n2"],"rebuild_jobs":[{"job":12,"node":"n1","pending":true,"held":false}],
//    "nodes":[["n1","IDLE","rev_...",false], ...]}      (name, state, label, withdrawn)
//
// open: nodes whose revision is about to change, and for which everything is ready for that: the
// hooks judge by it, and the queue has been bound. started: when the first call of that reading was
// sent, in seconds since the epoch: whatever was written to Slurm before it is in this picture.
// hooks: the time inside job_submit and job_modify since slurmctld began, up to ten seconds old.
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"
#include "common/snapshot.hpp"

namespace cohort {

struct HookSummary {
    std::uint64_t calls = 0;
    double seconds = 0;  // all together
    double median_us = 0, p99_us = 0, max_us = 0;
};

struct SnapshotHeader {
    std::uint64_t generation = 0;
    double started = 0;
    double written = 0;
    std::int64_t process = 0;
    std::string host;           // of the active controller, as gethostname() says
    std::string configuration;  // the file in use; empty: none
    std::string fault;          // why cohort.conf is not in use; empty: it is
    bool breaker_open = false;
    std::vector<std::string> open_nodes;
    HookSummary hooks;
};

struct SnapshotFile {
    SnapshotHeader header;
    struct NodeLine {
        std::string name, state, revision;
        bool withdrawn = false;
    };
    std::vector<NodeLine> nodes;
    std::vector<RebuildJob> rebuild_jobs;
};

inline constexpr std::string_view snapshot_file_name = "snapshot.json";

// Nodes and jobs only: two pictures with the same body tell the same.
std::string render_snapshot_body(const std::vector<Node>& nodes,
                                 const std::vector<RebuildJob>& rebuild_jobs);
std::string render_snapshot(const SnapshotHeader& header, std::string_view body);
Result<SnapshotFile> parse_snapshot(std::string_view text, std::string_view name);

}  // namespace cohort
