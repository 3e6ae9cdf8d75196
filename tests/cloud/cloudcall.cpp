// SPDX-License-Identifier: GPL-2.0-or-later
//
// cloudcall: one call of common/openstack per command, its result as one line of JSON. For the
// contract tests, which run it against the lab cloud and the true services alike, and for people.
//
//   cloudcall [--clouds FILE] [--cloud NAME] [--cache FILE] [--seconds N] VERB [ARGUMENT...]
//   verbs: probe | server ID | name NAME | servers | changed SECONDS | image ID_OR_NAME |
//          rebuild SERVER IMAGE [volume] | reboot SERVER soft|hard | start SERVER | unlock SERVER |
//          named NAME | create NAME IMAGE FLAVOR MARK | remove SERVER | action SERVER REQUEST |
//          latest SERVER NAME SECONDS | follow SERVER REQUEST | config | batch IMAGE THREADS
//          SERVER...
// Exit code: that of the error (common/result.hpp); 9 for a POST that may have been taken.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include "common/json.hpp"
#include "common/log.hpp"
#include "common/openstack/cloud.hpp"

using namespace cohort;
using namespace cohort::openstack;

namespace {

constexpr int exit_unsure = 9;

const char* word_of(Errc code) {
    switch (code) {
        case Errc::invalid:
            return "invalid";
        case Errc::not_found:
            return "not_found";
        case Errc::denied:
            return "denied";
        case Errc::busy:
            return "busy";
        case Errc::unreachable:
            return "unreachable";
        case Errc::unsure:
            return "unsure";
        case Errc::failed:
            break;
    }
    return "failed";
}

int say(const Error& error) {
    Json j = json::object();
    json::set(j.get(), "error", word_of(error.code));
    json::set(j.get(), "message", error.message);
    fmt::print("{}\n", json::dump(j.get()));
    return error.code == Errc::unsure ? exit_unsure : exit_code_of(error.code);
}

Json json_of(const Server& s) {
    Json j = json::object();
    json::set(j.get(), "id", s.id);
    json::set(j.get(), "name", s.name);
    json::set(j.get(), "status", s.status);
    json::set(j.get(), "task_state", s.task_state);
    json::set(j.get(), "image_id", s.image_id);
    json::set(j.get(), "volume_backed", s.volume_backed);
    json::set(j.get(), "locked", s.locked);
    json::set(j.get(), "locked_reason", s.locked_reason);
    json::set(j.get(), "fault", s.fault);
    Json metadata = json::object();
    for (const auto& [key, value] : s.metadata) json::set(metadata.get(), key.c_str(), value);
    json::set(j.get(), "metadata", std::move(metadata));
    return j;
}

Json json_of(const Created& c) {
    Json j = json::object();
    json::set(j.get(), "id", c.server_id);
    json::set(j.get(), "request_id", c.request_id);
    return j;
}

Json json_of(const Image& i) {
    Json j = json::object();
    json::set(j.get(), "id", i.id);
    json::set(j.get(), "name", i.name);
    json::set(j.get(), "status", i.status);
    Json properties = json::object();
    for (const auto& [key, value] : i.properties) json::set(properties.get(), key.c_str(), value);
    json::set(j.get(), "properties", std::move(properties));
    return j;
}

Json json_of(const Action& a) {
    Json j = json::object();
    json::set(j.get(), "request_id", a.request_id);
    json::set(j.get(), "name", a.name);
    json::set(j.get(), "found", a.found);
    json::set(j.get(), "finished", a.finished);
    json::set(j.get(), "succeeded", a.succeeded);
    json::set(j.get(), "message", a.message);
    json::set(j.get(), "started", a.started);
    json::set(j.get(), "ended", a.ended);
    return j;
}

Json json_of(const std::vector<Server>& servers) {
    Json list = json::array();
    for (const auto& s : servers) json_array_append_new(list.get(), json_of(s).release());
    return list;
}

Json json_of(const std::string& text) {
    Json j = json::object();
    json::set(j.get(), "request_id", text);
    return j;
}

// Everything that the loader made of a file, secrets too: for made-up files only.
Json json_of(const CloudConfig& c) {
    Json j = json::object();
    const std::pair<const char*, const std::string*> texts[] = {
        {"auth_url", &c.auth_url},
        {"user_id", &c.user_id},
        {"username", &c.username},
        {"user_domain_id", &c.user_domain_id},
        {"user_domain_name", &c.user_domain_name},
        {"password", &c.password},
        {"project_id", &c.project_id},
        {"project_name", &c.project_name},
        {"project_domain_id", &c.project_domain_id},
        {"project_domain_name", &c.project_domain_name},
        {"application_credential_id", &c.application_credential_id},
        {"application_credential_name", &c.application_credential_name},
        {"application_credential_secret", &c.application_credential_secret},
        {"token", &c.token},
        {"region_name", &c.region},
        {"interface", &c.interface},
        {"cacert", &c.cacert},
        {"cert", &c.cert},
        {"key", &c.key}};
    for (const auto& [key, text] : texts)
        if (!text->empty()) json::set(j.get(), key, *text);
    json::set(j.get(), "verify", c.verify);
    if (c.api_timeout) json::set(j.get(), "api_timeout", std::int64_t{c.api_timeout->count()});
    for (const auto& [service, url] : c.endpoint_override)
        json::set(j.get(), (service + "_endpoint_override").c_str(), url);
    for (const auto& [service, region] : c.service_region)
        json::set(j.get(), (service + "_region_name").c_str(), region);
    for (const auto& [service, interface] : c.service_interface)
        json::set(j.get(), (service + "_interface").c_str(), interface);
    return j;
}

template <class T>
int show(const Result<T>& result) {
    if (!result) return say(result.error());
    fmt::print("{}\n", json::dump(json_of(*result).get()));
    return 0;
}

int show(const Status& result) {
    if (!result) return say(result.error());
    fmt::print("{{}}\n");
    return 0;
}

Result<Action> follow(Cloud& cloud, const std::string& server, const std::string& request) {
    while (true) {
        auto action = cloud.action(server, request);
        if (!action || action->finished) return action;
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
}

// Rebuilds all SERVERS to IMAGE on THREADS threads; counts how they ended.
int batch(Cloud& cloud, const std::vector<std::string>& arguments) {
    const std::vector<std::string> servers(arguments.begin() + 2, arguments.end());
    std::atomic<std::size_t> next{0}, failed{0};
    std::vector<std::thread> threads;
    std::mutex print_mutex;
    for (unsigned long t = std::stoul(arguments[1]); t > 0; --t)
        threads.emplace_back([&] {
            for (std::size_t i = next++; i < servers.size(); i = next++) {
                const auto request = cloud.rebuild(servers[i], arguments[0]);
                const auto end = request ? follow(cloud, servers[i], *request)
                                         : Result<Action>(tl::unexpected(request.error()));
                if (end && end->succeeded) continue;
                ++failed;
                const std::lock_guard lock(print_mutex);
                fmt::print(stderr, "{}: {}\n", servers[i],
                           end ? end->message : end.error().message);
            }
        });
    for (auto& thread : threads) thread.join();
    const auto counters = cloud.counters();
    fmt::print("{{\"failed\":{},\"requests\":{},\"logins\":{},\"retries\":{}}}\n", failed.load(),
               counters.requests, counters.logins, counters.retries);
    return failed == 0 ? 0 : exit_code::some_failed;
}

int call(Cloud& cloud, const std::string& verb, const std::vector<std::string>& a) {
    const auto ago = [](const std::string& seconds) {
        return std::chrono::system_clock::now() - std::chrono::seconds(std::stol(seconds));
    };
    if (verb == "probe") return show(cloud.probe());
    if (verb == "servers") return show(cloud.servers());
    if (a.empty()) return exit_code::usage;
    if (verb == "server") return show(cloud.server(a[0]));
    if (verb == "name") return show(cloud.server_by_name(a[0]));
    if (verb == "changed") return show(cloud.servers_changed_since(ago(a[0])));
    if (verb == "image") return show(cloud.image(a[0]));
    if (verb == "start") return show(cloud.start(a[0]));
    if (verb == "unlock") return show(cloud.unlock(a[0]));
    if (verb == "named") return show(cloud.servers_named(a[0]));
    if (verb == "remove") return show(cloud.remove(a[0]));
    if (a.size() < 2) return exit_code::usage;
    if (verb == "rebuild") return show(cloud.rebuild(a[0], a[1], a.size() > 2));
    if (verb == "reboot")
        return show(cloud.reboot(a[0], a[1] == "hard" ? Reboot::hard : Reboot::soft));
    if (verb == "action") return show(cloud.action(a[0], a[1]));
    if (verb == "follow") return show(follow(cloud, a[0], a[1]));
    if (verb == "create" && a.size() > 3) {
        ServerOrder order;
        order.name = a[0];
        order.image_id = a[1];
        order.flavor_id = a[2];
        order.networks = {"none"};
        order.user_data = "#!/bin/sh\ntrue\n";
        order.metadata = {{"cohort_node", a[0]}, {"cohort_order", a[3]}};
        return show(cloud.create(order));
    }
    if (verb == "latest" && a.size() > 2) return show(cloud.latest_action(a[0], a[1], ago(a[2])));
    if (verb == "batch" && a.size() > 2) return batch(cloud, a);
    return exit_code::usage;
}

}  // namespace

int main(int argc, char** argv) {
    std::string file = "/etc/openstack/clouds.yaml", name, verb;
    Options options;
    std::vector<std::string> arguments;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const bool option = verb.empty() && word.starts_with("--") && i + 1 < argc;
        if (option && word == "--clouds")
            file = argv[++i];
        else if (option && word == "--cloud")
            name = argv[++i];
        else if (option && word == "--cache")
            options.token_cache = argv[++i];
        else if (option && word == "--seconds")
            options.retry_limit = std::chrono::seconds(std::atol(argv[++i]));
        else if (option && word == "--timeout-ms")
            options.request_timeout = std::chrono::milliseconds(std::atol(argv[++i]));
        else if (verb.empty())
            verb = word;
        else
            arguments.push_back(word);
    }
    if (std::getenv("CLOUDCALL_LOG")) log::set_sink(log::stderr_sink());
    auto config = load_cloud(file, name);
    if (!config) return say(config.error());
    if (verb == "config") return show(config);
    auto cloud = Cloud::open(std::move(*config), options);
    if (!cloud) return say(cloud.error());
    const int code = call(**cloud, verb, arguments);
    if (code == exit_code::usage && verb.empty())
        fmt::print(stderr, "usage: see the head of cloudcall.cpp\n");
    return code;
}
