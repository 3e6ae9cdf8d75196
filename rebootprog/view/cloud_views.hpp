// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the back ends have, read once for all nodes of a plan. Not thread-safe.
#pragma once

#include <map>
#include <string>
#include <unordered_map>

#include "rebootprog/cloud/backends.hpp"
#include "rebootprog/cloud/desired.hpp"

namespace cohort {

// One back end's.
class CloudView {
  public:
    // Errc::unreachable and the like: nothing is known of any of its nodes.
    static Result<CloudView> load(Backend& backend);

    // Errc::not_found: the node has no machine, or it cannot be told which is its.
    Result<ServerState> server(const Desired& desired, const std::string& node) const;
    Result<ImageState> image(const std::string& id_or_name);

  private:
    explicit CloudView(Backend& backend) : backend_(&backend) {}
    Backend* backend_;
    bool listed_ = false;
    std::unordered_map<std::string, ServerState> by_id_;
    std::unordered_multimap<std::string, std::string> by_name_;
    std::map<std::string, Result<ImageState>> images_;
};

// All of them. load() a node before anything else is asked about it.
class CloudViews {
  public:
    explicit CloudViews(const Site& site) : backends_(site, std::chrono::seconds(10)) {}

    Status load(const std::string& node);
    const Settings& settings(const std::string& node) const { return backends_.settings(node); }
    bool knows_images(const std::string& node) { return (*backends_.of(node))->knows_images(); }
    CloudView& of(const std::string& node) { return views_.at(*backends_.of(node)); }

  private:
    Backends backends_;
    std::map<Backend*, CloudView> views_;
};

}  // namespace cohort
