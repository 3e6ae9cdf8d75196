// SPDX-License-Identifier: GPL-2.0-or-later
//
// The plugin's one thread: repeats a step until it is told to stop.
//
// The owner stops it before what STEP uses goes away; stop() waits for a step in progress, which
// may hang in an RPC, and gives up after a limit: then the thread is left behind and returns from
// that step on its own, so STEP must own what it uses.
// While it rests it asks ASKED a few times a second whether the next step is wanted sooner.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace cohort {

class RefreshThread {
  public:
    // STEP does what is due and returns how long to rest.
    using Step = std::function<std::chrono::milliseconds()>;
    // Cheap; no RPC.
    using Asked = std::function<bool()>;

    // NAME has at most 15 characters. The first step comes after DELAY. May throw
    // std::system_error.
    RefreshThread(const char* name, std::chrono::milliseconds delay, Step step, Asked asked = {});
    RefreshThread(const RefreshThread&) = delete;
    RefreshThread& operator=(const RefreshThread&) = delete;
    ~RefreshThread();

    // Ends a rest early (after SOON), for a hook that has let something in. Never blocks for long.
    void wake(std::chrono::milliseconds soon);

    // True when the thread has ended within LIMIT.
    bool stop(std::chrono::milliseconds limit);

  private:
    struct Shared;
    std::shared_ptr<Shared> shared_;
};

}  // namespace cohort
