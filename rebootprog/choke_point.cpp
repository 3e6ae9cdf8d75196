// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/choke_point.hpp"

#include <algorithm>
#include <thread>

#include "common/file.hpp"
#include "common/log.hpp"
#include "common/snapshot_file.hpp"

namespace cohort {
namespace {

constexpr std::size_t most_bytes = 64UL << 20;
constexpr std::chrono::milliseconds pause{200};
constexpr std::chrono::seconds longest{60};
// The plugin writes the file every 10 s when nothing changes.
constexpr double heartbeat = 10;

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

}  // namespace

Gate look_at_gate(const std::string& state_dir, const Settings& settings, const std::string& node,
                  double since, double now) {
    const std::string path = state_dir + "/" + std::string(snapshot_file_name);
    const auto text = read_file(path, most_bytes);
    if (!text) return Gate::no_plugin;
    const auto snapshot = parse_snapshot(*text, path);
    if (!snapshot) return Gate::not_yet;
    const double age = now - snapshot->header.written;
    if (age > heartbeat + static_cast<double>(settings.stale_after.count()) / 1000)
        return Gate::no_plugin;
    const auto& open = snapshot->header.open_nodes;
    const bool listed = std::ranges::find(open, node) != open.end();
    return listed && snapshot->header.started > since ? Gate::open : Gate::not_yet;
}

void wait_until_open(const std::string& state_dir, const Settings& settings,
                     const std::string& node, std::chrono::steady_clock::time_point deadline) {
    using Duration = std::chrono::steady_clock::duration;
    const auto begin = std::chrono::steady_clock::now();
    const double since = seconds_now();
    const auto limit = begin + std::min<Duration>(longest, (deadline - begin) / 3);
    while (true) {
        switch (look_at_gate(state_dir, settings, node, since, seconds_now())) {
            case Gate::open:
                log::info("{}: open for rolling: the queue is bound", node);
                return;
            case Gate::no_plugin:
                log::warning(
                    "{}: job_submit_cohort writes no snapshot: jobs may span old and new nodes; "
                    "see slurmctld's log",
                    node);
                return;
            case Gate::not_yet:
                break;
        }
        if (std::chrono::steady_clock::now() >= limit) {
            log::warning(
                "{}: the guard has not bound the queue in time: waiting jobs may span old and new "
                "nodes; see slurmctld's log",
                node);
            return;
        }
        std::this_thread::sleep_for(pause);
    }
}

}  // namespace cohort
