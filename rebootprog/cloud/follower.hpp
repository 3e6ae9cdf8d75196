// SPDX-License-Identifier: GPL-2.0-or-later
//
// Follows the actions of many servers with one request per round: a list of the servers that the
// back end has touched since the last round tells which actions may have ended; only those are
// asked about by their request ids. A single server is asked about directly. Rounds come closer
// when an end is due (usual_time.hpp), but never take more than a quarter of the cloud's time.
//
// Thread-safe; the rounds run in a thread of its own, which ends with the object. Nobody may wait
// any more when it is destroyed.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "common/result.hpp"
#include "rebootprog/cloud/backend.hpp"
#include "rebootprog/cloud/usual_time.hpp"

namespace cohort {

// What is followed: a server's action by the id of the request that began it.
struct Followed {
    std::string server, request;
    std::string action;  // its kind, "rebuild": those of a kind take about the same time
};

class Follower {
  public:
    using Clock = std::chrono::steady_clock;

    // BACKEND and USUAL must outlive it. POLL: the longest time between two rounds.
    Follower(Backend& backend, UsualTimes& usual, std::chrono::milliseconds poll);
    ~Follower();
    Follower(const Follower&) = delete;
    Follower& operator=(const Follower&) = delete;

    // Returns when the action has ended, cannot be told, or UNTIL has passed.
    Result<ActionState> wait(const Followed& followed, Clock::time_point until);

  private:
    struct Entry {
        std::string action;
        Clock::time_point began;
        std::chrono::system_clock::time_point since;  // no round has covered what came after
        Clock::time_point looked;                     // when it was last asked about directly
        bool look = false;
        bool asked = false;  // the round under way covers it
    };

    void run();
    std::chrono::milliseconds until_next_round();
    void round(std::unique_lock<std::mutex>& lock);
    void ask_directly();

    Backend& backend_;
    UsualTimes& usual_;
    const std::chrono::milliseconds poll_;
    std::mutex mutex_;
    std::condition_variable wake_thread_, wake_waiters_;
    std::map<std::string, Entry> entries_;
    unsigned rounds_without_list_ = 0;
    std::chrono::milliseconds list_took_{0};
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace cohort
