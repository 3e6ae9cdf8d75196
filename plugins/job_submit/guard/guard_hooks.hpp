// SPDX-License-Identifier: GPL-2.0-or-later
//
// The guard's part of the two hooks as plain C++: values in, what to write into the job out. No
// RPC, no file; one mutex around the changes of the last seconds. Re-entrant.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "common/guard/modify.hpp"
#include "plugins/job_submit/world.hpp"

namespace cohort {

// What to write; what is not set stays as it is.
struct GuardAnswer {
    bool refused = false;
    bool hold = false;
    std::optional<std::string> features, prefer, partition, admin_comment;
    std::string message;          // for the user; "" = nothing to say
    guard::HetChoice het_choice;  // for the next component of the same job
};

class GuardHooks {
  public:
    // LIVE: does slurmctld know these features at this moment?
    using Live = std::function<bool(const std::vector<std::string>&)>;
    GuardHooks(
        const Published<World>& world, guard::ExpandHosts expand,
        Live live = [](const std::vector<std::string>&) { return true; })
        : world_(world), expand_(std::move(expand)), live_(std::move(live)) {}

    // HELD: the submitter holds the job himself.
    GuardAnswer submit(const guard::Request& request, const guard::Caller& caller,
                       const std::string& admin_comment, bool held, Clock::time_point now) const;

    // ID as in the update: "34", "34_[1-3]", "34+1".
    GuardAnswer modify(const std::string& id, const guard::PlacementChange& change,
                       const guard::Caller& caller, Clock::time_point now);

    // What modify() has made of jobs since the last call, for the thread to write down.
    guard::FreshMarks take_marks();

    // True when a job was held since the last call because it could not be judged.
    bool take_cold_holds() const { return cold_holds_.exchange(false); }

  private:
    // The view to judge by; nullptr: cold or stale, or slurmctld has just lost the features.
    const guard::GuardView* fresh(const World& world, Clock::time_point now) const;

    const Published<World>& world_;
    guard::ExpandHosts expand_;
    Live live_;
    mutable std::atomic<bool> cold_holds_{false};
    std::mutex mutex_;
    guard::Overlay overlay_;
    guard::FreshMarks marks_;
};

}  // namespace cohort
