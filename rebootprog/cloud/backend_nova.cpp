// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/cloud/backend_nova.hpp"

#include <fmt/core.h>

namespace cohort {
namespace {

// What we write into the metadata of a server that we make.
constexpr const char* key_node = "cohort_node";
constexpr const char* key_order = "cohort_order";

ServerState convert(openstack::Server server) {
    return {.id = std::move(server.id),
            .name = std::move(server.name),
            .status = std::move(server.status),
            .task_state = std::move(server.task_state),
            .image = std::move(server.image_id),
            .volume_backed = server.volume_backed,
            .locked = server.locked,
            .locked_reason = std::move(server.locked_reason),
            .fault = std::move(server.fault),
            .disk_gb = server.disk_gb,
            .ram_mb = server.ram_mb,
            .owner = std::move(server.metadata[key_node]),
            .mark = std::move(server.metadata[key_order])};
}

Result<std::vector<ServerState>> convert(Result<std::vector<openstack::Server>> found) {
    if (!found) return tl::unexpected(found.error());
    std::vector<ServerState> all;
    all.reserve(found->size());
    for (auto& server : *found) all.push_back(convert(std::move(server)));
    return all;
}

ActionState convert(openstack::Action action) {
    return {.request = std::move(action.request_id),
            .finished = action.finished,
            .succeeded = action.succeeded,
            .message = std::move(action.message),
            .began = action.started};
}

}  // namespace

Result<ServerState> NovaBackend::server(const Target& target) {
    auto found =
        target.server.empty() ? cloud_->server_by_name(target.node) : cloud_->server(target.server);
    if (!found) return tl::unexpected(found.error());
    return convert(std::move(*found));
}

Result<ImageState> NovaBackend::image(const std::string& id_or_name) {
    auto found = cloud_->image(id_or_name);
    if (!found) return tl::unexpected(found.error());
    ImageState image{.id = found->id,
                     .name = found->name,
                     .stamp = found->property(stamp_property_),
                     .usable = found->active(),
                     .why_not = {},
                     .min_disk_gb = found->min_disk_gb,
                     .min_ram_mb = found->min_ram_mb,
                     .bytes = found->bytes};
    if (!image.usable)
        image.why_not = fmt::format("image {} ({}) is {}: activate it, or set another image_id",
                                    image.name, image.id, found->status);
    return image;
}

Result<std::string> NovaBackend::send(Request request, const std::string& server,
                                      const std::string& image) {
    switch (request) {
        case Request::rebuild:
            return cloud_->rebuild(server, image);
        case Request::rebuild_volume:
            return cloud_->rebuild(server, image, true);
        case Request::soft_reboot:
            return cloud_->reboot(server, openstack::Reboot::soft);
        case Request::hard_reboot:
            return cloud_->reboot(server, openstack::Reboot::hard);
        case Request::start:
            return cloud_->start(server);
        case Request::unlock: {
            auto done = cloud_->unlock(server);
            if (!done) return tl::unexpected(done.error());
            return std::string();
        }
    }
    return fail(Errc::invalid, "unknown request");
}

Result<ActionState> NovaBackend::action(const std::string& server, const std::string& request) {
    auto found = cloud_->action(server, request);
    if (!found) return tl::unexpected(found.error());
    if (!found->found)
        return fail(Errc::not_found, fmt::format("nova does not list request {}", request));
    return convert(std::move(*found));
}

Result<std::optional<ActionState>> NovaBackend::newest_action(const std::string& server,
                                                              const std::string& action,
                                                              std::int64_t since) {
    auto found = cloud_->latest_action(
        server, action, std::chrono::system_clock::time_point(std::chrono::seconds(since)));
    if (!found) return tl::unexpected(found.error());
    if (!found->found) return std::optional<ActionState>();
    return std::optional<ActionState>(convert(std::move(*found)));
}

Result<std::vector<ServerState>> NovaBackend::servers() {
    return convert(cloud_->servers());
}

Result<std::vector<ServerState>> NovaBackend::named(const std::string& node) {
    return convert(cloud_->servers_named(node));
}

Result<MachineMade> NovaBackend::create(const MachineOrder& order) {
    openstack::ServerOrder server;
    server.name = order.node;
    server.image_id = order.image;
    server.flavor_id = order.keys.flavor_id;
    server.networks = order.keys.networks;
    server.security_groups = order.keys.security_groups;
    server.key_name = order.keys.key_name;
    server.availability_zone = order.keys.availability_zone;
    server.user_data = order.keys.user_data;
    server.config_drive = order.keys.config_drive;
    server.metadata = {{key_node, order.node}, {key_order, order.mark}};
    auto made = cloud_->create(server);
    if (!made) return tl::unexpected(made.error());
    return MachineMade{std::move(made->server_id), std::move(made->request_id)};
}

Status NovaBackend::remove(const std::string& server) {
    auto removed = cloud_->remove(server);
    if (!removed) return tl::unexpected(removed.error());
    return {};
}

Result<std::vector<ServerState>> NovaBackend::changed_since(
    std::chrono::system_clock::time_point when) {
    return convert(cloud_->servers_changed_since(when));
}

Result<std::unique_ptr<NovaBackend>> open_nova(const Settings& settings,
                                               const std::string& state_dir,
                                               std::chrono::seconds patience,
                                               std::chrono::steady_clock::time_point deadline) {
    auto config = openstack::load_cloud(settings.clouds_file, settings.cloud);
    if (!config) return tl::unexpected(config.error());
    openstack::Options options;
    options.retry_limit = patience;
    options.deadline = deadline;
    if (settings.cache_token) options.token_cache = state_dir + "/token";
    auto cloud = openstack::Cloud::open(std::move(*config), std::move(options));
    if (!cloud) return tl::unexpected(cloud.error());
    return std::make_unique<NovaBackend>(std::move(*cloud), settings);
}

}  // namespace cohort
