// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/rollout/plan_make.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/core.h>

#include "common/slurm/hostlist.hpp"
#include "common/slurm/load.hpp"
#include "common/text.hpp"
#include "rebootprog/reboot/wanted.hpp"
#include "rebootprog/rollout/rollout_journal.hpp"
#include "rebootprog/view/cloud_views.hpp"

namespace cohort {
namespace {

using Verdict = NodePlan::Verdict;

// Everything that the verdicts are made from.
struct Sources {
    const Site& site;
    CloudViews& clouds;
    std::unordered_map<std::string, Pin> pins;
    std::map<std::string, std::string> quarantined;           // image -> why
    std::unordered_map<std::string, RolloutNode> rollout_of;  // node -> its row in an open one
    std::string image;                                        // --to
    bool chosen = false;  // nodes, a partition or a cohort were named
};

// Why no rebuild job could start on NODE now and in a while; empty when it could.
std::string not_usable(const Node& node) {
    const auto& s = node.state;
    if (!node.extra_is_ours) return "its Extra is not JSON: it is used for something else";
    if (s.base == NodeState::Base::future) return "it does not exist yet (FUTURE)";
    if (s.drain || s.fail)
        return fmt::format("it is {} for '{}': resume it, or leave it out", s.text(),
                           node.reason.empty() ? "no reason given" : node.reason);
    if (s.base == NodeState::Base::down || s.base == NodeState::Base::unknown)
        return fmt::format("it is {}{}: bring it back first", s.text(),
                           node.reason.empty() ? "" : " ('" + node.reason + "')");
    return {};
}

NodePlan block(NodePlan plan, std::string why) {
    plan.verdict = Verdict::blocked;
    plan.why = std::move(why);
    return plan;
}

// The desired image of PLAN; the error is the verdict's sentence.
Status fill_image(const Wanted& wanted, CloudView& cloud, const Sources& from, NodePlan& plan) {
    plan.file_image = wanted.file_image;
    plan.explicit_image = wanted.rollout != 0;
    std::string name = wanted.desired.image_id;
    if (!from.image.empty()) {
        name = from.image;
        plan.explicit_image = true;
    }
    plan.image = name;
    const auto image = cloud.image(name);
    if (!image) return tl::unexpected(image.error());
    plan.image = image->id;
    plan.image_name = image->name;
    plan.revision = image->label();
    if (!image->usable) return fail(Errc::failed, image->why_not);
    return {};
}

void judge_server(const ServerState& server, const Sources& from, NodePlan& plan) {
    const auto& settings = from.clouds.settings(plan.node.name);
    const auto decision = decide(server, plan.image,
                                 {settings.allow_volume_rebuild, settings.unlock,
                                  plan.direct && plan.node.record.withdrawn()});
    plan.why = decision.why;
    switch (decision.act) {
        case Decision::Act::rebuild:
            plan.verdict = Verdict::rebuild;
            break;
        case Decision::Act::soft_reboot:
            // A healthy node on its image needs nothing.
            plan.verdict = Verdict::skip;
            break;
        case Decision::Act::hard_reboot:
            plan.verdict = Verdict::reboot;
            break;
        case Decision::Act::adopt:
        case Decision::Act::wait:
        case Decision::Act::refuse:
            plan.verdict = Verdict::blocked;
            break;
    }
}

// What a rollout itself must know of a node whose change PLAN is.
NodePlan judge_usable(NodePlan plan, const Sources& from) {
    const Node& node = plan.node;
    if (const auto other = from.rollout_of.find(node.name); other != from.rollout_of.end()) {
        plan.under_way = other->second.image_to == plan.image;
        return block(std::move(plan), fmt::format("it belongs to rollout {}, which is under way",
                                                  other->second.rollout));
    }
    if (plan.direct) return plan;
    if (auto why = not_usable(node); !why.empty()) return block(std::move(plan), std::move(why));
    return plan;
}

// A back end that knows no images: there is nothing to compare, so only those are rebooted that
// were named.
NodePlan judge_reboot(NodePlan plan, const Sources& from) {
    if (!from.image.empty())
        return block(std::move(plan), "with Backend=reboot it cannot get another image (--to)");
    plan.verdict = Verdict::reboot;
    plan.why = "with Backend=reboot no image is compared: it is rebooted as it is";
    if (from.chosen) return judge_usable(std::move(plan), from);
    plan.verdict = Verdict::skip;
    plan.why =
        "with Backend=reboot no image is compared: choose it by -w, -p or its cohort's "
        "name to have it rebooted";
    return plan;
}

NodePlan judge_node(const Node& node, Sources& from) {
    NodePlan plan;
    plan.node = node;
    plan.direct = node.state.fail && node.has_our_reason();
    if (!from.clouds.knows_images(node.name)) return judge_reboot(std::move(plan), from);
    CloudView& cloud = from.clouds.of(node.name);
    std::optional<Pin> pin;
    if (const auto at = from.pins.find(node.name); at != from.pins.end()) pin = at->second;
    auto file = read_desired(from.clouds.settings(node.name), node.name);
    if (!file && file.error().code == Errc::not_found && !from.image.empty())
        file = Desired{"", "", ""};
    const auto wanted = wanted_by(std::move(file), pin);
    if (!wanted) {
        plan.verdict = wanted.error().code == Errc::not_found ? Verdict::skip : Verdict::blocked;
        plan.why = wanted.error().message;
        return plan;
    }
    const auto server = cloud.server(wanted->desired, node.name);
    if (server) plan.actual = server->image;
    if (const auto known = cloud.image(plan.actual); !plan.actual.empty() && known)
        plan.actual_name = known->name;
    const auto image = fill_image(*wanted, cloud, from, plan);
    if (!server && server.error().code == Errc::not_found && node.state.power_saving) {
        plan.verdict = Verdict::skip;
        plan.why = "it is powered down: when it is woken its machine is made from this image";
        return plan;
    }
    if (!server) return block(plan, server.error().message);
    if (!image) return block(plan, image.error().message);
    judge_server(*server, from, plan);
    if (plan.verdict == Verdict::skip || plan.verdict == Verdict::blocked) return plan;
    if (const auto bad = from.quarantined.find(plan.image); bad != from.quarantined.end())
        return block(plan,
                     fmt::format("image {} is in quarantine: {}", plan.image_name, bad->second));
    return judge_usable(std::move(plan), from);
}

Status fill_from_journal(const Journal& journal, Sources& sources) {
    const RolloutJournal rollouts(journal);
    auto pins = rollouts.pins();
    if (!pins) return tl::unexpected(pins.error());
    for (auto& pin : *pins) sources.pins.emplace(pin.node, pin);
    auto bad = rollouts.quarantined();
    if (!bad) return tl::unexpected(bad.error());
    for (auto& one : *bad) sources.quarantined.emplace(one.image, one.reason);
    auto open = rollouts.unfinished();
    if (!open) return tl::unexpected(open.error());
    for (const auto& rollout : *open) {
        auto rows = rollouts.nodes(rollout.id);
        if (!rows) return tl::unexpected(rows.error());
        for (const auto& row : *rows)
            if (row.open()) sources.rollout_of[row.node] = row;
    }
    return {};
}

void fill_jobs(const std::vector<Job>& jobs, std::vector<NodePlan>& plans) {
    std::unordered_map<std::string, std::pair<const Job*, int>> last;
    for (const auto& job : jobs) {
        if (!job.running && !job.completing) continue;
        const auto names = slurm::expand_hosts(job.nodes);
        if (!names) continue;
        for (const auto& name : *names) {
            auto& [latest, count] = last[name];
            ++count;
            if (!latest || job.end_time > latest->end_time) latest = &job;
        }
    }
    for (auto& plan : plans) {
        const auto found = last.find(plan.node.name);
        if (found == last.end()) continue;
        const auto& [job, count] = found->second;
        plan.job_end = job->end_time;
        plan.job =
            count == 1 ? job->id_text : fmt::format("{} and {} more", job->id_text, count - 1);
    }
}

void fill_reservations(const std::vector<Reservation>& reservations, std::vector<NodePlan>& plans) {
    for (const auto& reservation : reservations) {
        const std::set<std::string> names(reservation.nodes.begin(), reservation.nodes.end());
        for (auto& plan : plans)
            if (names.contains(plan.node.name))
                plan.reservation += (plan.reservation.empty() ? "" : ",") + reservation.name;
    }
}

Result<std::vector<std::string>> nodes_of_partition(const std::string& name) {
    auto partitions = slurm::load_partitions();
    if (!partitions) return tl::unexpected(partitions.error());
    for (auto& partition : *partitions)
        if (partition.name == name) return std::move(partition.nodes);
    return fail(Errc::invalid, fmt::format("Slurm knows no partition {}: see sinfo", name));
}

std::vector<std::string> names_of(const std::vector<Node>& nodes) {
    std::vector<std::string> names;
    for (const auto& node : nodes) names.push_back(node.name);
    return names;
}

bool guarded(const Site& site, const std::string& node) {
    return settings_for(site, {node}).mixed_revision != MixedRevision::off;
}

}  // namespace

const char* name_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::rebuild:
            return "rebuild";
        case Verdict::reboot:
            return "reboot";
        case Verdict::skip:
            return "skip";
        case Verdict::blocked:
            return "blocked";
    }
    return "blocked";
}

