// SPDX-License-Identifier: GPL-2.0-or-later
//
// The verdict over one job: may it start as it is, what must be added so that it cannot span two
// revisions, must it wait, or is it refused.
//
// Pure: no clock, no Slurm, no memory between calls. A view of nullptr means cold or stale (after a
// restart or reconfigure): one-node jobs pass, all others are held and judged later; nobody is
// refused because of it. What Slurm would refuse by itself (unknown partition, node, reservation)
// is left to Slurm.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/guard/view.hpp"

namespace cohort::guard {

// What the components of a het job are pinned to, per cohort, and how many nodes they need of it
// together: Slurm gives no node to two of them. (0: not counted, for a job that is in the queue.)
struct HetPart {
    std::string revision;
    std::uint32_t nodes = 0;
    bool operator==(const HetPart&) const = default;
};
using HetChoice = std::map<std::string, HetPart>;

// What of a job decides where it may run. Numbers: 0 = not given.
struct Request {
    std::string partition;    // "" = the default one; "a,b": one of them
    std::string reservation;  // "a,b": one of them
    std::string features, prefer;
    std::vector<std::string> required, excluded;  // expanded host lists
    std::uint32_t min_nodes = 0, max_nodes = 0;
    std::uint32_t tasks = 0, cpus = 0, cpus_per_task = 0;
    bool job_wide_gres = false;  // GPUs or the like counted per job: may spread over nodes
    bool overcommit = false;
    // A component of a het job, and what its earlier components were pinned to.
    bool het = false;
    HetChoice het_choice;
    // What it is pinned to now, if it is: kept as long as that is no worse.
    std::string pinned;
    // It is in the queue already: bound or held, never refused.
    bool queued = false;

    bool one_node_only() const;
    std::uint32_t nodes_needed() const;
};

struct Caller {
    bool admin = false;  // uid 0, SlurmUser, operator
};

enum class Outcome { pass, bind, hold, refuse };

enum class Cause {
    none,
    cold,       // no fresh snapshot, or slurmctld has lost the features
    rule,       // MixedRevision=block or hold
    size,       // larger than every set of one revision
    node_list,  // the nodes asked for span, or one of them has no revision now
    counts,     // counts in the constraint that cannot be kept within one revision
    unclear,    // a constraint that cannot be read, or gets too long
    component,  // a het component that cannot be of its job's revision
};

struct Verdict {
    Outcome outcome = Outcome::pass;
    Cause cause = Cause::none;
    // Bind: the new values of the job's fields; what is not set stays as it is.
    std::optional<std::string> features, prefer, partition;
    std::vector<std::string> message;  // for the user, at most four lines
    HetChoice het_choice;              // for the next component of the same job
    std::string cohort;                // the one that the message is about
};

Verdict judge(const Request& request, const Caller& caller, const GuardView* view);

}  // namespace cohort::guard
