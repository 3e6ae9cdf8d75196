// SPDX-License-Identifier: GPL-2.0-or-later
//
// Everything that the hooks decide by: one immutable value that the plugin's thread publishes.
//
// A hook takes one pointer at its start and works on it to its end, so every answer fits one state
// of the cluster and of cohort.conf, old or new, never a mixture. No locks but the one around the
// pointer.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/settings.hpp"
#include "common/snapshot.hpp"
#include "plugins/job_submit/accounts.hpp"
#include "plugins/job_submit/guard/guard_world.hpp"

namespace cohort {

using Clock = std::chrono::steady_clock;

// cohort.conf as it holds now. Without configuration there never was a good one: rebuild jobs are
// refused with the fault, everything else passes.
struct Policy {
    std::optional<Configuration> configuration;
    std::vector<std::uint32_t> rebuild_uids;  // of RebuildUsers
    std::string origin;                       // the file it was read from
    std::string fault;                        // why the present cohort.conf is not in use

    // Everybody whom Slurm lets use --reboot may, unless RebuildUsers names some.
    bool restricted() const { return configuration && !configuration->site.rebuild_users.empty(); }
};

// cold: nothing was read yet. stale: the last reading is older than StaleAfter.
enum class Freshness { cold, warm, stale };

struct World {
    std::shared_ptr<const Policy> policy;         // nullptr: not read yet
    std::shared_ptr<const Snapshot> snapshot;     // nullptr: cold
    std::optional<std::vector<Qos>> qos;          // nothing: unknown
    std::shared_ptr<const AccountBook> accounts;  // nullptr: no accounting, or not read yet
    bool breaker_open = false;                    // StateDir/breaker exists
    GuardWorld guard;

    Freshness freshness(Clock::time_point now) const {
        if (!snapshot) return Freshness::cold;
        const auto limit = policy && policy->configuration ? policy->configuration->site.stale_after
                                                           : Settings{}.stale_after;
        return now - snapshot->started > limit ? Freshness::stale : Freshness::warm;
    }
};

// A pointer to an immutable value that one thread replaces and many read.
template <class T>
class Published {
  public:
    std::shared_ptr<const T> get() const {
        const std::lock_guard lock(mutex_);
        return value_;
    }
    void set(std::shared_ptr<const T> value) {
        const std::lock_guard lock(mutex_);
        value_.swap(value);
        // The old value dies in VALUE, after the lock: 10,000 nodes take a while to free.
    }

  private:
    mutable std::mutex mutex_;
    std::shared_ptr<const T> value_ = std::make_shared<const T>();
};

}  // namespace cohort
