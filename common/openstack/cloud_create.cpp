// SPDX-License-Identifier: GPL-2.0-or-later
//
// Servers that are made and removed: what power saving needs.
#include <algorithm>

#include "common/openstack/cloud_impl.hpp"

namespace cohort::openstack {
namespace {

constexpr std::size_t most_user_data = std::size_t{48} << 10;

std::string base64(std::string_view data) {
    static constexpr char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    out.reserve((data.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < data.size(); i += 3) {
        const auto byte = [&](std::size_t k) {
            return i + k < data.size() ? static_cast<unsigned char>(data[i + k]) : 0U;
        };
        const unsigned group = byte(0) << 16 | byte(1) << 8 | byte(2);
        out += digits[group >> 18 & 63];
        out += digits[group >> 12 & 63];
        out += i + 1 < data.size() ? digits[group >> 6 & 63] : '=';
        out += i + 2 < data.size() ? digits[group & 63] : '=';
    }
    return out;
}

bool is_word(const std::vector<std::string>& networks) {
    return networks.size() == 1 && (networks[0] == "auto" || networks[0] == "none");
}

void put_networks(json_t* server, const std::vector<std::string>& networks) {
    if (networks.empty()) return;
    if (is_word(networks)) return json::set(server, "networks", networks[0]);
    Json list = json::array();
    for (const auto& id : networks) {
        Json one = json::object();
        json::set(one.get(), "uuid", id);
        json_array_append_new(list.get(), one.release());
    }
    json::set(server, "networks", std::move(list));
}

void put_groups(json_t* server, const std::vector<std::string>& groups) {
    if (groups.empty()) return;
    Json list = json::array();
    for (const auto& name : groups) {
        Json one = json::object();
        json::set(one.get(), "name", name);
        json_array_append_new(list.get(), one.release());
    }
    json::set(server, "security_groups", std::move(list));
}

std::string body_of(const ServerOrder& order) {
    Json server = json::object();
    const auto put = [&](const char* key, const std::string& value) {
        if (!value.empty()) json::set(server.get(), key, value);
    };
    put("name", order.name);
    put("imageRef", order.image_id);
    put("flavorRef", order.flavor_id);
    put("key_name", order.key_name);
    put("availability_zone", order.availability_zone);
    put("user_data", base64(order.user_data));
    if (order.config_drive) json::set(server.get(), "config_drive", true);
    put_networks(server.get(), order.networks);
    put_groups(server.get(), order.security_groups);
    Json metadata = json::object();
    for (const auto& [key, value] : order.metadata) json::set(metadata.get(), key.c_str(), value);
    json::set(server.get(), "metadata", std::move(metadata));
    Json body = json::object();
    json::set(body.get(), "server", std::move(server));
    return json::dump(body.get());
}

std::string request_id_of(const HttpAnswer& answer) {
    const std::string id = answer.header("x-openstack-request-id");
    return id.empty() ? answer.header("x-compute-request-id") : id;
}

}  // namespace

Result<Created> Cloud::create(const ServerOrder& order) {
    if (!is_uuid(order.image_id))
        return fail(Errc::invalid, fmt::format("'{}' is no image id (a UUID)", order.image_id));
    if (order.flavor_id.empty()) return fail(Errc::invalid, "a server needs a flavor");
    if (order.user_data.size() > most_user_data)
        return fail(Errc::invalid, fmt::format("{} bytes of user data are more than nova takes",
                                               order.user_data.size()));
    std::vector<std::string> versions;
    if (is_word(order.networks)) versions = {"2.37"};
    Call call{fmt::format("a new server '{}'", order.name),
              "compute",
              "servers",
              body_of(order),
              std::move(versions),
              {}};
    call.untouched = [&] {
        const auto named = servers_named(order.name);
        return named && std::ranges::none_of(*named, [&](const Server& one) {
                   return one.metadata == order.metadata;
               });
    };
    const auto answer = impl_->session.call(call);
    if (!answer) return tl::unexpected(answer.error());
    if (answer->status >= 300) return tl::unexpected(impl_->session.refused(call, *answer));
    const auto id = parse_created(answer->body);
    // Accepted: what is wrong with the answer does not undo it.
    if (!id) return fail(Errc::unsure, fmt::format("{}: {}", call.what, id.error().message));
    return Created{*id, request_id_of(*answer)};
}

Result<std::string> Cloud::remove(const std::string& server_id) {
    Call call{
        "removal of server " + server_id, "compute", "servers/" + encode(server_id), {}, {}, {}};
    call.remove = true;
    const auto answer = impl_->session.call(call);
    if (!answer) return tl::unexpected(answer.error());
    if (answer->status == 404) return std::string();
    if (answer->status >= 300) return tl::unexpected(impl_->session.refused(call, *answer));
    return request_id_of(*answer);
}

}  // namespace cohort::openstack
