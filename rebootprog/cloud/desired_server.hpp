// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a server is made of when power saving creates it: further keys of a node's desired file,
// each of them else from ServerTemplate. Thread-safe: no shared state.
#pragma once

#include <string>
#include <vector>

#include "common/result.hpp"
#include "common/settings.hpp"

namespace cohort {

struct ServerKeys {
    std::string flavor_id;              // required by nova
    std::vector<std::string> networks;  // network_ids: UUIDs, or "auto" or "none"
    std::vector<std::string> security_groups;
    std::string key_name, availability_zone;
    std::string user_data_file;  // an absolute path
    std::string user_data;       // its content
    bool config_drive = false;
};

// SETTINGS: the node's. Without a file for the node only the template counts.
Result<ServerKeys> read_server_keys(const Settings& settings, const std::string& node);

}  // namespace cohort
