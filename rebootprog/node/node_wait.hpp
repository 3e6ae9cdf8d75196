// SPDX-License-Identifier: GPL-2.0-or-later
//
// Waiting of join, with a limit, and telling people on the controller what for.
//
// What is told: the node's reason, which `sinfo -R` and `scohort status` show, as "cohort: join:
// waiting: WHAT". The node is drained for it, so that nothing is placed there meanwhile; join lifts
// that drain itself. A node that Slurm is rebooting, or that has a job, is not drained: it gets the
// reason alone. A drain or FAIL of an administrator keeps its reason. Nothing is told of waits of
// less than a few seconds, nor where slurmctld cannot be asked yet (the log has it).
#pragma once

#include <chrono>
#include <string>

#include "common/cluster.hpp"
#include "common/result.hpp"

namespace cohort {

struct JoinOptions {
    std::chrono::milliseconds wait = std::chrono::seconds(30);  // for profile, stamp, steps
    std::chrono::milliseconds jitter{0};  // --after begins at a random moment of this time
};

// Thousands of nodes boot at once after a power failure: any time up to LIMIT, equally likely, and
// independent of every other process and node.
std::chrono::milliseconds random_part(std::chrono::milliseconds limit);
void sleep_jitter(std::chrono::milliseconds jitter);

class JoinWait {
  public:
    explicit JoinWait(std::string node);

    // Since construction.
    bool is_over(std::chrono::milliseconds limit) const;
    // Sleeps a while, longer each time, each node a little differently.
    void pause();
    // Tells WHAT on NODE (once each sentence) when the wait has become long.
    void tell(const Node& node, const std::string& what);

  private:
    using Clock = std::chrono::steady_clock;
    std::string name_, told_;
    Clock::time_point begin_;
    std::chrono::milliseconds next_;
};

}  // namespace cohort