Result<std::vector<std::string>> chosen_names(const Site& site, const Choice& choice,
                                              const std::vector<Node>& all) {
    const int given = !choice.nodes.empty() + !choice.partition.empty() + !choice.cohort.empty();
    if (given > 1)
        return fail(Errc::invalid, "name nodes (-w), a partition (-p) or a cohort, not several");
    if (!choice.nodes.empty()) return slurm::expand_hosts(choice.nodes);
    if (!choice.partition.empty()) return nodes_of_partition(choice.partition);
    if (choice.cohort.empty()) return names_of(all);
    for (const auto& line : site.configuration.cohorts)
        if (line.name == choice.cohort)
            return text::iequals(line.nodes, "ALL")
                       ? Result<std::vector<std::string>>(names_of(all))
                       : slurm::expand_hosts(line.nodes);
    if (auto names = nodes_of_partition(choice.cohort)) return names;
    return fail(Errc::invalid, fmt::format("there is no cohort and no partition {}: see Cohort= "
                                           "lines in cohort.conf, and sinfo",
                                           choice.cohort));
}

const Settings& settings_for(const Site& site, const std::vector<std::string>& nodes) {
    for (const auto& line : site.configuration.cohorts) {
        if (text::iequals(line.nodes, "ALL")) return line.settings;
        const auto names = slurm::expand_hosts(line.nodes);
        if (!names) continue;
        const std::set<std::string> set(names->begin(), names->end());
        if (std::ranges::all_of(nodes, [&](const auto& node) { return set.contains(node); }))
            return line.settings;
    }
    return site.settings();
}

