// SPDX-License-Identifier: GPL-2.0-or-later
//
// The nova back end: common/openstack behind the engine's interface. Thread-safe.
#pragma once

#include <memory>

#include "common/openstack/cloud.hpp"
#include "common/settings.hpp"
#include "rebootprog/cloud/backend.hpp"

namespace cohort {

class NovaBackend : public Backend {
  public:
    NovaBackend(std::unique_ptr<openstack::Cloud> cloud, const Settings& settings)
        : cloud_(std::move(cloud)), stamp_property_(settings.stamp_property) {}

    Result<ServerState> server(const Target& target) override;
    Result<ImageState> image(const std::string& id_or_name) override;
    Result<std::string> send(Request request, const std::string& server,
                             const std::string& image) override;
    Result<ActionState> action(const std::string& server, const std::string& request) override;
    Result<std::optional<ActionState>> newest_action(const std::string& server,
                                                     const std::string& action,
                                                     std::int64_t since) override;
    Result<std::vector<ServerState>> named(const std::string& node) override;
    Result<MachineMade> create(const MachineOrder& order) override;
    Status remove(const std::string& server) override;
    Result<std::vector<ServerState>> changed_since(
        std::chrono::system_clock::time_point when) override;
    Status probe() override { return cloud_->probe(); }
    Result<std::vector<ServerState>> servers() override;
    Result<std::vector<std::string>> roles() { return cloud_->roles(); }
    std::optional<std::chrono::milliseconds> clock_ahead() const { return cloud_->clock_ahead(); }

  private:
    std::unique_ptr<openstack::Cloud> cloud_;
    std::string stamp_property_;
};

// Reads CloudsFile/Cloud and prepares the client (no request yet). STATE_DIR holds the token cache
// when CacheToken=yes. PATIENCE: how long one call may retry a passing fault by itself. DEADLINE:
// no call lasts longer.
Result<std::unique_ptr<NovaBackend>> open_nova(
    const Settings& settings, const std::string& state_dir, std::chrono::seconds patience,
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max());

}  // namespace cohort
