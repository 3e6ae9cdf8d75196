// SPDX-License-Identifier: GPL-2.0-or-later
//
// Checks of the nodes as Slurm knows them: labels, Extra, kinds that cannot be rebuilt, versions,
// clocks.
#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "common/text.hpp"
#include "rebootprog/doctor/doctor_checks.hpp"

namespace cohort {
namespace {

// proof.hpp allows a node's clock to be this far from the controller's.
constexpr std::int64_t clock_slack_seconds = 2;

std::vector<std::string> nodes_that(const std::vector<Node>& nodes, auto condition) {
    std::vector<std::string> names;
    for (const auto& node : nodes)
        if (node.state.base != NodeState::Base::future && condition(node))
            names.push_back(node.name);
    return names;
}

bool has_revision_feature(const Node& node) {
    return std::ranges::any_of(text::split(node.features, ','), [](const std::string& feature) {
        return feature.starts_with("rev_");
    });
}

Finding check_labels(const SlurmFacts& slurm) {
    const char* name = "labels";
    // A node that is being rebuilt has none either, and gets one when it has proved itself.
    const auto without = nodes_that(slurm.nodes, [](const Node& node) {
        return node.record.revision.empty() && !node.record.want;
    });
    if (without.empty()) return pass(name, "every node has one, or is being rebuilt");
    return warn(name, fmt::format("{} of {} nodes have none ({}): no job of several nodes is kept "
                                  "within one revision there. scohort adopt",
                                  without.size(), slurm.nodes.size(), some_of(without)));
}

Finding check_extra(const DoctorFacts& facts) {
    const char* name = "node Extra";
    const auto& nodes = facts.slurm.nodes;
    const auto foreign = nodes_that(nodes, [](const Node& node) { return !node.extra_is_ours; });
    if (!foreign.empty())
        return failure(name, fmt::format("not JSON on {}: these nodes cannot be rebuilt or "
                                         "labelled. scontrol update node=... Extra=",
                                         some_of(foreign)));
    if (!facts.host.slurmd_options_file.empty())
        return failure(name, fmt::format("{} starts slurmd with --extra, which replaces Extra at "
                                         "every registration: take it out, on the nodes too",
                                         facts.host.slurmd_options_file));
    // The label was published and is gone, and the feature that goes with it is still there.
    const std::set<std::string> done(facts.state.attempted_nodes.begin(),
                                     facts.state.attempted_nodes.end());
    const auto replaced = nodes_that(nodes, [&](const Node& node) {
        return node.record == NodeRecord{} &&
               (has_revision_feature(node) || done.contains(node.name));
    });
    if (!replaced.empty())
        return failure(name, fmt::format("what slurm-cohort wrote is gone from {}: does slurmd run "
                                         "there with --extra, or does something else write Extra? "
                                         "Stop that, then scohort adopt",
                                         some_of(replaced)));
    return pass(name, "JSON or empty on every node");
}

Finding check_kinds(const SlurmFacts& slurm) {
    const char* name = "cloud nodes";
    const auto cloud = nodes_that(slurm.nodes, [](const Node& node) { return node.state.cloud; });
    if (cloud.empty()) return pass(name, "no State=CLOUD nodes");
    if (version_number(slurm.config.slurm_version) < (23U << 16 | 2U << 8))
        return warn(name, fmt::format("State=CLOUD on {}: from 23.02 on `sbatch --reboot` is "
                                      "ignored for them",
                                      some_of(cloud)));
    return failure(name, fmt::format("State=CLOUD on {}: Slurm ignores --reboot for them and the "
                                     "job runs on the old image. Define them as State=UNKNOWN",
                                     some_of(cloud)));
}

Finding check_dynamic(const SlurmFacts& slurm) {
    const char* name = "MaxNodeCount";
    const auto dynamic =
        nodes_that(slurm.nodes, [](const Node& node) { return node.state.dynamic; });
    const std::size_t most = slurm.config.max_node_count, now = slurm.nodes.size();
    if (dynamic.empty()) return pass(name, "no dynamic nodes");
    if (now >= most)
        return warn(name, fmt::format("{} of {} nodes there are: no further node can join. Set a "
                                      "larger MaxNodeCount",
                                      now, most));
    if (now * 10 >= most * 9)
        return warn(name, fmt::format("{} of {} nodes there are: set a larger MaxNodeCount soon",
                                      now, most));
    return pass(name, fmt::format("{} of {} nodes there are", now, most));
}

Finding check_versions(const SlurmFacts& slurm) {
    const char* name = "slurmd versions";
    const std::uint32_t ours = version_number(slurm.config.slurm_version) >> 8;
    const auto others = nodes_that(slurm.nodes, [&](const Node& node) {
        const std::uint32_t theirs = version_number(node.version);
        return theirs != 0 && theirs >> 8 != ours;
    });
    if (others.empty()) return pass(name, "all of slurmctld's release");
    return warn(name, fmt::format("another release on {}: spank_cohort.so and cohort-node in that "
                                  "image must be built for it",
                                  some_of(others)));
}

Finding check_clocks(const DoctorFacts& facts) {
    const char* name = "node clocks";
    const std::int64_t latest = facts.host.now + clock_slack_seconds;
    const auto ahead = nodes_that(facts.slurm.nodes, [&](const Node& node) {
        return node.boot_time > latest || node.slurmd_start_time > latest;
    });
    if (!ahead.empty())
        return failure(name, fmt::format("ahead of this machine's on {} (they booted in the "
                                         "future): a rebuild's proof compares both. Mend NTP there",
                                         some_of(ahead)));
    // It has booted on the new image, and says that it did so before that was asked for.
    const auto behind = nodes_that(facts.slurm.nodes, [&](const Node& node) {
        const auto& want = node.record.want;
        return want && want->succeeded() && !node.record.revision.empty() && node.boot_time != 0 &&
               node.boot_time + clock_slack_seconds < want->at;
    });
    if (!behind.empty())
        return failure(name, fmt::format("behind this machine's on {} (they booted before their "
                                         "rebuild was asked for): mend NTP there",
                                         some_of(behind)));
    return pass(name, "no node has booted in the future, or before its rebuild");
}

// A reboot that nobody waits for any more: Slurm gave the node up, or "boot^" and "down~" never
// end.
Finding check_stuck(const SlurmFacts& slurm) {
    const char* name = "stuck nodes";
    const auto given_up = nodes_that(slurm.nodes, [](const Node& node) {
        return node.state.base == NodeState::Base::down &&
               (node.reason == "ResumeTimeout reached" || node.reason == "reboot timed out");
    });
    if (!given_up.empty())
        return warn(name, fmt::format("{} did not come back within ResumeTimeout and nothing of "
                                      "ours knows why: look at the machine, then scontrol update "
                                      "node=... state=resume",
                                      some_of(given_up)));
    const bool power_saving = !slurm.config.resume_program.empty();
    const auto powered_down = nodes_that(slurm.nodes, [&](const Node& node) {
        return node.state.powered_down && !node.state.cloud && !power_saving;
    });
    if (!powered_down.empty())
        return warn(name, fmt::format("{} counts as powered down, and no ResumeProgram will wake "
                                      "it: scontrol update node=... state=future, then "
                                      "state=resume",
                                      some_of(powered_down)));
    const auto rebooting = nodes_that(slurm.nodes, [](const Node& node) {
        return node.state.reboot_issued && !node.state.not_responding &&
               node.state.base == NodeState::Base::down && !node.record.want;
    });
    if (!rebooting.empty())
        return warn(name, fmt::format("{} answers, and Slurm still waits for its reboot: if it "
                                      "has booted, scontrol cancel_reboot and state=resume",
                                      some_of(rebooting)));
    return pass(name, "no reboot has been given up, none is left over");
}

}  // namespace

void check_nodes(const DoctorFacts& facts, Findings& found) {
    found.push_back(check_labels(facts.slurm));
    found.push_back(check_extra(facts));
    found.push_back(check_kinds(facts.slurm));
    found.push_back(check_dynamic(facts.slurm));
    found.push_back(check_versions(facts.slurm));
    found.push_back(check_clocks(facts));
    found.push_back(check_stuck(facts.slurm));
}

}  // namespace cohort
