// SPDX-License-Identifier: GPL-2.0-or-later
//
// Barriers in the journal (journal.hpp). A view on an open Journal, which must outlive it; same
// thread rules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "rebootprog/barrier/barrier.hpp"
#include "rebootprog/journal/journal.hpp"

namespace cohort {

class BarrierJournal {
  public:
    explicit BarrierJournal(const Journal& journal) : state_(*journal.state_) {}

    Status create(Barrier& barrier);  // fills in the id
    Status save(const Barrier& barrier);
    // Oldest first.
    Result<std::vector<Barrier>> unfinished() const;
    // Newest first, at most LIMIT.
    Result<std::vector<Barrier>> barriers(int limit) const;

  private:
    Journal::State& state_;
};

}  // namespace cohort
