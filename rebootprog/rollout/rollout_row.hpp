// SPDX-License-Identifier: GPL-2.0-or-later
//
// What is seen of one node of a rollout, and what becomes of its row by that. Pure.
//
// The job's end never decides alone: a node is done when it has proved that it runs the image (its
// label is published and cohort_want says that the cloud's action ended well), and failed when it
// is out of service for a reason of ours, or has not proved itself within VerifyWait.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rebootprog/rollout/advance_decide.hpp"
#include "rebootprog/rollout/rollout.hpp"

namespace cohort {

struct Sighting {
    const Node* node = nullptr;
    const MarkedJob* job = nullptr;    // its rebuild job, while that has not ended
    const Job* ended = nullptr;        // the same afterwards, as long as slurmctld knows it
    const Attempt* attempt = nullptr;  // the node's newest, if it belongs to this try
};

// Finds sightings in one observation, which must outlive it.
class SightIndex {
  public:
    explicit SightIndex(const Observation& seen);

    Sighting sighting(std::int64_t rollout, const RolloutNode& row) const;
    const Node* node(const std::string& name) const;
    const Attempt* attempt(const std::string& node) const;
    const MarkedJob* job_of(std::int64_t rollout, const RolloutNode& row) const;
    // The node has a rebuild job of somebody else.
    bool other_job(std::int64_t rollout, const RolloutNode& row) const;
    const std::vector<MarkedJob>& marked() const { return marked_; }
    // When the last of its jobs ends, by their time limits; 0: none runs.
    std::int64_t free_at(const std::string& node) const;

  private:
    std::vector<MarkedJob> marked_;
    std::unordered_map<std::string, const Node*> nodes_;
    std::unordered_map<std::string, const Attempt*> attempts_;
    std::unordered_map<std::string, std::vector<const MarkedJob*>> by_node_;
    std::unordered_map<std::uint32_t, const Job*> ended_;
    std::unordered_map<std::string, std::int64_t> free_at_;
};

struct RowRules {
    std::int64_t now = 0;
    std::int64_t verify_wait = 600;
    bool via_reboot = false;
};

struct RowChange {
    bool changed = false;
    RolloutNode row;
    std::string text;        // an event; may be empty
    std::string take_out;    // the node is in service without a proof: why it must not be
    bool give_back = false;  // it has proved itself and is still out for this rollout's reason
};

RowChange update_row(const RolloutNode& row, const Sighting& sight, const RowRules& rules);

// The reasons on a node while a rollout rebuilds it without a job, and while it waits for a reboot.
std::string direct_reason(std::int64_t rollout);
std::string reboot_reason(std::int64_t rollout);
// And while it judges itself again, after advance has written its wish anew.
inline constexpr std::string_view lost_wish_reason =
    "its wish was lost with slurmctld's state and is written again";
// In the reason while nobody knows how the cloud's action has ended; `advance` finds out.
inline constexpr std::string_view unsure_words = "may still be under way";

}  // namespace cohort
