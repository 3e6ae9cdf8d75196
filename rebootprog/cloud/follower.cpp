// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/cloud/follower.hpp"

#include <algorithm>
#include <utility>

#include "common/log.hpp"

namespace cohort {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::system_clock;

// From the POST to wait(), and the distance of two clocks.
constexpr seconds before_wait{10};
// A list that says nothing of a server is not believed for longer.
constexpr seconds longest_silence{30};
constexpr unsigned rounds_after_failure = 10;
// A round waits so many times as long as the last list took.
constexpr int rest_per_list = 3;

bool task_ended(const ServerState& server) {
    return server.task_state.empty() && server.status != "REBUILD";
}

}  // namespace

Follower::Follower(Backend& backend, UsualTimes& usual, std::chrono::milliseconds poll)
    : backend_(backend), usual_(usual), poll_(poll), thread_([this] { run(); }) {}

Follower::~Follower() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    wake_thread_.notify_all();
    thread_.join();
}

Result<ActionState> Follower::wait(const Followed& followed, Clock::time_point until) {
    const std::string& server = followed.server;
    const auto began = Clock::now();
    std::unique_lock lock(mutex_);
    entries_[server] = {followed.action, began, system_clock::now() - before_wait,
                        began,           false, false};
    wake_thread_.notify_all();
    Result<ActionState> state = ActionState{};
    while (true) {
        wake_waiters_.wait_until(lock, until, [&] { return entries_[server].look; });
        entries_[server].look = false;
        entries_[server].looked = Clock::now();
        lock.unlock();
        state = backend_.action(server, followed.request);
        lock.lock();
        const bool again = state ? !state->finished : state.error().code == Errc::unreachable;
        if (!again || Clock::now() >= until) break;
    }
    entries_.erase(server);
    lock.unlock();
    if (state && state->succeeded)
        usual_.learn(followed.action, duration_cast<milliseconds>(Clock::now() - began));
    return state;
}

void Follower::run() {
    std::unique_lock lock(mutex_);
    while (!stop_) {
        if (entries_.empty()) {
            wake_thread_.wait(lock, [&] { return stop_ || !entries_.empty(); });
            continue;
        }
        if (wake_thread_.wait_for(lock, until_next_round(), [&] { return stop_; })) break;
        if (entries_.size() <= 1 || rounds_without_list_ > 0)
            ask_directly();
        else
            round(lock);
        wake_waiters_.notify_all();
    }
}

// Until the first end that is due.
milliseconds Follower::until_next_round() {
    if (rounds_without_list_ > 0) return poll_;
    const auto now = Clock::now();
    milliseconds next = poll_;
    for (const auto& [server, entry] : entries_)
        next = std::min(next, until_next_look(duration_cast<milliseconds>(now - entry.began),
                                              usual_.of(entry.action), poll_));
    return entries_.size() == 1 ? next
                                : std::min(poll_, std::max(next, rest_per_list * list_took_));
}

void Follower::ask_directly() {
    if (rounds_without_list_ > 0) --rounds_without_list_;
    for (auto& [server, entry] : entries_) entry.look = true;
}

// One list for all.
void Follower::round(std::unique_lock<std::mutex>& lock) {
    const auto began = system_clock::now();
    auto since = began;
    for (auto& [server, entry] : entries_) {
        since = std::min(since, entry.since);
        entry.asked = true;
    }
    lock.unlock();
    const auto asked = Clock::now();
    const auto touched = backend_.changed_since(since);
    const auto took = duration_cast<milliseconds>(Clock::now() - asked);
    lock.lock();
    list_took_ = took;
    if (!touched) {
        if (touched.error().code != Errc::unreachable)
            log::info("the servers are followed one by one: {}", touched.error().message);
        rounds_without_list_ = rounds_after_failure;
        return ask_directly();
    }
    for (const auto& server : *touched)
        if (auto it = entries_.find(server.id); it != entries_.end() && task_ended(server))
            it->second.look = true;
    for (auto& [server, entry] : entries_) {
        if (std::exchange(entry.asked, false)) entry.since = began;
        if (Clock::now() - entry.looked > longest_silence) entry.look = true;
    }
}

}  // namespace cohort
