// SPDX-License-Identifier: GPL-2.0-or-later
//
// Checks of the cloud: clouds.yaml, the credential, each node's server, each wanted image.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <unordered_map>

#include <fmt/core.h>

#include "common/text.hpp"
#include "rebootprog/doctor/doctor_checks.hpp"

namespace cohort {
namespace {

constexpr std::int64_t clock_slack_ms = 3000;  // a Date header is exact to a second at best
constexpr std::int64_t gib = 1LL << 30;

using Wanted = CloudFacts::Wanted;

// Which server each node means; a node whose file or server is wrong is not in it.
class Servers {
  public:
    explicit Servers(const CloudFacts& cloud) {
        for (const auto& server : cloud.servers) {
            by_id_[server.id] = &server;
            by_name_.emplace(server.name, &server);
        }
    }
    const ServerState* of(const Wanted& wanted) const {
        if (!wanted.server.empty()) {
            const auto found = by_id_.find(wanted.server);
            return found == by_id_.end() ? nullptr : found->second;
        }
        return by_name_.count(wanted.node) == 1 ? by_name_.find(wanted.node)->second : nullptr;
    }

  private:
    std::unordered_map<std::string, const ServerState*> by_id_;
    std::unordered_multimap<std::string, const ServerState*> by_name_;
};

bool usable(const Wanted& wanted) {
    return wanted.has_file && wanted.file_fault.empty();
}

Finding check_file(const DoctorFacts& facts) {
    const char* name = "clouds.yaml";
    const auto& cloud = facts.cloud;
    if (!cloud.file_fault.empty()) return failure(name, cloud.file_fault);
    const auto& file = facts.configuration.settings.clouds_file;
    if (!cloud.encrypted)
        return warn(name, fmt::format("auth_url in {} is http: the secret and tokens travel in "
                                      "clear. Use https",
                                      file));
    if (!cloud.verified)
        return warn(name, fmt::format("verify is off in {}: anybody between here and the cloud can "
                                      "read the secret. Set cacert",
                                      file));
    return pass(name, fmt::format("{}: owner and mode are right", file));
}

Finding check_roles(const CloudFacts& cloud) {
    const char* name = "credential";
    const auto has = [&](std::string_view role) {
        return std::ranges::any_of(
            cloud.roles, [&](const std::string& own) { return text::iequals(own, role); });
    };
    const bool admin = has("admin") || has("manager");
    std::vector<std::string> lacks;
    if (!has("reader") && !admin) lacks.emplace_back("reader");
    if (!has("member") && !admin) lacks.emplace_back("member");
    const std::string roles = text::join(cloud.roles, ", ");
    if (!lacks.empty())
        return failure(name, fmt::format("its roles are {}: it lacks {} (to look at servers: "
                                         "reader; to rebuild them: member)",
                                         roles.empty() ? "none" : roles, text::join(lacks, ", ")));
    if (has("admin"))
        return warn(name,
                    "it has the role admin, more than is needed: member and reader are "
                    "enough, in an application credential");
    return pass(name, "roles: " + roles);
}

Finding check_clock(const CloudFacts& cloud) {
    const char* name = "cloud's clock";
    if (!cloud.clock_ahead_ms) return warn(name, "not looked at: its answers have no Date");
    if (std::abs(*cloud.clock_ahead_ms) > clock_slack_ms)
        return warn(name, fmt::format("{} s {} this machine's: mend NTP here or there",
                                      std::abs(*cloud.clock_ahead_ms) / 1000,
                                      *cloud.clock_ahead_ms > 0 ? "ahead of" : "behind"));
    return pass(name, "agrees with this machine's");
}

void check_desired(const DoctorFacts& facts, Findings& found) {
    const char* name = "desired files";
    std::vector<std::string> absent, faults;
    for (const auto& wanted : facts.cloud.wanted) {
        if (!wanted.has_file) absent.push_back(wanted.node);
        if (!wanted.file_fault.empty()) faults.push_back(wanted.file_fault);
    }
    const auto& dir = facts.configuration.settings.desired_dir;
    if (!faults.empty())
        found.push_back(failure(
            name, fmt::format("{}{}", faults.front(),
                              faults.size() == 1
                                  ? ""
                                  : fmt::format(", and {} more such files", faults.size() - 1))));
    else if (!absent.empty())
        found.push_back(warn(name, fmt::format("none in {} for {}: these nodes are never rebuilt",
                                               dir, some_of(absent))));
    else
        found.push_back(pass(name, fmt::format("one for each node in {}", dir)));
}

Finding check_found(const CloudFacts& cloud, const Servers& servers) {
    const char* name = "servers";
    std::vector<std::string> lost;
    std::map<std::string, std::vector<std::string>> nodes_of;
    for (const auto& wanted : cloud.wanted) {
        if (!usable(wanted)) continue;
        if (const auto* server = servers.of(wanted))
            nodes_of[server->id].push_back(wanted.node);
        else if (!wanted.powered_down)
            lost.push_back(wanted.node);
    }
    if (!lost.empty())
        return failure(name, fmt::format("{}: the cloud has no such server, or several of that "
                                         "name. Correct instance_id in their desired files",
                                         some_of(lost)));
    for (const auto& [server, nodes] : nodes_of)
        if (nodes.size() > 1)
            return failure(name, fmt::format("{} name the same server {}: correct instance_id",
                                             some_of(nodes), server));
    return pass(name, fmt::format("each of {} nodes has its own", nodes_of.size()));
}

// NAME as a failure with SENTENCE when there are nodes, "none" otherwise.
Finding none_or(const char* name, const std::vector<std::string>& nodes,
                std::string_view sentence) {
    if (nodes.empty()) return pass(name, "none");
    return failure(name, fmt::format("{}: {}", some_of(nodes), sentence));
}

// Slurm wakes nodes of State=CLOUD: can their servers be made?
void check_server_keys(const DoctorFacts& facts, Findings& found) {
    if (!facts.slurm.config.resume_program.ends_with("/cohort-resume")) return;
    const char* name = "servers to be made";
    std::vector<std::string> nodes;
    std::string why;
    for (const auto& wanted : facts.cloud.wanted) {
        if (wanted.power_fault.empty()) continue;
        nodes.push_back(wanted.node);
        if (why.empty()) why = wanted.power_fault;
    }
    if (nodes.empty())
        found.push_back(pass(name, "each node of State=CLOUD says of what"));
    else
        found.push_back(failure(
            name, fmt::format("{}: {}: set it in their desired files or in ServerTemplate, or no "
                              "machine can be made when they are woken",
                              some_of(nodes), why)));
}

void check_servers(const DoctorFacts& facts, const Servers& servers, Findings& found) {
    const auto& settings = facts.configuration.settings;
    std::vector<std::string> locked, volumes, broken;
    for (const auto& wanted : facts.cloud.wanted) {
        const auto* server = usable(wanted) ? servers.of(wanted) : nullptr;
        if (!server) continue;
        if (server->locked && !settings.unlock) locked.push_back(wanted.node);
        if (server->volume_backed && !settings.allow_volume_rebuild) volumes.push_back(wanted.node);
        if (server->status == "ERROR") broken.push_back(wanted.node);
    }
    found.push_back(check_found(facts.cloud, servers));
    found.push_back(none_or("locked servers", locked,
                            "the cloud refuses to rebuild them. openstack server unlock, or "
                            "Unlock=yes"));
    found.push_back(none_or("volume-backed servers", volumes,
                            "a rebuild would wipe the boot volume, or do nothing. "
                            "AllowVolumeRebuild=yes when that is meant (needs microversion 2.93)"));
    if (broken.empty())
        found.push_back(pass("servers in ERROR", "none"));
    else
        found.push_back(warn("servers in ERROR",
                             fmt::format("{}: a rebuild job rebuilds them", some_of(broken))));
}

// Why IMAGE does not fit SERVER; empty when it does.
std::string misfit(const ImageState& image, const ServerState& server) {
    const std::int64_t needs = std::max(image.min_disk_gb, (image.bytes + gib - 1) / gib);
    if (server.disk_gb != 0 && needs > server.disk_gb)
        return fmt::format("needs a disk of {} GiB, {} has {}", needs, server.name, server.disk_gb);
    if (server.ram_mb != 0 && image.min_ram_mb > server.ram_mb)
        return fmt::format("needs {} MiB of memory, {} has {}", image.min_ram_mb, server.name,
                           server.ram_mb);
    return {};
}

std::string first_misfit(const CloudFacts& cloud, const Servers& servers) {
    std::map<std::string, const ImageState*> images;
    for (const auto& image : cloud.images)
        if (image.fault.empty()) images[image.asked] = &image.state;
    for (const auto& wanted : cloud.wanted) {
        const auto image = images.find(wanted.image);
        const auto* server = usable(wanted) ? servers.of(wanted) : nullptr;
        if (!server || image == images.end()) continue;
        if (const auto why = misfit(*image->second, *server); !why.empty())
            return fmt::format("{} ({}) {}", image->second->name, image->second->id, why);
    }
    return {};
}

void check_images(const DoctorFacts& facts, const Servers& servers, Findings& found) {
    const auto& images = facts.cloud.images;
    std::string unusable;
    std::vector<std::string> without_stamp;
    for (const auto& image : images) {
        const std::string why = !image.fault.empty()  ? image.fault
                                : !image.state.usable ? image.state.why_not
                                                      : "";
        if (unusable.empty()) unusable = why;
        if (why.empty() && image.state.stamp.empty())
            without_stamp.push_back(fmt::format("{} ({})", image.state.name, image.state.id));
    }
    if (!unusable.empty())
        found.push_back(failure("images", unusable));
    else if (const auto why = first_misfit(facts.cloud, servers); !why.empty())
        found.push_back(failure("images", why + ": rebuild with a smaller image, or resize"));
    else
        found.push_back(
            pass("images", fmt::format("{} wanted: active, and they fit", images.size())));
    const auto& settings = facts.configuration.settings;
    if (without_stamp.empty()) {
        found.push_back(pass("stamps", "every wanted image carries one"));
        return;
    }
    const std::string text =
        fmt::format("no property {} on {}", settings.stamp_property, some_of(without_stamp));
    if (settings.accept_weak_proof)
        found.push_back(warn("stamps", text + ": only the weak proof is left there. Set it to the "
                                              "image's IMAGE_ID/IMAGE_VERSION"));
    else
        found.push_back(failure("stamps", text +
                                              ", and AcceptWeakProof=no: no node will prove that "
                                              "it runs it. Set the property"));
}

}  // namespace

void check_cloud(const DoctorFacts& facts, Findings& found) {
    for (const auto& command : facts.cloud.commands) {
        const std::string name = "BackendCommand";
        const std::string what = fmt::format("{} (Backend={})", command.program, command.kind);
        found.push_back(command.fault.empty()
                            ? pass(name, what)
                            : failure(name, fmt::format("{}: {}: the nodes of that back end cannot "
                                                        "be rebuilt or rebooted until it works",
                                                        what, command.fault)));
    }
    if (facts.cloud.wanted.empty() && facts.cloud.other_nodes != 0) {
        found.push_back(pass("clouds.yaml", "not needed: no node belongs to nova"));
        return;
    }
    found.push_back(check_file(facts));
    check_desired(facts, found);
    check_server_keys(facts, found);
    if (!facts.cloud.file_fault.empty() || !facts.cloud.fault.empty()) {
        if (!facts.cloud.fault.empty()) found.push_back(failure("credential", facts.cloud.fault));
        for (const char* name : {"servers", "images"})
            found.push_back(warn(name, "not looked at: the cloud could not be asked"));
        return;
    }
    const Servers servers(facts.cloud);
    found.push_back(check_roles(facts.cloud));
    found.push_back(check_clock(facts.cloud));
    check_servers(facts, servers, found);
    check_images(facts, servers, found);
}

}  // namespace cohort
