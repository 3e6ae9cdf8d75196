// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/openstack/cloud.hpp"

#include <algorithm>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/core.h>

#include "common/openstack/cloud_impl.hpp"
#include "common/text.hpp"

namespace cohort::openstack {
namespace {

using std::chrono::system_clock;

// changes-since counts whole seconds.
constexpr std::int64_t clock_slack_seconds = 2;
// The clocks of nova's own hosts.
constexpr std::int64_t host_skew_ms = 250;

std::string iso_time(system_clock::time_point t) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(system_clock::to_time_t(t)));
}

// NAME as a regular expression that means just itself: nova's ?name= is one.
std::string literal_pattern(const std::string& name) {
    std::string pattern = "^";
    for (const char c : name) {
        if (std::string_view(".^$*+?()[]{}|\\").find(c) != std::string_view::npos) pattern += '\\';
        pattern += c;
    }
    return pattern + "$";
}

std::string ids_of(const auto& items) {
    std::vector<std::string> ids;
    for (const auto& item : items) ids.push_back(fmt::format("{} ({})", item.id, item.status));
    return text::join(ids, ", ");
}

bool instance_is_gone(const Error& error) {
    return error.message.find("nstance") != std::string::npos &&
           error.message.find("could not be found") != std::string::npos;
}

}  // namespace

Result<Image> Cloud::Impl::image_by_id(const std::string& id) {
    const Call call{"image " + id, "image", "images/" + encode(id), {}, {}, {}};
    auto answer = session.call(call);
    if (!answer) return tl::unexpected(answer.error());
    if (answer->status < 300) {
        auto image = parse_image(answer->body);
        if (!image) return fail(fmt::format("cloud {}: {}", config.name, call.what), image.error());
        return image;
    }
    // A credential whose access rules name only GET /v2/images may list and not show.
    if (answer->status == 401) {
        const Call list{call.what, "image", "images?id=" + encode(id), {}, {}, {}};
        if (const auto found = all<Image>(list, parse_images); found && found->size() == 1)
            return found->front();
    }
    return tl::unexpected(session.refused(call, *answer));
}

Result<Image> Cloud::Impl::image_by_name(const std::string& name) {
    // "in:" would be glance's operator.
    const std::string value = name.starts_with("in:") ? "in:\"" + name + "\"" : name;
    const Call call{
        fmt::format("image '{}'", name), "image", "images?name=" + encode(value), {}, {}, {}};
    auto found = all<Image>(call, parse_images);
    if (!found) return tl::unexpected(found.error());
    std::erase_if(*found, [&](const Image& i) { return i.name != name; });
    std::vector<Image> active;
    std::copy_if(found->begin(), found->end(), std::back_inserter(active),
                 [](const Image& i) { return i.active() && !i.hidden; });
    if (active.size() == 1) return active.front();
    if (active.size() > 1)
        return fail(Errc::invalid,
                    fmt::format("cloud {}: {} active images are named '{}': {}. Write the UUID",
                                config.name, active.size(), name, ids_of(active)));
    if (!found->empty())
        return fail(Errc::not_found, fmt::format("cloud {}: no active image is named '{}', only {}",
                                                 config.name, name, ids_of(*found)));
    return fail(Errc::not_found,
                fmt::format("cloud {}: no image is named '{}'", config.name, name));
}

// nova keeps the reason of a failed action with the server.
Result<Action> Cloud::Impl::with_cause(const std::string& server_id, Action action) {
    if (action.events_shown && (!action.finished || action.succeeded)) return action;
    const auto server = one<Server>(server_call(server_id), parse_server);
    if (!server) {
        // The verdict stands without its reason; without events there is none.
        if (action.events_shown) return action;
        return tl::unexpected(server.error());
    }
    if (!action.events_shown && server->task_state.empty()) {
        action.finished = true;
        action.succeeded = server->status != "ERROR";
    }
    if (action.finished && !action.succeeded && !server->fault.empty())
        action.message = server->fault;
    return action;
}

