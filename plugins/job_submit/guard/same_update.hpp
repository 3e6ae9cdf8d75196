// SPDX-License-Identifier: GPL-2.0-or-later
//
// One update of several records: the components of a het job, the parts of an array. slurmctld asks
// job_modify for each of them, one after the other in one thread, with one and the same description
// (update_job_str() of src/slurmctld/job_mgr.c): from the second on, our answer to the first stands
// in it, and must not be taken for what the user gave. Values; one per thread.
#pragma once

#include <string>
#include <utility>

#include "plugins/job_submit/guard/guard_hooks.hpp"

namespace cohort {

class SameUpdate {
  public:
    // CHANGE as read from the description at ADDRESS, without what we have written into it.
    guard::PlacementChange as_given(const void* address, const std::string& id,
                                    guard::PlacementChange change) const {
        if (address != address_ || id != id_) return change;
        const auto take_back = [](auto& now, const auto& ours, const auto& given) {
            if (ours && now == ours) now = given;
        };
        take_back(change.features, answer_.features, given_.features);
        take_back(change.prefer, answer_.prefer, given_.prefer);
        take_back(change.partition, answer_.partition, given_.partition);
        return change;
    }

    void remember(const void* address, std::string id, guard::PlacementChange given,
                  GuardAnswer answer) {
        address_ = address;
        id_ = std::move(id);
        given_ = std::move(given);
        answer_ = std::move(answer);
    }

  private:
    const void* address_ = nullptr;
    std::string id_;
    guard::PlacementChange given_;
    GuardAnswer answer_;
};

}  // namespace cohort
