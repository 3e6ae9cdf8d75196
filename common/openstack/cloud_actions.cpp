// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>

#include "common/log.hpp"
#include "common/openstack/cloud_impl.hpp"

namespace cohort::openstack {
namespace {

using std::chrono::system_clock;

std::string request_id_of(const HttpAnswer& answer) {
    const std::string id = answer.header("x-openstack-request-id");
    return id.empty() ? answer.header("x-compute-request-id") : id;
}

Json one_member(const char* key, const char* value) {
    Json inner = json::object();
    json::set(inner.get(), key, std::string_view(value));
    return inner;
}

std::string body_of(const char* name, Json content) {
    Json body = json::object();
    if (content)
        json::set(body.get(), name, std::move(content));
    else
        json_object_set_new(body.get(), name, json_null());
    return json::dump(body.get());
}

}  // namespace

// The POST of an action that nova records under NAME; its request id.
Result<std::string> Cloud::act(const std::string& server_id, const std::string& name,
                               const std::string& body, std::vector<std::string> versions) {
    const auto since = system_clock::now();
    Call call{fmt::format("{} of server {}", name, server_id),
              "compute",
              fmt::format("servers/{}/action", encode(server_id)),
              body,
              std::move(versions),
              {}};
    call.untouched = [&] {
        const auto now = server(server_id);
        const auto record = latest_action(server_id, name, since);
        return now && now->task_state.empty() && record && !record->found;
    };
    const auto answer = impl_->session.call(call);
    if (answer && answer->status >= 300)
        return tl::unexpected(impl_->session.refused(call, *answer));
    if (answer && !request_id_of(*answer).empty()) return request_id_of(*answer);
    if (!answer && answer.error().code != Errc::unsure) return tl::unexpected(answer.error());
    // nova writes the action down before it answers: its record may settle the doubt at once.
    const auto record = latest_action(server_id, name, since);
    if (record && record->found) {
        log::info("{} of server {}: nova has taken it as {}", name, server_id, record->request_id);
        return record->request_id;
    }
    if (!answer) return tl::unexpected(answer.error());
    return fail(Errc::unsure, fmt::format("cloud {}: {} was accepted without a request id",
                                          impl_->config.name, call.what));
}

Result<std::string> Cloud::rebuild(const std::string& server_id, const std::string& image_id,
                                   bool volume_backed) {
    // nova takes no names here; a name must never come this far.
    if (!is_uuid(image_id))
        return fail(Errc::invalid, fmt::format("'{}' is no image id (a UUID)", image_id));
    std::vector<std::string> versions;
    if (volume_backed) versions = {"2.93"};
    return act(server_id, "rebuild", body_of("rebuild", one_member("imageRef", image_id.c_str())),
               std::move(versions));
}

Result<std::string> Cloud::reboot(const std::string& server_id, Reboot kind) {
    const char* type = kind == Reboot::soft ? "SOFT" : "HARD";
    return act(server_id, "reboot", body_of("reboot", one_member("type", type)), {});
}

Result<std::string> Cloud::start(const std::string& server_id) {
    return act(server_id, "start", body_of("os-start", {}), {});
}

Status Cloud::unlock(const std::string& server_id) {
    const auto id = act(server_id, "unlock", body_of("unlock", {}), {});
    if (!id) return tl::unexpected(id.error());
    return {};
}

}  // namespace cohort::openstack
