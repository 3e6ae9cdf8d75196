// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/job_submit/thread.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include <pthread.h>
#include <signal.h>

#include "common/log.hpp"

namespace cohort {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct RefreshThread::Shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool stopping = false;
    bool ended = false;
    steady_clock::time_point due;
    Step step;
    Asked asked;
    std::thread thread;

    void run(const char* name);
    void rest(std::unique_lock<std::mutex>& lock);
};

namespace {

constexpr milliseconds asked_interval{250};

}  // namespace

void RefreshThread::Shared::rest(std::unique_lock<std::mutex>& lock) {
    if (!asked) {
        changed.wait_until(lock, due);
        return;
    }
    const auto look = steady_clock::now() + asked_interval;
    if (changed.wait_until(lock, std::min(due, look)) == std::cv_status::no_timeout) return;
    lock.unlock();
    bool wanted = false;
    try {
        wanted = asked();
    } catch (...) {
        // Memory is out: it is asked again soon.
    }
    lock.lock();
    if (wanted) due = steady_clock::now();
}

void RefreshThread::Shared::run(const char* name) {
    ::pthread_setname_np(::pthread_self(), name);
    std::unique_lock lock(mutex);
    while (!stopping) {
        // wake() may move the time in either order with the wait.
        if (const auto now = steady_clock::now(); now < due) {
            rest(lock);
            continue;
        }
        due = steady_clock::time_point::max();
        lock.unlock();
        milliseconds rest{1000};
        try {
            rest = step();
        } catch (const std::exception& e) {
            log::error("the plugin's thread met an error and goes on: {}", e.what());
        }
        lock.lock();
        due = std::min(due, steady_clock::now() + rest);
    }
    ended = true;
    changed.notify_all();
}

RefreshThread::RefreshThread(const char* name, milliseconds delay, Step step, Asked asked)
    : shared_(std::make_shared<Shared>()) {
    shared_->due = steady_clock::now() + delay;
    shared_->step = std::move(step);
    shared_->asked = std::move(asked);
    // Slurm's signals belong to Slurm's threads.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        shared_->thread = std::thread([shared = shared_, name] { shared->run(name); });
    } catch (...) {
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw;
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void RefreshThread::wake(milliseconds soon) {
    const std::lock_guard lock(shared_->mutex);
    const auto at = steady_clock::now() + soon;
    if (at >= shared_->due) return;
    shared_->due = at;
    shared_->changed.notify_all();
}

bool RefreshThread::stop(milliseconds limit) {
    std::unique_lock lock(shared_->mutex);
    shared_->stopping = true;
    shared_->changed.notify_all();
    const bool ended = shared_->changed.wait_for(lock, limit, [this] { return shared_->ended; });
    lock.unlock();
    if (shared_->thread.joinable()) {
        if (ended)
            shared_->thread.join();
        else
            shared_->thread.detach();
    }
    return ended;
}

RefreshThread::~RefreshThread() {
    stop(milliseconds(2000));
}

}  // namespace cohort
