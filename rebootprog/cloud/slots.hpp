// SPDX-License-Identifier: GPL-2.0-or-later
//
// The site's pace: at most MaxConcurrent actions of the cloud at once, over all processes.
//
// A slot is a locked file in <StateDir>/slots, held from before the POST to the end of nova's
// action and freed by the kernel when its process dies, however it dies. The action of a process
// that was killed goes on in the cloud: what it had asked for stands in the file, and the next
// holder waits for its end, or takes another slot that is free. flock works on the shared file
// systems that Slurm's StateSaveLocation needs too. Slots may be taken from many threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "common/file.hpp"
#include "common/result.hpp"

namespace cohort {

// What a holder asks of the cloud while it has a slot. Times are seconds since the epoch.
struct SlotUse {
    std::string server, action, request;  // request: empty until the cloud has answered
    std::int64_t posted = 0;
    std::int64_t until = 0;  // its holder would have let the slot go by then
};

// Holds one slot until it is destroyed; the file is empty then.
class Slot {
  public:
    Slot(UniqueFd lock, std::uint32_t number) : lock_(std::move(lock)), number_(number) {}
    Slot(Slot&&) = default;
    Slot& operator=(Slot&& other) noexcept;
    ~Slot();

    std::uint32_t number() const { return number_; }
    // To be written before the POST, and again when the request id is known.
    void note(const std::string& holder, const SlotUse& use);
    // What a dead holder left; server is empty when there is nothing.
    SlotUse left() const;
    // Lets the slot go and leaves the file as it is.
    void leave() { lock_.reset(); }

  private:
    void let_go();

    UniqueFd lock_;
    std::uint32_t number_;
};

// Asked about once a second: is this action of a dead holder still under way?
using StillRuns = std::function<bool(const SlotUse&)>;

// Waits until one of COUNT slots is free. HOLDER (a node's name) is written into the file, for
// people. Errc::busy when DEADLINE passes first; Errc::failed names the file. Without STILL_RUNS
// what dead holders left does not count.
Result<Slot> acquire_slot(const std::string& state_dir, std::uint32_t count,
                          const std::string& holder, std::chrono::steady_clock::time_point deadline,
                          const StillRuns& still_runs = {});

// How many of the slots are taken now: for status and metrics.
Result<std::uint32_t> slots_in_use(const std::string& state_dir, std::uint32_t count);

}  // namespace cohort
