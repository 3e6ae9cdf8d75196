// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the views need of all jobs, kept in StateDir/queue by `scohort advance`, which has read
// them.
//
// Slurm's answer for ten thousand rebuild jobs is 25 MB (each job's nodes come as a bitmap), it
// costs slurmctld and the reader a third of a second, and Slurm offers no filter. Where reading is
// that slow a view takes the digest of the last step, says how old it is, and leaves slurmctld
// alone; everywhere else it reads the jobs itself. Times are seconds since the epoch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/cluster.hpp"
#include "common/result.hpp"

namespace cohort {

struct QueueDigest {
    struct UserJob {
        std::uint32_t id = 0, user_id = 0;
        std::int64_t start = 0, end = 0;
        std::string nodes;  // hostlist
        bool operator==(const UserJob&) const = default;
    };
    // One that was sent by hand, or that is no longer held: the journal knows the others.
    struct RebuildJob {
        std::string node;
        std::uint32_t id = 0;
        std::int64_t submitted = 0;
        bool by_hand = false, pending = false, held = false;
        bool operator==(const RebuildJob&) const = default;
    };

    std::int64_t at = 0;         // when the jobs were read
    std::int64_t took_ms = 0;    // how long that took
    std::uint32_t waiting = 0;   // users' jobs that are pending
    std::vector<UserJob> users;  // their jobs that run
    std::vector<RebuildJob> rebuilds;
    bool operator==(const QueueDigest&) const = default;
};

QueueDigest digest_of(const std::vector<Job>& jobs);

// Does reading the jobs cost so much that a digest is worth keeping?
bool worth_keeping(const QueueDigest& digest);

// Would a view at NOW rather take DIGEST than read the jobs? It is worth keeping, and not older
// than a step and a half of the timer.
bool stands_in(const QueueDigest& digest, std::int64_t now);

Status write_digest(const std::string& state_dir, const QueueDigest& digest);

// Errc::not_found: there is none. Errc::invalid: not what write_digest() wrote.
Result<QueueDigest> read_digest(const std::string& state_dir);

// Reads the jobs; keeps their digest for the views where that is worth it.
Result<std::vector<Job>> load_jobs_for_all(const std::string& state_dir);

}  // namespace cohort
