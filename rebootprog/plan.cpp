// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/plan.hpp"

#include <ctime>
#include <map>
#include <unordered_map>

#include <fmt/chrono.h>
#include <fmt/core.h>

#include "common/log.hpp"
#include "common/slurm/hostlist.hpp"
#include "common/slurm/load.hpp"
#include "common/text.hpp"
#include "rebootprog/backend_nova.hpp"
#include "rebootprog/breaker.hpp"
#include "rebootprog/desired.hpp"
#include "rebootprog/journal.hpp"
#include "rebootprog/table.hpp"

namespace cohort {
namespace {

constexpr std::chrono::seconds patience_of_one_call{10};

// What the cloud has, read once for all nodes.
class CloudView {
  public:
    static Result<CloudView> load(NovaBackend& nova) {
        auto servers = nova.servers();
        if (!servers) return tl::unexpected(servers.error());
        CloudView view(nova);
        for (auto& server : *servers) {
            view.by_name_.emplace(server.name, server.id);
            view.by_id_.emplace(server.id, std::move(server));
        }
        return view;
    }

    Result<const ServerState*> server(const Desired& desired, const std::string& node) const {
        std::string id = desired.instance_id;
        if (id.empty()) {
            const auto count = by_name_.count(node);
            if (count != 1)
                return fail(Errc::not_found,
                            fmt::format("{} servers are named {}: set instance_id in {}", count,
                                        node, desired.file));
            id = by_name_.find(node)->second;
        }
        const auto found = by_id_.find(id);
        if (found == by_id_.end())
            return fail(Errc::not_found, fmt::format("the cloud has no server {}", id));
        return &found->second;
    }

    Result<ImageState> image(const std::string& id_or_name) {
        auto [known, is_new] = images_.try_emplace(id_or_name, fail(Errc::failed, ""));
        if (is_new) known->second = nova_->image(id_or_name);
        return known->second;
    }

  private:
    explicit CloudView(NovaBackend& nova) : nova_(&nova) {}
    NovaBackend* nova_;
    std::unordered_map<std::string, ServerState> by_id_;
    std::unordered_multimap<std::string, std::string> by_name_;
    std::map<std::string, Result<ImageState>> images_;
};

struct Verdict {
    std::string word = "blocked";
    std::string why, actual, desired;
};

Verdict judge_node(const Site& site, CloudView& cloud, const Node& node) {
    Verdict verdict;
    const auto desired = read_desired(site.settings().desired_dir, node.name);
    if (!desired) {
        if (desired.error().code == Errc::not_found) verdict.word = "skip";
        verdict.why = desired.error().message;
        return verdict;
    }
    verdict.desired = desired->image_id;
    const auto server = cloud.server(*desired, node.name);
    if (!server) {
        verdict.why = server.error().message;
        return verdict;
    }
    verdict.actual = (*server)->image;
    const auto image = cloud.image(desired->image_id);
    if (!image || !image->usable) {
        verdict.why = image ? image->why_not : image.error().message;
        return verdict;
    }
    verdict.desired = image->id;
    const auto decision =
        decide(**server, image->id, {site.settings().allow_volume_rebuild, site.settings().unlock});
    verdict.word = name_of(decision.act);
    verdict.why = decision.why;
    // A healthy node on its image needs nothing; only an asked-for --reboot job would reboot it.
    if (decision.act == Decision::Act::soft_reboot) verdict.word = "skip";
    return verdict;
}

Result<std::vector<Node>> chosen_nodes(const std::string& expression) {
    auto all = slurm::load_nodes();
    if (!all || expression.empty()) return all;
    auto names = slurm::expand_hosts(expression);
    if (!names) return tl::unexpected(names.error());
    std::vector<Node> chosen;
    for (const auto& name : *names) {
        const auto found = std::find_if(all->begin(), all->end(),
                                        [&](const Node& node) { return node.name == name; });
        if (found == all->end())
            return fail(Errc::invalid, fmt::format("Slurm knows no node {}", name));
        chosen.push_back(*found);
    }
    return chosen;
}

std::string clock_time(std::int64_t at) {
    return at == 0 ? "" : fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(at));
}

int report(const Error& error) {
    log::error("{}", error.message);
    return exit_code_of(error.code);
}

}  // namespace

int plan(const Site& site, const std::string& expression, bool json) {
    auto nodes = chosen_nodes(expression);
    if (!nodes) return report(nodes.error());
    auto nova = open_nova(site.settings(), site.state_dir, patience_of_one_call);
    if (!nova) return report(nova.error());
    auto cloud = CloudView::load(**nova);
    if (!cloud) return report(cloud.error());
    Table table{"plan", {"NODE", "STATE", "LABEL", "ACTUAL", "DESIRED", "VERDICT", "WHY"}, {}};
    for (const auto& node : *nodes) {
        const auto verdict = judge_node(site, *cloud, node);
        table.rows.push_back({node.name, node.state.text(),
                              node.record.revision.empty() ? "-" : node.record.revision,
                              verdict.actual, verdict.desired, verdict.word, verdict.why});
    }
    print_table(table, json);
    return exit_code::ok;
}

int status(const Site& site, bool json) {
    auto journal = Journal::open(site.state_dir);
    if (!journal) return report(journal.error());
    auto attempts = journal->latest_attempts();
    if (!attempts) return report(attempts.error());
    auto nodes = slurm::load_nodes();
    if (!nodes) return report(nodes.error());
    std::map<std::string, const Node*> by_name;
    for (const auto& node : *nodes) by_name[node.name] = &node;
    Table table{
        "status", {"NODE", "STATE", "LABEL", "ACTION", "OUTCOME", "BEGAN", "SECONDS", "WHY"}, {}};
    for (const auto& attempt : *attempts) {
        const auto found = by_name.find(attempt.node);
        const std::int64_t end = attempt.ended ? attempt.ended : std::time(nullptr);
        table.rows.push_back({attempt.node,
                              found == by_name.end() ? "unknown" : found->second->state.text(),
                              found == by_name.end() || found->second->record.revision.empty()
                                  ? "-"
                                  : found->second->record.revision,
                              attempt.action, name_of(attempt.outcome), clock_time(attempt.began),
                              fmt::format("{}", end - attempt.began), attempt.reason});
    }
    print_table(table, json);
    if (const auto breaker = read_breaker(site.state_dir); breaker && !json)
        log::warning("the breaker is open since {}: {}", clock_time(breaker->opened),
                     breaker->reason);
    return exit_code::ok;
}

}  // namespace cohort
