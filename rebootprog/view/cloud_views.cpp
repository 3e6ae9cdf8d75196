// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/view/cloud_views.hpp"

#include <fmt/core.h>

namespace cohort {

Result<CloudView> CloudView::load(Backend& backend) {
    CloudView view(backend);
    auto servers = backend.servers();
    // No list: asked one by one.
    if (!servers && servers.error().code == Errc::invalid) return view;
    if (!servers) return tl::unexpected(servers.error());
    view.listed_ = true;
    for (auto& server : *servers) {
        view.by_name_.emplace(server.name, server.id);
        view.by_id_.emplace(server.id, std::move(server));
    }
    return view;
}

Result<ServerState> CloudView::server(const Desired& desired, const std::string& node) const {
    if (!listed_) return backend_->server({node, desired.instance_id, desired.image_id});
    std::string id = desired.instance_id;
    if (id.empty()) {
        const auto count = by_name_.count(node);
        if (count != 1)
            return fail(Errc::not_found,
                        fmt::format("{} servers are named {}: set instance_id in its file in "
                                    "DesiredDir",
                                    count, node));
        id = by_name_.find(node)->second;
    }
    auto found = by_id_.find(id);
    if (found == by_id_.end()) found = by_id_.find(node);  // a command lists by node
    if (found == by_id_.end())
        return fail(Errc::not_found, fmt::format("the cloud has no server {}", id));
    return found->second;
}

Result<ImageState> CloudView::image(const std::string& id_or_name) {
    auto [known, is_new] = images_.try_emplace(id_or_name, fail(Errc::failed, ""));
    if (is_new) known->second = backend_->image(id_or_name);
    return known->second;
}

Status CloudViews::load(const std::string& node) {
    auto backend = backends_.of(node);
    if (!backend) return tl::unexpected(backend.error());
    if (views_.contains(*backend)) return {};
    auto view = CloudView::load(**backend);
    if (!view) return tl::unexpected(view.error());
    views_.emplace(*backend, std::move(*view));
    return {};
}

}  // namespace cohort
