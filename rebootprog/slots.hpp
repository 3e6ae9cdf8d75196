// SPDX-License-Identifier: GPL-2.0-or-later
//
// The site's pace: at most MaxConcurrent actions of the cloud at once, over all processes.
//
// A slot is a locked file in <StateDir>/slots, held from before the POST to the end of nova's
// action and freed by the kernel when its process dies, however it dies. flock works on the shared
// file systems that Slurm's StateSaveLocation needs too. Slots may be taken from many threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "common/file.hpp"
#include "common/result.hpp"

namespace cohort {

// Holds one slot until it is destroyed.
class Slot {
  public:
    Slot(UniqueFd lock, std::uint32_t number) : lock_(std::move(lock)), number_(number) {}
    std::uint32_t number() const { return number_; }

  private:
    UniqueFd lock_;
    std::uint32_t number_;
};

// Waits until one of COUNT slots is free. HOLDER (a node's name) is written into the file, for
// people. Errc::busy when DEADLINE passes first; Errc::failed names the file.
Result<Slot> acquire_slot(const std::string& state_dir, std::uint32_t count,
                          const std::string& holder,
                          std::chrono::steady_clock::time_point deadline);

// How many of the slots are taken now: for status and metrics.
Result<std::uint32_t> slots_in_use(const std::string& state_dir, std::uint32_t count);

}  // namespace cohort
