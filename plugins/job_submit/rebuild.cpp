// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/job_submit/rebuild.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/text.hpp"

namespace cohort {
namespace {

constexpr std::string_view how_to =
    "Type: scohort rebuild -w NODE (or: sbatch --reboot -w NODE SCRIPT), one job for each node";

bool holds(const Partition& partition, const std::string& node) {
    return std::find(partition.nodes.begin(), partition.nodes.end(), node) != partition.nodes.end();
}

// preempt/partition_prio: a job may stop those of every partition of a lower tier that shares the
// node, unless that partition says PreemptMode=OFF.
const Partition* could_be_preempted_from(const Partition& partition, const std::string& node,
                                         const Snapshot& snapshot) {
    if (!snapshot.config.preemption || snapshot.config.preempt_type != "preempt/partition_prio")
        return nullptr;
    for (const auto& other : snapshot.partitions)
        if (other.priority_tier < partition.priority_tier && other.preempts && holds(other, node))
            return &other;
    return nullptr;
}

// Why PARTITION cannot be used for NODE; empty when it can.
std::string unsuitable(const Partition& partition, const std::string& node,
                       const Snapshot& snapshot) {
    if (!holds(partition, node)) return fmt::format("it does not hold {}", node);
    if (!partition.up) return "it is not UP";
    if (const auto* victim = could_be_preempted_from(partition, node, snapshot))
        return fmt::format("its PriorityTier lets it preempt running jobs of partition {}",
                           victim->name);
    return {};
}

// The highest tier that holds the node and preempts nobody: the lowest of all always qualifies.
const Partition* best_partition(const std::string& node, const Snapshot& snapshot) {
    const Partition* best = nullptr;
    for (const auto& partition : snapshot.partitions)
        if (unsuitable(partition, node, snapshot).empty() &&
            (!best || partition.priority_tier > best->priority_tier))
            best = &partition;
    return best;
}

// Fills plan.partition and returns the partition that the job will be in (nullptr: not known).
Result<const Partition*> choose_partition(const Submission& job, const Settings& settings,
                                          const Snapshot& snapshot, RebuildPlan& plan) {
    if (!job.partition.empty()) return snapshot.partition(job.partition);
    if (!settings.rebuild_partition.empty()) {
        const Partition* wanted = snapshot.partition(settings.rebuild_partition);
        const std::string why =
            wanted ? unsuitable(*wanted, plan.node, snapshot) : "Slurm knows no such partition";
        if (why.empty()) {
            plan.partition = wanted->name;
            return wanted;
        }
        plan.notes.push_back(
            fmt::format("RebuildPartition={} is not used: {}", settings.rebuild_partition, why));
    }
    const Partition* usual = snapshot.default_partition();
    if (usual && unsuitable(*usual, plan.node, snapshot).empty()) return usual;
    const Partition* best = best_partition(plan.node, snapshot);
    if (!best)
        return fail(Errc::invalid,
                    fmt::format("node {} is in no partition that is up: no job can be sent there. "
                                "Put it into one, or name one with -p",
                                plan.node));
    plan.partition = best->name;
    return best;
}

const Qos* find_qos(const World& world, const std::string& name) {
    if (!world.qos) return nullptr;
    for (const auto& qos : *world.qos)
        if (qos.name == name) return &qos;
    return nullptr;
}

void choose_qos(const Submission& job, const Settings& settings, const World& world,
                RebuildPlan& plan) {
    if (!job.qos.empty() || settings.rebuild_qos.empty()) return;
    const auto& config = world.snapshot->config;
    if (config.preemption && config.preempt_type == "preempt/qos") {
        const Qos* qos = find_qos(world, settings.rebuild_qos);
        const char* why = !qos            ? "it is not known whether it preempts running jobs"
                          : qos->preempts ? "it may preempt running jobs"
                                          : nullptr;
        if (why) {
            plan.notes.push_back(
                fmt::format("RebuildQos={} is not set: {}", settings.rebuild_qos, why));
            return;
        }
    }
    plan.qos = settings.rebuild_qos;
}

// PreemptMode=WITHIN lets a job stop running jobs of its own QOS that have a lower priority: there
// a raised priority would preempt.
bool priority_would_preempt(const Submission& job, const World& world, const RebuildPlan& plan) {
    const auto& config = world.snapshot->config;
    if (!config.preemption || config.preempt_type != "preempt/qos") return false;
    if (config.preempt_within) return true;
    const std::string& name = job.qos.empty() ? plan.qos : job.qos;
    if (!name.empty())
        if (const Qos* qos = find_qos(world, name)) return qos->within;
    if (!world.qos) return true;
    return std::any_of(world.qos->begin(), world.qos->end(), [](const Qos& q) { return q.within; });
}

std::uint32_t choose_priority(const Submission& job, const Settings& settings, const World& world,
                              RebuildPlan& plan) {
    if (job.priority && *job.priority != 0) return *job.priority;
    if (!priority_would_preempt(job, world, plan)) return settings.rebuild_priority;
    plan.notes.push_back(
        "RebuildPriority is not set: PreemptMode=WITHIN would let it preempt running jobs of its "
        "QOS. Use a RebuildQos without WITHIN");
    return 0;
}

}  // namespace

Status allow_rebuild(const Submission& job, const Policy& policy) {
    if (job.trusted || !policy.restricted()) return {};
    const auto& uids = policy.rebuild_uids;
    if (std::find(uids.begin(), uids.end(), job.caller) != uids.end()) return {};
    return fail(
        Errc::denied,
        "rebuild jobs (--reboot) are limited to the users that RebuildUsers= in cohort.conf "
        "names, and you are not one of them: ask one of them, or to be added there");
}

Result<std::string> one_node(const Submission& job, const Snapshot& snapshot) {
    const auto refuse = [](std::string_view what) {
        return fail(Errc::invalid, fmt::format("a rebuild job (--reboot) {}. {}", what, how_to));
    };
    if (job.array) return refuse("cannot be an array");
    if (job.het) return refuse("cannot be part of a heterogeneous job");
    if (job.nodes.empty()) return refuse("must name its node");
    const std::string& node = job.nodes.front();
    const auto other = [&](const std::string& name) { return name != node; };
    if (std::any_of(job.nodes.begin(), job.nodes.end(), other) || job.min_nodes.value_or(1) > 1)
        return refuse("is for exactly one node, this one asks for more");
    if (!snapshot.node(node))
        return fail(Errc::not_found,
                    fmt::format("Slurm knows no node {}: see sinfo -N for the names", node));
    return node;
}

Result<RebuildPlan> plan_rebuild(const Submission& job, const std::string& node,
                                 const Settings& settings, const World& world) {
    RebuildPlan plan;
    plan.node = node;
    const auto partition = choose_partition(job, settings, *world.snapshot, plan);
    if (!partition) return tl::unexpected(partition.error());
    choose_qos(job, settings, world, plan);
    plan.priority = choose_priority(job, settings, world, plan);
    if (!job.time_limit_minutes) {
        auto minutes = static_cast<std::uint32_t>(
            std::chrono::ceil<std::chrono::minutes>(settings.rebuild_time).count());
        // A limit above the partition's would leave the job pending for ever.
        const std::uint32_t most = *partition ? (*partition)->max_time_minutes : 0;
        if (most != 0) minutes = std::min(minutes, most);
        plan.time_limit_minutes = minutes;
    }
    plan.no_requeue = !job.requeue_given;
    if (!settings.rebuild_license.empty())
        plan.licenses = job.licenses.empty() ? settings.rebuild_license
                                             : job.licenses + "," + settings.rebuild_license;
    return plan;
}

}  // namespace cohort