Cloud::Cloud(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Cloud::~Cloud() = default;

Result<std::unique_ptr<Cloud>> Cloud::open(CloudConfig config, Options options) {
    const std::string context = fmt::format("cloud {} in {}", config.name, config.file);
    if (const auto url = tokens_url(config.auth_url); !url) return fail(context, url.error());
    if (const auto body = sign_in_body(config); !body) return tl::unexpected(body.error());
    HttpOptions http;
    http.connect_timeout = options.connect_timeout;
    http.total_timeout = config.api_timeout ? *config.api_timeout : options.request_timeout;
    http.user_agent = options.user_agent;
    http.verify = config.verify;
    http.cacert = config.cacert;
    http.cert = config.cert;
    http.key = config.key;
    auto transport = make_transport(std::move(http));
    if (!transport) return fail(context, transport.error());
    auto impl = std::make_unique<Impl>(std::move(config), options, std::move(*transport));
    return std::unique_ptr<Cloud>(new Cloud(std::move(impl)));
}

Result<std::vector<std::string>> Cloud::roles() {
    return impl_->session.roles();
}

std::optional<std::chrono::milliseconds> Cloud::clock_ahead() const {
    return impl_->session.clock_ahead();
}

Status Cloud::probe() {
    const Call call{"one server", "compute", "servers?limit=1", {}, {}, {}};
    const auto answer = impl_->get(call);
    if (!answer) return tl::unexpected(answer.error());
    return {};
}

Result<Server> Cloud::server(const std::string& id) {
    return impl_->one<Server>(impl_->server_call(id), parse_server);
}

Result<std::vector<Server>> Cloud::servers_named(const std::string& name) {
    const Call call{fmt::format("server '{}'", name),
                    "compute",
                    "servers/detail?name=" + encode(literal_pattern(name)),
                    {},
                    server_versions,
                    {}};
    auto found = impl_->all<Server>(call, parse_servers);
    if (found) std::erase_if(*found, [&](const Server& s) { return s.name != name; });
    return found;
}

Result<Server> Cloud::server_by_name(const std::string& name) {
    auto found = servers_named(name);
    if (!found) return tl::unexpected(found.error());
    if (found->size() == 1) return found->front();
    if (found->empty())
        return fail(Errc::not_found,
                    fmt::format("cloud {}: no server is named '{}'", impl_->config.name, name));
    return fail(Errc::invalid,
                fmt::format("cloud {}: {} servers are named '{}': {}. Write instance_id",
                            impl_->config.name, found->size(), name, ids_of(*found)));
}

Result<std::vector<Server>> Cloud::servers() {
    return impl_->all<Server>({"the servers", "compute", "servers/detail", {}, server_versions, {}},
                              parse_servers);
}

Result<std::vector<Server>> Cloud::servers_changed_since(system_clock::time_point when) {
    const auto cloud_time =
        impl_->session.cloud_time(when) - std::chrono::seconds(clock_slack_seconds);
    return impl_->all<Server>({"the servers",
                               "compute",
                               "servers/detail?changes-since=" + encode(iso_time(cloud_time)),
                               {},
                               server_versions,
                               {}},
                              parse_servers);
}

Result<Image> Cloud::image(const std::string& id_or_name) {
    return is_uuid(id_or_name) ? impl_->image_by_id(id_or_name) : impl_->image_by_name(id_or_name);
}

Result<Action> Cloud::action(const std::string& server_id, const std::string& request_id) {
    const Call call{
        fmt::format("action {} of server {}", request_id, server_id),
        "compute",
        fmt::format("servers/{}/os-instance-actions/{}", encode(server_id), encode(request_id)),
        {},
        action_versions,
        {}};
    auto action = impl_->one<Action>(call, parse_action);
    if (action) return impl_->with_cause(server_id, *action);
    if (action.error().code == Errc::not_found && !instance_is_gone(action.error())) {
        Action none;
        none.request_id = request_id;
        return none;
    }
    return action;
}

Result<Action> Cloud::latest_action(const std::string& server_id, const std::string& name,
                                    system_clock::time_point since) {
    const Call call{fmt::format("actions of server {}", server_id),
                    "compute",
                    fmt::format("servers/{}/os-instance-actions", encode(server_id)),
                    {},
                    action_versions,
                    {}};
    auto actions = impl_->one<std::vector<Action>>(call, parse_actions);
    if (!actions) return tl::unexpected(actions.error());
    const auto first = std::chrono::duration_cast<std::chrono::milliseconds>(
                           impl_->session.cloud_time(since).time_since_epoch())
                           .count() -
                       host_skew_ms;
    std::erase_if(*actions,
                  [&](const Action& a) { return a.name != name || a.started_ms < first; });
    if (actions->empty()) return Action{};
    const auto newest = std::max_element(
        actions->begin(), actions->end(),
        [](const Action& a, const Action& b) { return a.started_ms < b.started_ms; });
    return action(server_id, newest->request_id);
}

Counters Cloud::counters() const {
    return impl_->session.counters();
}

}  // namespace cohort::openstack
