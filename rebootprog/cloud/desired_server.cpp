// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/cloud/desired_server.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/core.h>

#include "common/file.hpp"
#include "common/openstack/answers.hpp"
#include "common/text.hpp"
#include "rebootprog/cloud/desired.hpp"

namespace cohort {
namespace {

constexpr std::size_t most_user_data = std::size_t{48} << 10;

const std::vector<std::string>& keys() {
    static const std::vector<std::string> all = {
        "flavor_id",         "network_ids",    "security_groups", "key_name",
        "availability_zone", "user_data_file", "config_drive"};
    return all;
}

Result<std::vector<std::string>> list_of(const DesiredValue& value, const std::string& key) {
    std::vector<std::string> items = value.items;
    if (items.empty()) items = text::split(value.text, ',');
    for (auto& item : items) item = std::string(text::trim(item));
    std::erase(items, "");
    if (key != "network_ids" || (items.size() == 1 && (items[0] == "auto" || items[0] == "none")))
        return items;
    for (const auto& item : items)
        if (!openstack::is_uuid(item))
            return fail(Errc::invalid,
                        fmt::format("{}: network_ids: '{}' is neither a UUID nor one "
                                    "of the words auto and none",
                                    value.file, text::one_line(item, 80)));
    return items;
}

Status fill_user_data(const std::string& file, ServerKeys& server) {
    if (server.user_data_file.empty()) return {};
    if (server.user_data_file[0] != '/')
        return fail(Errc::invalid, file + ": user_data_file must be an absolute path");
    auto content = read_file(server.user_data_file, most_user_data);
    if (!content) return tl::unexpected(content.error());
    server.user_data = std::move(*content);
    return {};
}

}  // namespace

Result<ServerKeys> read_server_keys(const Settings& settings, const std::string& node) {
    auto values = read_desired_values(settings, node, keys());
    if (!values) return tl::unexpected(values.error());
    const auto& v = *values;
    ServerKeys server;
    server.flavor_id = v[0].text;
    auto networks = list_of(v[1], keys()[1]), groups = list_of(v[2], keys()[2]);
    if (!networks) return tl::unexpected(networks.error());
    server.networks = std::move(*networks);
    server.security_groups = std::move(*groups);
    server.key_name = v[3].text;
    server.availability_zone = v[4].text;
    server.user_data_file = v[5].text;
    const std::string drive = text::lower(v[6].text);
    if (!drive.empty() && drive != "true" && drive != "yes" && drive != "false" && drive != "no")
        return fail(Errc::invalid, v[6].file + ": config_drive is neither true nor false");
    server.config_drive = drive == "true" || drive == "yes";
    if (auto filled = fill_user_data(v[5].file, server); !filled)
        return tl::unexpected(filled.error());
    return server;
}

}  // namespace cohort
