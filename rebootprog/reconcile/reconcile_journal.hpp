// SPDX-License-Identifier: GPL-2.0-or-later
//
// Since when a node is stale, in the journal: a pass is a process of its own and must remember.
//
// A view on an open Journal, which must outlive it; same thread rules.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "common/result.hpp"
#include "rebootprog/journal/journal.hpp"

namespace cohort {

class ReconcileJournal {
  public:
    explicit ReconcileJournal(const Journal& journal) : state_(*journal.state_) {}

    Result<std::map<std::string, std::int64_t>> stale_since() const;
    // Replaces all of it: a node that is not in it is not stale any more.
    Status keep(const std::map<std::string, std::int64_t>& stale_since);

  private:
    Journal::State& state_;
};

}  // namespace cohort