Result<PlanData> make_plan(const Site& site, const Journal& journal, const Choice& choice) {
    auto all = slurm::load_nodes();
    if (!all) return tl::unexpected(all.error());
    auto names = chosen_names(site, choice, *all);
    if (!names) return tl::unexpected(names.error());
    CloudViews clouds(site);
    for (const auto& name : *names)
        if (auto loaded = clouds.load(name); !loaded) return tl::unexpected(loaded.error());
    const bool chosen = !(choice.nodes + choice.partition + choice.cohort).empty();
    Sources sources{site, clouds, {}, {}, {}, choice.image, chosen};
    if (!choice.image.empty() && !names->empty() && clouds.knows_images(names->front()))
        if (auto image = clouds.of(names->front()).image(choice.image); !image)
            return tl::unexpected(image.error());
    if (auto filled = fill_from_journal(journal, sources); !filled)
        return tl::unexpected(filled.error());
    std::unordered_map<std::string, const Node*> known;
    for (const auto& node : *all) known[node.name] = &node;
    PlanData data;
    std::set<std::string> taken;
    for (const auto& name : *names) {
        const auto found = known.find(name);
        if (found == known.end())
            return fail(Errc::invalid, fmt::format("Slurm knows no node {}", name));
        if (!taken.insert(name).second) continue;
        data.nodes.push_back(judge_node(*found->second, sources));
        const auto& plan = data.nodes.back();
        const bool changes = plan.changes();
        if (changes && plan.node.record.revision.empty() && !plan.node.record.want &&
            guarded(site, name))
            data.unlabelled.push_back(name);
    }
    auto jobs = slurm::load_jobs();
    if (!jobs) return tl::unexpected(jobs.error());
    fill_jobs(*jobs, data.nodes);
    auto reservations = slurm::load_reservations();
    if (!reservations) return tl::unexpected(reservations.error());
    fill_reservations(*reservations, data.nodes);
    return data;
}

}  // namespace cohort
