// SPDX-License-Identifier: GPL-2.0-or-later
//
// What cohort-reboot needs of whatever owns the machines: nova, a site's command, or plain reboots.
//
// Errors by Errc, on which the engine decides:
//   unreachable  the back end as such is out of reach or refuses us; nothing was sent: retried
//   unsure       a request may have been taken: never sent again, followed
//   anything else  a fault of this one node
// Implementations are thread-safe: one object serves all worker threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "rebootprog/cloud/desired_server.hpp"
#include "rebootprog/reboot/decide.hpp"

namespace cohort {

// What a node is to be.
struct Target {
    std::string node;
    std::string server;  // id, or empty: found by the node's name
    std::string image;   // id or unique name
};

struct ImageState {
    std::string id;
    std::string name;
    std::string stamp;  // what it says of itself from inside; empty: it carries none
    bool usable = false;
    std::string why_not;
    std::int64_t min_disk_gb = 0, min_ram_mb = 0;  // what it asks of a server
    std::int64_t bytes = 0;                        // what it unpacks to; 0: not known

    // The label that a node of this image publishes, when nothing else is sealed on it.
    std::string label() const;
};

// One action of the back end on one server.
struct ActionState {
    std::string request;
    bool finished = false;
    bool succeeded = false;
    std::string message;     // why it failed
    std::int64_t began = 0;  // seconds since the epoch, the back end's clock
};

// A machine to be made for a node. MARK stays with it: by that alone it is recognised when the
// answer to the request was lost.
struct MachineOrder {
    std::string node, image;
    ServerKeys keys;
    std::string mark;
};

struct MachineMade {
    std::string server, request;
};

// rebuild_volume wipes a boot volume: only where AllowVolumeRebuild=yes let the decision pass.
enum class Request { rebuild, rebuild_volume, soft_reboot, hard_reboot, start, unlock };

class Backend {
  public:
    virtual ~Backend() = default;
    // Whether it knows which image a machine has. Without, no desired image is read or compared.
    virtual bool knows_images() const { return true; }
    // Whether it answers at all.
    virtual Status probe() = 0;
    virtual Result<ServerState> server(const Target& target) = 0;
    // All machines. Errc::invalid: it has no such list.
    virtual Result<std::vector<ServerState>> servers() = 0;
    virtual Result<ImageState> image(const std::string& id_or_name) = 0;
    // Returns the request id by which the action is followed. IMAGE matters for rebuilds only.
    virtual Result<std::string> send(Request request, const std::string& server,
                                     const std::string& image) = 0;
    // Errc::not_found: the back end does not know the request (yet).
    virtual Result<ActionState> action(const std::string& server, const std::string& request) = 0;
    // The newest ACTION ("rebuild", "reboot") that began at or after SINCE (seconds since the
    // epoch, our clock); nothing when there is none.
    virtual Result<std::optional<ActionState>> newest_action(const std::string& server,
                                                             const std::string& action,
                                                             std::int64_t since) = 0;
    // Power saving. Every machine that bears NODE's name (ServerState::owner says for which node it
    // was made); and a new one, never asked for twice (Errc::unsure); and its removal, which may be
    // asked for again and again. Errc::invalid: it makes no machines.
    virtual Result<std::vector<ServerState>> named(const std::string& node);
    virtual Result<MachineMade> create(const MachineOrder& order);
    virtual Status remove(const std::string& server);
    // The servers that the back end has touched since WHEN (our clock), in one request. Anything
    // but unreachable: it has no such list.
    virtual Result<std::vector<ServerState>> changed_since(
        std::chrono::system_clock::time_point when);
};

}  // namespace cohort
