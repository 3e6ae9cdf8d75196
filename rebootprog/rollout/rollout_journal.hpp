// SPDX-License-Identifier: GPL-2.0-or-later
//
// Rollouts in the journal (journal.hpp): the rollouts, one row for each of their nodes, their
// events, and the images in quarantine.
//
// A view on an open Journal, which must outlive it; same thread rules. Every write is one
// transaction. Reading needs no lock of ours: any number of processes may look.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "rebootprog/journal/journal.hpp"
#include "rebootprog/rollout/rollout.hpp"

namespace cohort {

class RolloutJournal {
  public:
    explicit RolloutJournal(const Journal& journal) : state_(*journal.state_) {}

    // -- reading --------------------------------------------------------------------------------
    // Newest first, at most LIMIT.
    Result<std::vector<Rollout>> rollouts(int limit) const;
    Result<std::optional<Rollout>> rollout(std::int64_t id) const;
    // Those that `advance` still has work with: open ones, and aborted ones with nodes under way.
    // Oldest first.
    Result<std::vector<Rollout>> unfinished() const;
    // The nodes of one rollout, in its order.
    Result<std::vector<RolloutNode>> nodes(std::int64_t rollout) const;
    // Every rollout that had this node, newest first.
    Result<std::vector<RolloutNode>> history_of(const std::string& node, int limit) const;
    // Newest first.
    Result<std::vector<Event>> events(std::int64_t rollout, int limit) const;
    Result<std::vector<Quarantine>> quarantined() const;
    Result<std::vector<Pin>> pins() const;
    Result<std::optional<Pin>> pin(const std::string& node) const;

    // -- writing --------------------------------------------------------------------------------
    // Records a rollout with all its nodes at once; fills in the ids.
    Status create(Rollout& rollout, std::vector<RolloutNode>& nodes);
    Status save(const Rollout& rollout);
    Status save(const RolloutNode& node);
    // WHO did what; NODE may be empty.
    Status note(std::int64_t rollout, const std::string& node, const std::string& who,
                const std::string& text);
    Status quarantine(const Quarantine& quarantine);
    Status lift_quarantine(const std::string& image);

  private:
    Journal::State& state_;
};

}  // namespace cohort
