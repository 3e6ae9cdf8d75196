// SPDX-License-Identifier: GPL-2.0-or-later
//
// The back ends of a site: each node's own, as its Cohort= line or the site's settings say. One
// nova client for all nodes of nova, one object for each command of Backend=exec and =reboot. What
// is opened lives as long as this object, and all of it is opened at its first use. Thread-safe.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "rebootprog/cloud/backend.hpp"
#include "rebootprog/cloud/backend_nova.hpp"
#include "rebootprog/site/site.hpp"

namespace cohort {

// Which settings hold for one node: those of the first Cohort= line that holds it, else the site's.
class NodeSettings {
  public:
    explicit NodeSettings(const Configuration& configuration);
    const Settings& of(const std::string& node) const;

  private:
    const Settings* others_;
    std::unordered_map<std::string, const Settings*> by_node_;
};

class Backends {
  public:
    using Deadline = std::chrono::steady_clock::time_point;

    // SITE must outlive it. PATIENCE: how long one call may retry a passing fault by itself.
    // DEADLINE: no call of nova lasts longer.
    Backends(const Site& site, std::chrono::seconds patience, Deadline deadline = Deadline::max())
        : site_(site), settings_(site.configuration), patience_(patience), deadline_(deadline) {}

    const Settings& settings(const std::string& node) const { return settings_.of(node); }
    Result<Backend*> of(const std::string& node);
    // Each back end that some cohort, or the site, uses. The first error ends it.
    Result<std::vector<Backend*>> all();

  private:
    Result<Backend*> open(const Settings& settings);

    const Site& site_;
    const NodeSettings settings_;
    const std::chrono::seconds patience_;
    const Deadline deadline_;
    std::mutex mutex_;
    std::unordered_map<std::string, std::unique_ptr<Backend>> opened_;  // by kind and command
};

const char* name_of(BackendKind kind);

}  // namespace cohort
