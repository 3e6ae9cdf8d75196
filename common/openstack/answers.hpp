// SPDX-License-Identifier: GPL-2.0-or-later
//
// What nova and glance answer, as values. Pure; nothing of an answer but the named fields is kept.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/json.hpp"
#include "common/openstack/cloud.hpp"

namespace cohort::openstack {

// One page of a list; NEXT is the link as the service wrote it, empty on the last page.
template <class T>
struct Page {
    std::vector<T> items;
    std::string next;
};

Result<Server> parse_server(std::string_view body);
Result<Page<Server>> parse_servers(std::string_view body);
// The id of a server that was asked for: all that nova tells of it then.
Result<std::string> parse_created(std::string_view body);
Result<Image> parse_image(std::string_view body);
Result<Page<Image>> parse_images(std::string_view body);
// With its events, which nova shows to the owner from microversion 2.51 on.
Result<Action> parse_action(std::string_view body);
// Without events, so never finished; newest first, as nova gives them.
Result<std::vector<Action>> parse_actions(std::string_view body);

// The sentence in an error's envelope: nova {"<kind>": {message}}, keystone {"error": {message}},
// glance {"message"} or HTML. One line, at most 300 bytes; empty when there is none. Only for
// statuses of 400 and more: bodies of successes can hold secrets.
std::string error_sentence(std::string_view body);

// "2.93" in a version document of the service (one version or a list), empty: no microversions.
struct Versions {
    std::string id;        // "v2.1"
    std::string max, min;  // microversions; may be empty
};
Result<std::vector<Versions>> parse_versions(std::string_view body);

// -1, 0, 1. "2.9" is older than "2.10".
int compare_versions(std::string_view a, std::string_view b);

// 8-4-4-4-12 hexadecimal digits.
bool is_uuid(std::string_view s);

}  // namespace cohort::openstack
