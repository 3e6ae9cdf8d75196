// SPDX-License-Identifier: GPL-2.0-or-later
//
// What becomes of a rebuild job at submission: values in, a decision out. No Slurm types, no state,
// thread-safe.
//
// A rebuild job is a --reboot job. Slurm itself refuses --reboot from anybody but root, SlurmUser
// and Administrators before the plugin is asked; a name, a comment or an environment never makes a
// job one. Here it is refused unless it names exactly one known node, is no array and no part of a
// het job; then only what the administrator left unset is set, and never in a way that stops or
// suspends a running job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "plugins/job_submit/world.hpp"

namespace cohort {

// What was asked for. An empty text or optional is something left unset.
struct Submission {
    std::uint32_t caller = 0;  // whose RPC this is
    std::uint32_t owner = 0;   // whose job it is to be
    bool trusted = false;      // caller is root or SlurmUser
    bool reboot = false;
    bool array = false;
    bool het = false;
    std::vector<std::string> nodes;  // the node list, expanded
    std::optional<std::uint32_t> min_nodes;
    std::optional<std::uint32_t> priority;  // 0: held by the submitter
    std::optional<std::uint32_t> time_limit_minutes;
    bool requeue_given = false;
    std::string qos, partition, licenses, admin_comment;

    bool held_by_submitter() const { return priority == 0U; }
};

// What to write into the job; unset members are left alone.
struct RebuildPlan {
    std::string node;
    std::uint32_t priority = 0;  // when it is not held; 0: the one that Slurm computes
    std::string qos, partition, licenses;
    std::optional<std::uint32_t> time_limit_minutes;
    bool no_requeue = false;
    std::vector<std::string> notes;  // for the log: what was not done, and why
};

// May this caller submit rebuild jobs? Errc::denied with the sentence for him.
Status allow_rebuild(const Submission& job, const Policy& policy);

// The one node that JOB names, which SNAPSHOT knows.
Result<std::string> one_node(const Submission& job, const Snapshot& snapshot);

// The fields for a job that allow_rebuild() and one_node() passed.
Result<RebuildPlan> plan_rebuild(const Submission& job, const std::string& node,
                                 const Settings& settings, const World& world);

}  // namespace cohort
