// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/cloud/slots.hpp"

#include <algorithm>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <optional>
#include <random>

#include <fmt/core.h>
#include <unistd.h>

#include "common/json.hpp"
#include "common/log.hpp"

namespace cohort {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t most_bytes = 4096;
constexpr std::chrono::seconds between_questions{1};

std::string slots_dir(const std::string& state_dir) {
    return state_dir + "/slots";
}

std::string slot_path(const std::string& state_dir, std::uint32_t number) {
    return fmt::format("{}/{}", slots_dir(state_dir), number);
}

std::minstd_rand& generator() {
    thread_local std::minstd_rand random{std::random_device{}()};
    return random;
}

// The waiters of this process. One at a time looks at the files, the others wait for its turn: a
// hundred threads that each look at a hundred files ten times a second would need more processor
// than all else. What a thread lets go the looker gets at once; other processes are seen in time.
struct Queue {
    std::mutex mutex;
    std::condition_variable turn, freed;
    bool looking = false;
    std::uint64_t frees = 0;

    bool enter(steady_clock::time_point deadline) {
        std::unique_lock lock(mutex);
        if (!turn.wait_until(lock, deadline, [&] { return !looking; })) return false;
        looking = true;
        return true;
    }
    void leave() {
        {
            const std::lock_guard lock(mutex);
            looking = false;
        }
        turn.notify_one();
    }
    std::uint64_t freed_so_far() {
        const std::lock_guard lock(mutex);
        return frees;
    }
    void free() {
        {
            const std::lock_guard lock(mutex);
            ++frees;
        }
        freed.notify_all();
    }
    // Until more than SEEN have been let go, or TIME is over.
    void pause(std::uint64_t seen, milliseconds time) {
        std::unique_lock lock(mutex);
        freed.wait_for(lock, time, [&] { return frees != seen; });
    }
};

Queue& queue() {
    static Queue all;
    return all;
}

// One look at all slots, from a random one on, so that waiting processes do not all try the first.
Result<Slot> try_slots(const std::string& state_dir, std::uint32_t count) {
    const std::uint32_t first = static_cast<std::uint32_t>(generator()()) % count;
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t number = (first + i) % count;
        auto lock = try_lock_file(slot_path(state_dir, number));
        if (lock) return Slot(std::move(*lock), number);
        if (lock.error().code != Errc::busy) return fail("a slot", lock.error());
    }
    return fail(Errc::busy, fmt::format("all {} slots are taken", count));
}

// The slots of one waiter: at most one of a dead holder, kept until that one's action has ended.
class Waiter {
  public:
    explicit Waiter(const StillRuns& still_runs) : still_runs_(still_runs) {}

    // SLOT when it may be used; else it is kept, or left to others.
    std::optional<Slot> offer(Slot slot) {
        if (!still_runs_ || is_over(slot.left())) return slot;
        if (kept_) {
            slot.leave();
            return std::nullopt;
        }
        const SlotUse left = slot.left();
        log::info("slot {}: its holder died while the cloud worked on server {}: waiting for that",
                  slot.number(), left.server);
        kept_.emplace(std::move(slot));
        return ask();
    }

    // The kept slot as soon as it may be used.
    std::optional<Slot> ask() {
        if (!kept_ || steady_clock::now() < next_question_) return std::nullopt;
        next_question_ = steady_clock::now() + between_questions;
        const SlotUse left = kept_->left();
        if (!is_over(left) && still_runs_(left)) return std::nullopt;
        std::optional<Slot> free = std::move(kept_);
        kept_.reset();
        return free;
    }

    ~Waiter() {
        if (kept_) kept_->leave();
    }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

  private:
    static bool is_over(const SlotUse& left) {
        return left.server.empty() || left.until <= std::time(nullptr);
    }

    const StillRuns& still_runs_;
    std::optional<Slot> kept_;
    steady_clock::time_point next_question_{};
};

// Nothing when DEADLINE has passed.
Result<std::optional<Slot>> look_for_slot(const std::string& state_dir, std::uint32_t count,
                                          steady_clock::time_point deadline,
                                          const StillRuns& still_runs) {
    Waiter waiter(still_runs);
    while (true) {
        const auto seen = queue().freed_so_far();
        if (auto mine = waiter.ask()) return mine;
        auto slot = try_slots(state_dir, count);
        if (!slot && slot.error().code != Errc::busy) return tl::unexpected(slot.error());
        if (slot)
            if (auto mine = waiter.offer(std::move(*slot))) return mine;
        if (steady_clock::now() >= deadline) return std::optional<Slot>();
        // flock has no wait with a time limit. Jitter: processes must not look in step.
        std::uniform_int_distribution<int> pause(50, 150);
        queue().pause(seen, milliseconds(pause(generator())));
    }
}

}  // namespace

Slot& Slot::operator=(Slot&& other) noexcept {
    if (this != &other) {
        let_go();
        lock_ = std::move(other.lock_);
        number_ = other.number_;
    }
    return *this;
}

Slot::~Slot() {
    let_go();
}

void Slot::let_go() {
    if (!lock_) return;
    (void)!::ftruncate(lock_.get(), 0);
    lock_.reset();
    queue().free();
}

void Slot::note(const std::string& holder, const SlotUse& use) {
    Json j = json::object();
    json::set(j.get(), "node", holder);
    json::set(j.get(), "pid", std::int64_t{::getpid()});
    json::set(j.get(), "server", use.server);
    json::set(j.get(), "action", use.action);
    json::set(j.get(), "request", use.request);
    json::set(j.get(), "posted", use.posted);
    json::set(j.get(), "until", use.until);
    const std::string line = json::dump(j.get()) + "\n";
    if (::ftruncate(lock_.get(), 0) == 0) (void)!::pwrite(lock_.get(), line.data(), line.size(), 0);
}

SlotUse Slot::left() const {
    SlotUse use;
    std::string text(most_bytes, '\0');
    const ssize_t n = ::pread(lock_.get(), text.data(), text.size(), 0);
    if (n <= 0) return use;
    text.resize(static_cast<std::size_t>(n));
    const auto root = json::parse(text, "a slot");
    if (!root) return use;
    use.server = json::string(root->get(), "server");
    use.action = json::string(root->get(), "action");
    use.request = json::string(root->get(), "request");
    use.posted = json::integer(root->get(), "posted").value_or(0);
    use.until = json::integer(root->get(), "until").value_or(0);
    return use;
}

Result<Slot> acquire_slot(const std::string& state_dir, std::uint32_t count,
                          const std::string& holder, steady_clock::time_point deadline,
                          const StillRuns& still_runs) {
    count = std::max(count, 1U);
    if (auto made = make_directories(slots_dir(state_dir), 0700); !made)
        return tl::unexpected(made.error());
    const auto too_late = [count] {
        return fail(
            Errc::busy,
            fmt::format("all {} slots are taken (MaxConcurrent), and the time is over", count));
    };
    if (!queue().enter(deadline)) return too_late();
    auto found = look_for_slot(state_dir, count, deadline, still_runs);
    queue().leave();
    if (!found) return tl::unexpected(found.error());
    if (!found->has_value()) return too_late();
    (*found)->note(holder, {});
    return std::move(**found);
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
