// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the back ends tell `scohort doctor`.
#include <map>
#include <set>

#include <unistd.h>

#include "common/openstack/clouds.hpp"
#include "common/text.hpp"
#include "rebootprog/cloud/backend_exec.hpp"
#include "rebootprog/cloud/backends.hpp"
#include "rebootprog/cloud/desired.hpp"
#include "rebootprog/doctor/doctor_collect.hpp"

namespace cohort {
namespace {

constexpr std::chrono::seconds patience_of_one_call{10};

void read_wanted(const NodeSettings& settings, const std::vector<Node>& nodes, CloudFacts& facts) {
    for (const auto& node : nodes) {
        if (node.state.base == NodeState::Base::future) continue;
        if (settings.of(node.name).backend != BackendKind::nova) {
            ++facts.other_nodes;
            continue;
        }
        CloudFacts::Wanted wanted;
        wanted.node = node.name;
        wanted.powered_down = node.state.power_saving;
        if (node.state.cloud) {
            const auto keys = read_server_keys(settings.of(node.name), node.name);
            if (!keys)
                wanted.power_fault = keys.error().message;
            else if (keys->flavor_id.empty())
                wanted.power_fault = "flavor_id is set nowhere";
        }
        auto desired = read_desired(settings.of(node.name), node.name);
        if (desired) {
            wanted.server = std::move(desired->instance_id);
            wanted.image = std::move(desired->image_id);
        } else if (desired.error().code == Errc::not_found) {
            wanted.has_file = false;
        } else {
            wanted.file_fault = desired.error().message;
        }
        facts.wanted.push_back(std::move(wanted));
    }
}

Status ask_cloud(NovaBackend& nova, CloudFacts& facts) {
    auto roles = nova.roles();
    if (!roles) return tl::unexpected(roles.error());
    facts.roles = std::move(*roles);
    auto servers = nova.servers();
    if (!servers) return tl::unexpected(servers.error());
    facts.servers = std::move(*servers);
    std::map<std::string, bool> asked;
    for (const auto& wanted : facts.wanted) {
        if (wanted.image.empty() || !asked.emplace(wanted.image, true).second) continue;
        auto image = nova.image(wanted.image);
        if (image)
            facts.images.push_back({wanted.image, {}, std::move(*image)});
        else
            facts.images.push_back({wanted.image, image.error().message, {}});
    }
    if (const auto ahead = nova.clock_ahead()) facts.clock_ahead_ms = ahead->count();
    return {};
}

// Each command once: can it be run, and does it answer?
void read_commands(const Configuration& configuration, CloudFacts& facts) {
    std::set<std::string> seen;
    const auto look = [&](const Settings& settings) {
        if (settings.backend == BackendKind::nova) return;
        if (!seen.insert(settings.backend_command).second) return;
        const std::string program = text::words(settings.backend_command).front();
        CloudFacts::Command command{program, name_of(settings.backend), {}};
        if (::access(program.c_str(), X_OK) != 0) {
            command.fault = "SlurmUser cannot execute it";
        } else if (settings.backend == BackendKind::exec) {
            if (auto answered = ExecBackend(settings).probe(); !answered)
                command.fault = answered.error().message;
        }
        facts.commands.push_back(std::move(command));
    };
    look(configuration.site);
    for (const auto& line : configuration.cohorts) look(line.settings);
}

}  // namespace

CloudFacts read_cloud(const Configuration& configuration, const std::vector<Node>& nodes) {
    CloudFacts facts;
    read_wanted(NodeSettings(configuration), nodes, facts);
    read_commands(configuration, facts);
    if (facts.wanted.empty() && facts.other_nodes != 0) return facts;
    Settings settings = configuration.site;
    const auto config = openstack::load_cloud(settings.clouds_file, settings.cloud);
    if (!config) {
        facts.file_fault = config.error().message;
        return facts;
    }
    facts.verified = config->verify;
    facts.encrypted = !text::lower(config->auth_url).starts_with("http:");
    settings.cache_token = false;  // the credential itself is to be tried
    auto nova = open_nova(settings, {}, patience_of_one_call);
    const auto asked = nova ? ask_cloud(**nova, facts) : Status(tl::unexpected(nova.error()));
    if (!asked) facts.fault = asked.error().message;
    return facts;
}

}  // namespace cohort
