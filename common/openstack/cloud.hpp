// SPDX-License-Identifier: GPL-2.0-or-later
//
// The cloud as the suite needs it: servers, images, rebuild, reboot, and how an action ended.
//
// One Cloud serves all threads of a process: the token is shared, connections are pooled. open()
// does no I/O; the first call signs in. Retries happen inside, up to Options::deadline: GETs on
// any passing fault, POSTs only when the cloud has refused them before taking them.
//
// Errors, by Errc:
//   unreachable  the cloud refused us or did not answer; nothing was changed (sign-in, endpoint,
//                TLS, 5xx, time-outs, 429 beyond the limit, an expired deadline)
//   unsure       an action's POST may have been taken: settle it with latest_action()
//   not_found    no such server or image
//   denied       403 (the credential needs the roles member AND reader), or the server is locked
//   busy         409: the server's state does not allow it now
//   invalid      400 (nova's words), an ambiguous name, or the configuration
// Messages never hold a token, a secret or the body of an answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/openstack/clouds.hpp"
#include "common/result.hpp"

namespace cohort::openstack {

struct Server {
    std::string id, name;
    std::string status;      // nova's word: "ACTIVE", "SHUTOFF", "ERROR", "REBUILD" ...
    std::string task_state;  // empty: no task runs
    std::string image_id;    // the NEW image from the moment nova takes a rebuild, also when it
                             // fails; empty: volume-backed
    bool volume_backed = false;
    bool locked = false;
    std::string locked_reason;  // only where the cloud has microversion 2.73
    std::string fault;          // nova's fault message; empty unless status is ERROR or DELETED
    std::int64_t disk_gb = 0;   // of its flavor; 0: as large as the image, or not shown (2.47)
    std::int64_t ram_mb = 0;    // of its flavor; 0: not shown
    std::map<std::string, std::string> metadata;

    // Really on IMAGE: the id alone proves nothing (see image_id).
    bool settled_on(const std::string& image) const {
        return image_id == image && status == "ACTIVE" && task_state.empty();
    }
    bool operator==(const Server&) const = default;
};

struct Image {
    std::string id, name;
    std::string status;  // only "active" can be booted
    bool hidden = false;
    std::int64_t min_disk_gb = 0, min_ram_mb = 0;
    std::int64_t bytes = 0;                         // the file's, or what it unpacks to
    std::map<std::string, std::string> properties;  // all string properties, e.g. the stamp

    bool active() const { return status == "active"; }
    std::string property(const std::string& key) const {
        const auto it = properties.find(key);
        return it == properties.end() ? std::string() : it->second;
    }
};

// One entry of a server's os-instance-actions. Times are the cloud's, seconds since the epoch.
struct Action {
    std::string request_id;
    std::string name;          // "rebuild", "reboot", "start"
    bool found = false;        // false: nova has no record of that request (yet)
    bool events_shown = true;  // false: a cloud before microversion 2.51, judged by the server
    bool finished = false;
    bool succeeded = false;
    std::string message;  // why it failed: the failed event, or the server's fault
    std::int64_t started = 0, ended = 0;
    std::int64_t started_ms = 0;  // the start in milliseconds
};

enum class Reboot { soft, hard };

// A server to be made. Empty fields are left out of the request; nova then has its own defaults.
struct ServerOrder {
    std::string name;
    std::string image_id, flavor_id;    // ids, never names
    std::vector<std::string> networks;  // UUIDs, or one of the words "auto" and "none"
    std::vector<std::string> security_groups;
    std::string key_name, availability_zone;
    std::string user_data;  // as it is, at most 48 KiB; encoded for nova here
    bool config_drive = false;
    std::map<std::string, std::string> metadata;
};

struct Created {
    std::string server_id, request_id;
};

struct Options {
    std::chrono::milliseconds connect_timeout{5000};
    std::chrono::milliseconds request_timeout{30000};  // api_timeout of clouds.yaml wins
    std::chrono::seconds retry_limit{120};             // one call retries at most this long
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
    std::string token_cache;  // a file (0600) that shares the token between runs; empty: none
    std::string user_agent = "slurm-cohort";
    // Called, from any thread, at each fault of the cloud that is retried or given up: the
    // breaker opens at the first.
    std::function<void(const Error&)> on_fault;
};

struct Counters {
    std::uint64_t requests = 0, logins = 0, retries = 0;
};

class Cloud {
  public:
    // Errc::invalid for a configuration that can never work.
    static Result<std::unique_ptr<Cloud>> open(CloudConfig config, Options options);
    ~Cloud();
    Cloud(const Cloud&) = delete;
    Cloud& operator=(const Cloud&) = delete;

    // Names of the roles that the credential has in its scope. Signs in when that was not done.
    Result<std::vector<std::string>> roles();
    // By how much the cloud's clock is ahead of ours, as its answers tell: nothing before the first
    // one, and never more exact than a second.
    std::optional<std::chrono::milliseconds> clock_ahead() const;

    // Signs in and asks nova for one server: ok means that the cloud is in reach again.
    Status probe();

    Result<Server> server(const std::string& id);
    // The one server with exactly this name; several are refused with their ids.
    Result<Server> server_by_name(const std::string& name);
    // All servers of the project. With CHANGED_SINCE (our clock; the difference to the cloud's
    // is taken care of) only those that nova has touched since then: one small request that
    // covers every followed server.
    Result<std::vector<Server>> servers();
    Result<std::vector<Server>> servers_changed_since(std::chrono::system_clock::time_point when);

    // A UUID, or the name of exactly one active image.
    Result<Image> image(const std::string& id_or_name);

    // The request id by which action() finds it. IMAGE_ID is a UUID. VOLUME_BACKED allows the
    // rebuild that wipes a boot volume (needs microversion 2.93).
    Result<std::string> rebuild(const std::string& server_id, const std::string& image_id,
                                bool volume_backed = false);
    Result<std::string> reboot(const std::string& server_id, Reboot kind);
    Result<std::string> start(const std::string& server_id);
    Status unlock(const std::string& server_id);

    // Every server of the project with exactly this name.
    Result<std::vector<Server>> servers_named(const std::string& name);
    // Never sent again when nova may have taken it (Errc::unsure): nova makes a second server of
    // the same name. servers_named() tells afterwards.
    Result<Created> create(const ServerOrder& order);
    // The request id; empty when there was no such server any more.
    Result<std::string> remove(const std::string& server_id);

    Result<Action> action(const std::string& server_id, const std::string& request_id);
    // The newest action of that NAME that nova began at or after SINCE (our clock); found=false
    // when there is none. How an `unsure` POST is settled: poll it, then follow its request_id.
    Result<Action> latest_action(const std::string& server_id, const std::string& name,
                                 std::chrono::system_clock::time_point since);

    Counters counters() const;

  private:
    struct Impl;
    explicit Cloud(std::unique_ptr<Impl> impl);
    Result<std::string> act(const std::string& server_id, const std::string& name,
                            const std::string& body, std::vector<std::string> versions);
    std::unique_ptr<Impl> impl_;
};

}  // namespace cohort::openstack
