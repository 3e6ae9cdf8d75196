// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/slots.hpp"

#include <algorithm>
#include <random>
#include <thread>

#include <fmt/core.h>
#include <unistd.h>

namespace cohort {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::string slots_dir(const std::string& state_dir) {
    return state_dir + "/slots";
}

std::string slot_path(const std::string& state_dir, std::uint32_t number) {
    return fmt::format("{}/{}", slots_dir(state_dir), number);
}

// Only for people who look: the lock is what counts.
void note_holder(int fd, const std::string& holder) {
    const std::string line = fmt::format("{} pid {}\n", holder, ::getpid());
    if (::ftruncate(fd, 0) == 0) (void)!::pwrite(fd, line.data(), line.size(), 0);
}

std::minstd_rand& generator() {
    thread_local std::minstd_rand random{std::random_device{}()};
    return random;
}

// One look at all slots, from a random one on, so that waiting processes do not all try the first.
Result<Slot> try_slots(const std::string& state_dir, std::uint32_t count,
                       const std::string& holder) {
    const std::uint32_t first = static_cast<std::uint32_t>(generator()()) % count;
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t number = (first + i) % count;
        auto lock = try_lock_file(slot_path(state_dir, number));
        if (lock) {
            note_holder(lock->get(), holder);
            return Slot(std::move(*lock), number);
        }
        if (lock.error().code != Errc::busy) return fail("a slot", lock.error());
    }
    return fail(Errc::busy, fmt::format("all {} slots are taken", count));
}

}  // namespace

Result<Slot> acquire_slot(const std::string& state_dir, std::uint32_t count,
                          const std::string& holder, steady_clock::time_point deadline) {
    count = std::max(count, 1U);
    if (auto made = make_directories(slots_dir(state_dir), 0700); !made)
        return tl::unexpected(made.error());
    while (true) {
        auto slot = try_slots(state_dir, count, holder);
        if (slot || slot.error().code != Errc::busy) return slot;
        if (steady_clock::now() >= deadline)
            return fail(Errc::busy,
                        slot.error().message + " (MaxConcurrent), and the time is over");
        // flock has no wait with a time limit. Jitter: waiters must not look in step.
        std::uniform_int_distribution<int> pause(50, 150);
        std::this_thread::sleep_for(milliseconds(pause(generator())));
    }
}

Result<std::uint32_t> slots_in_use(const std::string& state_dir, std::uint32_t count) {
    std::uint32_t used = 0;
    if (::access(slots_dir(state_dir).c_str(), F_OK) != 0) return used;
    for (std::uint32_t number = 0; number < count; ++number) {
        const std::string path = slot_path(state_dir, number);
        if (::access(path.c_str(), F_OK) != 0) continue;
        auto lock = try_lock_file(path);
        if (lock) continue;
        if (lock.error().code != Errc::busy) return tl::unexpected(lock.error());
        ++used;
    }
    return used;
}

}  // namespace cohort
