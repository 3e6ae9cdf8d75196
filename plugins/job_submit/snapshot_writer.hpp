// SPDX-License-Identifier: GPL-2.0-or-later
//
// Writes StateDir/snapshot.json (common/snapshot_file.hpp) when the picture has changed, and every
// ten seconds, or when somebody waits for it, when it has not. A failure is logged once and never
// more than an inconvenience: the file is for programs, the hooks do not need it. One thread.
#pragma once

#include <string>
#include <vector>

#include "common/result.hpp"
#include "common/snapshot.hpp"
#include "common/snapshot_file.hpp"
#include "plugins/job_submit/world.hpp"

namespace cohort {

class SnapshotWriter {
  public:
    // DIR is StateDir (empty: not known yet).
    void write(const std::string& dir, const Snapshot& snapshot,
               const std::vector<RebuildJob>& rebuild_jobs, const Policy& policy, bool breaker_open,
               const std::vector<std::string>& open_nodes, const HookSummary& hooks,
               Clock::time_point now);

    // The next picture is written though it is the same.
    void write_in_any_case() { waited_for_ = true; }

  private:
    void complain(const Status& written, const std::string& dir);

    std::string written_;  // dir and body of the last file
    Clock::time_point last_{};
    bool waited_for_ = false;
    std::string complaint_;
};

}  // namespace cohort
