// SPDX-License-Identifier: GPL-2.0-or-later
//
// backendcall: one call of a back end of cohort-reboot per command, its result as one line of JSON.
// For tests/cloud/backend_test, which asks all back ends the same.
//
//   backendcall COHORT_CONF VERB [ARGUMENT...]
//   verbs: probe | server NODE INSTANCE | servers | image IMAGE | action SERVER REQUEST |
//          send rebuild|soft|hard|start SERVER IMAGE | newest SERVER ACTION SECONDS_AGO |
//          named NODE | create NODE IMAGE MARK | remove SERVER
#include <cstdio>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "common/json.hpp"
#include "rebootprog/cloud/backend_exec.hpp"
#include "rebootprog/cloud/backend_nova.hpp"

using namespace cohort;

namespace {

using Words = std::vector<std::string>;

int say(const Json& j, int code = 0) {
    fmt::print("{}\n", json::dump(j.get()));
    return code;
}

int say(const Error& error) {
    const std::map<Errc, const char*> names = {
        {Errc::invalid, "invalid"}, {Errc::not_found, "not_found"},     {Errc::denied, "denied"},
        {Errc::busy, "busy"},       {Errc::unreachable, "unreachable"}, {Errc::unsure, "unsure"},
        {Errc::failed, "failed"}};
    Json j = json::object();
    json::set(j.get(), "error", names.at(error.code));
    json::set(j.get(), "message", error.message);
    return say(j, exit_code_of(error.code));
}

Json json_of(const ServerState& s) {
    Json j = json::object();
    json::set(j.get(), "id", s.id);
    json::set(j.get(), "name", s.name);
    json::set(j.get(), "status", s.status);
    json::set(j.get(), "task_state", s.task_state);
    json::set(j.get(), "image", s.image);
    json::set(j.get(), "locked", s.locked);
    json::set(j.get(), "fault", s.fault);
    json::set(j.get(), "owner", s.owner);
    return j;
}

Json json_of(const std::vector<ServerState>& servers) {
    Json list = json::array();
    for (const auto& s : servers) json_array_append_new(list.get(), json_of(s).release());
    return list;
}

Json json_of(const ImageState& i) {
    Json j = json::object();
    json::set(j.get(), "id", i.id);
    json::set(j.get(), "name", i.name);
    json::set(j.get(), "stamp", i.stamp);
    json::set(j.get(), "usable", i.usable);
    return j;
}

Json json_of(const ActionState& a) {
    Json j = json::object();
    json::set(j.get(), "request", a.request);
    json::set(j.get(), "finished", a.finished);
    json::set(j.get(), "ok", a.succeeded);
    json::set(j.get(), "message", a.message);
    return j;
}

Json json_of(const std::optional<ActionState>& a) {
    return a ? json_of(*a) : json::object();
}

Json json_of(const std::string& request) {
    return json_of(ActionState{request, false, false, {}, 0});
}

template <class T>
int show(const Result<T>& result) {
    return result ? say(json_of(*result)) : say(result.error());
}

Result<std::unique_ptr<Backend>> open(const char* file) {
    const auto configuration = load_configuration(file);
    if (!configuration) return tl::unexpected(configuration.error());
    const Settings& settings = configuration->site;
    if (settings.backend == BackendKind::exec) return std::make_unique<ExecBackend>(settings);
    if (settings.backend == BackendKind::reboot) return std::make_unique<RebootBackend>(settings);
    auto nova = open_nova(settings, {}, std::chrono::seconds(3));
    if (!nova) return tl::unexpected(nova.error());
    return std::move(*nova);
}

int call(Backend& backend, const std::string& verb, const Words& a) {
    const std::map<std::string, Request> requests = {{"rebuild", Request::rebuild},
                                                     {"soft", Request::soft_reboot},
                                                     {"hard", Request::hard_reboot},
                                                     {"start", Request::start}};
    if (verb == "probe") {
        const auto answered = backend.probe();
        return answered ? say(json::object()) : say(answered.error());
    }
    if (verb == "server") return show(backend.server({a.at(0), a.at(1), ""}));
    if (verb == "servers") return show(backend.servers());
    if (verb == "image") return show(backend.image(a.at(0)));
    if (verb == "action") return show(backend.action(a.at(0), a.at(1)));
    if (verb == "send") return show(backend.send(requests.at(a.at(0)), a.at(1), a.at(2)));
    if (verb == "named") return show(backend.named(a.at(0)));
    if (verb == "create") {
        ServerKeys keys;
        keys.flavor_id = "lab";
        keys.networks = {"none"};
        const auto made = backend.create({a.at(0), a.at(1), keys, a.at(2)});
        return made ? show(Result<std::string>(made->server)) : say(made.error());
    }
    if (verb == "remove") {
        const auto removed = backend.remove(a.at(0));
        return removed ? say(json::object()) : say(removed.error());
    }
    if (verb == "newest")
        return show(
            backend.newest_action(a.at(0), a.at(1), std::time(nullptr) - std::stol(a.at(2))));
    return say(Error{Errc::invalid, "unknown verb " + verb});
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        std::fputs("usage: backendcall COHORT_CONF VERB [ARGUMENT...]\n", stderr);
        return exit_code::usage;
    }
    try {
        auto backend = open(argv[1]);
        if (!backend) return say(backend.error());
        return call(**backend, argv[2], Words(argv + 3, argv + argc));
    } catch (const std::exception& e) {
        return say(Error{Errc::invalid, e.what()});
    }
}
