// SPDX-License-Identifier: GPL-2.0-or-later
//
// Checks of what a rebuild job needs to be taken and to start: user, association, QOS, partition.
#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "common/text.hpp"
#include "rebootprog/doctor/doctor_checks.hpp"

namespace cohort {
namespace {

Finding check_users(const DoctorFacts& facts) {
    const char* name = "RebuildJobUser";
    const auto& user = facts.configuration.settings.rebuild_job_user;
    if (!facts.host.unknown_users.empty())
        return failure(name, fmt::format("this machine knows no user {}: correct RebuildUsers and "
                                         "RebuildJobUser in cohort.conf",
                                         some_of(facts.host.unknown_users)));
    return pass(name, user);
}

Finding check_root_jobs(const DoctorFacts& facts) {
    const char* name = "DisableRootJobs";
    std::vector<std::string> closed;
    for (const auto& partition : facts.slurm.partitions)
        if (!partition.root_may_submit) closed.push_back(partition.name);
    if (closed.empty()) return pass(name, "root may submit everywhere");
    const auto& settings = facts.configuration.settings;
    if (settings.rebuild_job_user != "root")
        return pass(name, fmt::format("set, but rebuild jobs are {}'s", settings.rebuild_job_user));
    const bool all = closed.size() == facts.slurm.partitions.size();
    const std::string text = fmt::format(
        "root may not submit to {}, and rebuild jobs are root's: set RebuildJobUser to "
        "another Administrator, or RebuildPartition to one with DisableRootJobs=NO",
        some_of(closed));
    return all ? failure(name, text) : warn(name, text);
}

Finding check_association(const DoctorFacts& facts) {
    const char* name = "association";
    const auto& user = facts.configuration.settings.rebuild_job_user;
    if (!facts.slurm.config.associations_enforced)
        return pass(name, "AccountingStorageEnforce does not ask for one");
    if (!facts.slurm.job_user_associated)
        return warn(name, "not looked at: slurmctld did not tell its associations");
    if (!*facts.slurm.job_user_associated)
        return failure(name, fmt::format("{} has none, and AccountingStorageEnforce asks for one: "
                                         "its rebuild jobs are refused. sacctmgr add user {} "
                                         "account=...",
                                         user, user));
    return pass(name, fmt::format("{} has one", user));
}

Finding check_qos(const DoctorFacts& facts) {
    const char* name = "RebuildQos";
    const auto& wanted = facts.configuration.settings.rebuild_qos;
    const auto& config = facts.slurm.config;
    if (wanted.empty()) return pass(name, "not set: the submitter's own");
    if (!facts.slurm.qos) return warn(name, "not looked at: slurmctld did not tell its QOS");
    const auto found = std::ranges::find(*facts.slurm.qos, wanted, &Qos::name);
    if (found == facts.slurm.qos->end())
        return failure(name, fmt::format("there is no QOS {}: sacctmgr add qos {}, or take "
                                         "RebuildQos out",
                                         wanted, wanted));
    const bool by_qos = config.preemption && config.preempt_type == "preempt/qos";
    if (by_qos && found->preempts)
        return failure(name, fmt::format("{} may preempt running jobs: it is not given to rebuild "
                                         "jobs. Name one that preempts nobody",
                                         wanted));
    if (by_qos && (found->within || config.preempt_within))
        return warn(name, fmt::format("PreemptMode=WITHIN would let a rebuild job of {} stop "
                                      "running jobs of that QOS: RebuildPriority is not given. "
                                      "Name one without WITHIN",
                                      wanted));
    return pass(name, fmt::format("{} exists and preempts nobody", wanted));
}

const Partition* lower_tier_that_loses(const Partition& partition, const SlurmFacts& slurm) {
    if (!slurm.config.preemption || slurm.config.preempt_type != "preempt/partition_prio")
        return nullptr;
    const std::set<std::string> ours(partition.nodes.begin(), partition.nodes.end());
    for (const auto& other : slurm.partitions)
        if (other.priority_tier < partition.priority_tier && other.preempts &&
            std::ranges::any_of(other.nodes, [&](const auto& node) { return ours.contains(node); }))
            return &other;
    return nullptr;
}

Finding check_partition(const DoctorFacts& facts) {
    const char* name = "RebuildPartition";
    const auto& wanted = facts.configuration.settings.rebuild_partition;
    if (wanted.empty()) return pass(name, "not set: one that holds the node and preempts nobody");
    const auto found = std::ranges::find(facts.slurm.partitions, wanted, &Partition::name);
    if (found == facts.slurm.partitions.end())
        return failure(name,
                       fmt::format("there is no partition {}: correct RebuildPartition", wanted));
    if (!found->up)
        return failure(name, fmt::format("{} is not UP: rebuild jobs would wait there", wanted));
    if (const auto* victim = lower_tier_that_loses(*found, facts.slurm))
        return failure(name, fmt::format("its PriorityTier lets {} preempt running jobs of {}: it "
                                         "is not given to rebuild jobs. Name another",
                                         wanted, victim->name));
    const std::set<std::string> held(found->nodes.begin(), found->nodes.end());
    std::vector<std::string> outside;
    for (const auto& one : facts.cloud.wanted)
        if (one.has_file && !held.contains(one.node)) outside.push_back(one.node);
    if (!outside.empty())
        return warn(name, fmt::format("{} does not hold {}: their rebuild jobs go to another "
                                      "partition",
                                      wanted, some_of(outside)));
    return pass(name, fmt::format("{} exists, is UP and preempts nobody", wanted));
}

// A node in no partition can get no job at all, so no rebuild job either.
Finding check_reachable(const DoctorFacts& facts) {
    const char* name = "partitions";
    std::set<std::string> reached;
    for (const auto& partition : facts.slurm.partitions)
        if (partition.up) reached.insert(partition.nodes.begin(), partition.nodes.end());
    std::vector<std::string> lost;
    for (const auto& node : facts.slurm.nodes)
        if (node.state.base != NodeState::Base::future && !reached.contains(node.name))
            lost.push_back(node.name);
    if (lost.empty()) return pass(name, "every node is in one that is UP");
    return warn(name, fmt::format("{}: in no partition that is UP, so no rebuild job can be sent "
                                  "there",
                                  some_of(lost)));
}

}  // namespace

void check_rebuild_jobs(const DoctorFacts& facts, Findings& found) {
    found.push_back(check_users(facts));
    found.push_back(check_root_jobs(facts));
    found.push_back(check_association(facts));
    found.push_back(check_qos(facts));
    found.push_back(check_partition(facts));
    found.push_back(check_reachable(facts));
}

}  // namespace cohort
