// SPDX-License-Identifier: GPL-2.0-or-later
//
// StateDir/snapshot.json as the programs on the controller read it: what the plugin's thread in the
// active controller saw last. Seconds are since the epoch.
#pragma once

#include <memory>
#include <string>

#include "common/result.hpp"
#include "common/settings.hpp"
#include "common/snapshot_file.hpp"
#include "rebootprog/site/site.hpp"

namespace cohort {

double seconds_now();

// Errc::failed when it cannot be read, Errc::invalid when it is no snapshot.
Result<SnapshotFile> read_picture(const std::string& state_dir);

// The same for many threads that ask again and again: each version of the file is read once in a
// process. A thousand nodes are a megabyte of JSON.
Result<std::shared_ptr<const SnapshotFile>> shared_picture(const std::string& state_dir);

// Does a plugin write it that is alive? It writes every 10 s when nothing changes.
bool is_fresh(const SnapshotHeader& header, const Settings& settings, double now);

// The host of the controller that is active when that is another one than HOST; else empty, also
// where no plugin says so: the locks in StateDir keep two programs apart anyway.
std::string active_elsewhere(const std::string& state_dir, const Settings& settings,
                             const std::string& host, double now);

// The same for this machine; empty where there is one controller.
std::string standby_for(const Site& site);

}  // namespace cohort
