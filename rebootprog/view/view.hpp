// SPDX-License-Identifier: GPL-2.0-or-later
//
// What `scohort status|watch|metrics|report` show, as plain values, and what follows from them:
// counts, rate, estimated end, the words for each node. Pure; view_collect.hpp fills it.
//
// Times are seconds since the epoch, 0: not yet.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/snapshot_file.hpp"
#include "rebootprog/barrier/barrier.hpp"
#include "rebootprog/cloud/breaker.hpp"
#include "rebootprog/journal/journal.hpp"
#include "rebootprog/rollout/rollout.hpp"

namespace cohort {

// A job of somebody else, on a node or on its way there.
struct ViewJob {
    std::uint32_t id = 0;
    std::string user;
    std::int64_t start = 0, end = 0;  // end: by its time limit while it runs; 0: none
};

struct ViewNode {
    RolloutNode row;
    std::string state;   // Slurm's, "IDLE+DRAIN"; empty: Slurm knows no such node
    std::string reason;  // Slurm's
    std::string label;   // the published revision
    bool out = false;    // could take no user's job now, or is held for a pending rebuild
    std::optional<Attempt> attempt;  // the newest, if it belongs to this try
    std::vector<ViewJob> jobs;       // that run there; rebuild jobs are not among them
};

struct View {
    std::int64_t now = 0;
    std::string cluster;
    std::optional<Rollout> rollout;  // the one that is shown; nothing: there was none
    std::vector<ViewNode> nodes;     // of it
    std::vector<ViewNode> others;    // rebuilt by hand; of all time when there is no rollout
    std::vector<std::int64_t> also;  // other rollouts that are under way
    std::size_t scope = 0;           // nodes that its limits are counted in
    std::size_t out = 0;             // of them, out of service now
    std::size_t out_limit = 0;       // by MaxUnavailable and MinAvailable
    std::size_t users_running = 0, users_waiting = 0;  // jobs, on the whole site
    std::int64_t jobs_at = 0;                          // when the jobs were read; 0: now
    std::uint32_t slots_used = 0, slots = 0;           // actions of the cloud
    std::optional<Breaker> breaker;
    std::vector<Quarantine> quarantined;
    std::vector<Barrier> barriers;     // that are closed
    std::optional<HookSummary> hooks;  // of the plugin, by its file
};

struct Progress {
    std::array<std::size_t, 7> count{};  // by Step
    std::size_t total = 0;
    std::size_t held_nodes = 0;     // kept free (or being freed) for a rebuild job that waits
    std::int64_t node_seconds = 0;  // median from the start of a rebuild to its proof; 0: none yet
    std::size_t measured = 0;       // how many that is the median of
    double per_hour = 0;            // nodes that ended, since the first began
    std::optional<std::int64_t> end;  // estimated, or the real one; nothing: it cannot be told
    std::size_t of(Step step) const { return count[static_cast<std::size_t>(step)]; }
    std::size_t ended() const { return of(Step::done) + of(Step::failed) + of(Step::cancelled); }
    // Of 1000.
    std::size_t permille() const { return total == 0 ? 1000 : 1000 * ended() / total; }
};

Progress progress_of(const View& view);

// Where a node stands, in one word: "planned", "held", "waits", "starts", "rebuilding", "booting",
// "done", "failed", "cancelled".
std::string word_of(const ViewNode& node);

// Since when it stands there.
std::int64_t since_of(const ViewNode& node);

// One sentence: what it waits for, or why it failed, with the request id.
std::string what_of(const ViewNode& node, std::int64_t now);

// "14:03" today, "Mon 14:03" within a week, else "2026-11-30 14:03"; local time, "-" for 0.
std::string clock_of(std::int64_t at, std::int64_t now);
// "14:03:07" today, else "2026-11-30 14:03:07".
std::string exact_clock_of(std::int64_t at, std::int64_t now);
// "45 s", "12 min", "3 h 5 min", "2 d 4 h".
std::string span_of(std::int64_t seconds);

// The sentences above the table: what the rollout is, how far it is, what limits it now.
std::vector<std::string> headline_of(const View& view, const Progress& progress);

}  // namespace cohort
