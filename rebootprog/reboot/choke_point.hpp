// SPDX-License-Identifier: GPL-2.0-or-later
//
// The choke point of a rolling change: nothing is asked of the cloud for a node before the guard in
// slurmctld knows that its revision is about to change and has bound the jobs of the queue.
//
// Told by the plugin through StateDir/snapshot.json ("open"). A plugin that is not there, or does
// not answer in time, has no guard to wait for either: that is logged and the work goes on (a net
// must not become an outage).
#pragma once

#include <chrono>
#include <string>

#include "common/settings.hpp"

namespace cohort {

enum class Gate { open, no_plugin, not_yet };

// One look. Only a picture that was begun after SINCE counts. NOW and SINCE: seconds since the
// epoch.
Gate look_at_gate(const std::string& state_dir, const Settings& settings, const std::string& node,
                  double since, double now);

// For NODE, whose cohort_want has been written. Waits at most a third of the time to DEADLINE.
void wait_until_open(const std::string& state_dir, const Settings& settings,
                     const std::string& node, std::chrono::steady_clock::time_point deadline);

}  // namespace cohort
