// SPDX-License-Identifier: GPL-2.0-or-later
//
// Back ends of a site's own: Backend=exec (a command that knows machines and images) and
// Backend=reboot (a command that only reboots). BackendCommand is run for each question and each
// request, never by a shell; cohort-reboot(8) describes the verbs, the answers and the exit codes.
//
// The id of a machine is NODE, or NODE/INSTANCE_ID when its desired file names one: whoever goes on
// with an attempt of another process needs no more. Request ids are made here. Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "common/json.hpp"
#include "common/settings.hpp"
#include "rebootprog/cloud/backend.hpp"

namespace cohort {

// What both share: one run of the command, judged.
class CommandBackend : public Backend {
  public:
    explicit CommandBackend(const Settings& settings)
        : command_(settings.backend_command), limit_(settings.backend_time) {}

    Result<ActionState> action(const std::string& server, const std::string& request) override;

  protected:
    struct Call {
        std::string verb, server, image, request;
        bool changes = false;  // broken off, it may have been taken
        std::size_t most_bytes = std::size_t{64} << 10;
    };
    // What it wrote. not_found, busy, unreachable, unsure, failed as in backend.hpp;
    // Errc::invalid: it does not know the verb.
    Result<std::string> call(const Call& call);
    // An action that had ended when the command did.
    void keep(ActionState ended);
    static std::string new_request();

  private:
    const std::string command_;
    const std::chrono::seconds limit_;
    std::mutex mutex_;
    std::map<std::string, ActionState> ended_;
};

class ExecBackend : public CommandBackend {
  public:
    using CommandBackend::CommandBackend;

    Status probe() override;
    Result<ServerState> server(const Target& target) override;
    Result<std::vector<ServerState>> servers() override;
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

  private:
    Result<Json> ask(const Call& call);
    Result<ServerState> state_of(const std::string& server);
    Result<ActionState> judged_by_state(const std::string& server, const std::string& request);
};

class RebootBackend : public CommandBackend {
  public:
    using CommandBackend::CommandBackend;

    bool knows_images() const override { return false; }
    Status probe() override { return {}; }
    Result<ServerState> server(const Target& target) override;
    Result<std::vector<ServerState>> servers() override;
    Result<ImageState> image(const std::string& id_or_name) override;
    Result<std::string> send(Request request, const std::string& server,
                             const std::string& image) override;
    Result<std::optional<ActionState>> newest_action(const std::string& server,
                                                     const std::string& action,
                                                     std::int64_t since) override;
};

}  // namespace cohort
