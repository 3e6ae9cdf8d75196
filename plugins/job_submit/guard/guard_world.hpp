// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the guard's hooks decide by: part of the World that the plugin's thread publishes.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/guard/view.hpp"

namespace cohort {

// The queue as the thread last read it; only read while some cohort is of more than one revision.
class JobTable {
  public:
    using Time = std::chrono::steady_clock::time_point;
    // BEGAN: when the call was sent that brought them.
    JobTable(std::vector<Job> jobs, Time began);
    Time began() const { return began_; }
    const std::vector<Job>& all() const { return jobs_; }
    // The records that an update of ID ("34", "34_5", "34_[1-3]", "34+1") is for, pending ones
    // only.
    std::vector<const Job*> find(const std::string& id) const;

  private:
    std::vector<Job> jobs_;
    Time began_;
    std::unordered_map<std::string, std::vector<std::size_t>> by_text_;
    std::unordered_map<std::uint32_t, std::vector<std::size_t>> by_number_;
};

struct GuardWorld {
    std::shared_ptr<const guard::GuardView> view;  // nullptr: cold
    std::shared_ptr<const JobTable> jobs;          // nullptr: not read
    bool off = false;                              // scohort guard off, for a time
};

// No guarded cohort has nodes of two revisions or is about to: nothing can span.
bool all_uniform(const guard::GuardView& view);

}  // namespace cohort
