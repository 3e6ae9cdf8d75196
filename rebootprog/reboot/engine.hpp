// SPDX-License-Identifier: GPL-2.0-or-later
//
// A run of cohort-reboot or one of its siblings: one attempt for each node of a call, at most
// MaxConcurrent at once.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/file.hpp"
#include "common/result.hpp"
#include "rebootprog/reboot/attempt.hpp"
#include "rebootprog/site/site.hpp"

namespace cohort {

// NodeDesk on slurmctld.
class SlurmDesk : public NodeDesk {
  public:
    Result<Node> node(const std::string& name) override;
    Status edit(const std::string& name, const std::function<void(NodeRecord&)>& change) override;
    Status take_out(const std::string& name, const std::string& reason) override;
};

// When an attempt of a call that begins now has to stop: ResumeTimeout less a margin.
AttemptContext::Clock::time_point deadline_of(const ControllerConfig& slurm);

// Opens the breaker at the first fault and holds the rebuild jobs that still wait.
void cloud_failed(const Site& site, const std::string& by, const std::string& reason);

// Whoever works on a node holds this lock. Errc::busy: another process does, also after SECONDS.
Result<UniqueFd> lock_node(const Site& site, const std::string& node, int seconds = 0);

// What is done for each node of a call.
struct Work {
    NodeDesk& desk;
    Journal& journal;
    std::function<Outcome(const AttemptContext&, const std::string& node)> attempt;
    AttemptContext::Clock::time_point deadline;
    int lock_seconds = 0;  // how long it waits for another process; 0: that one does it
};

// Does WORK for all NODES; returns the program's exit code.
int run_work(const Site& site, const std::vector<std::string>& nodes, const Work& work);

// Runs an attempt for each; returns the program's exit code.
int run_nodes(const Site& site, const std::vector<std::string>& nodes);

}  // namespace cohort
