// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/reboot/choke_point.hpp"

#include <algorithm>
#include <thread>

#include "common/log.hpp"
#include "common/look_request.hpp"
#include "rebootprog/site/picture.hpp"

namespace cohort {
namespace {

constexpr std::chrono::milliseconds pause{200};
constexpr std::chrono::seconds longest{60};

}  // namespace

Gate look_at_gate(const std::string& state_dir, const Settings& settings, const std::string& node,
                  double since, double now) {
    const auto picture = shared_picture(state_dir);
    if (!picture) return picture.error().code == Errc::invalid ? Gate::not_yet : Gate::no_plugin;
    const SnapshotFile* snapshot = picture->get();
    if (!is_fresh(snapshot->header, settings, now)) return Gate::no_plugin;
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
    if (auto asked = ask_for_a_look(state_dir); !asked)
        log::info("{}: waiting for the plugin's next look: {}", node, asked.error().message);
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
