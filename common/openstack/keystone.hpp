// SPDX-License-Identifier: GPL-2.0-or-later
//
// Signing in: what is sent to keystone v3, what comes back, and which endpoint of the catalog is
// meant. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/json.hpp"
#include "common/openstack/clouds.hpp"
#include "common/result.hpp"

namespace cohort::openstack {

struct Endpoint {
    std::string type, region, interface, url;
    bool operator==(const Endpoint&) const = default;
};

struct Token {
    std::string id;
    std::int64_t expires = 0;  // seconds since the epoch, keystone's clock
    std::vector<Endpoint> catalog;
    std::vector<std::string> roles;  // names, for messages
};

// ".../v3/auth/tokens" for auth_url in any of its forms: with or without "/v3", with slashes at
// its end, under a path of its own. Refuses a v2.0 URL and what is no URL.
Result<std::string> tokens_url(const std::string& auth_url);

// The body of POST /auth/tokens. Refuses, naming the key, a configuration that lacks one.
Result<std::string> sign_in_body(const CloudConfig& config);

// ANSWER is the body, ID the header X-Subject-Token.
Result<Token> parse_token(std::string_view answer, std::string id);

// Service KIND ("compute", "image"): endpoint_override, else the one entry of the catalog with
// this type (an alias of the service-types-authority counts), interface and region. None or
// several are refused with the list of what the catalog has.
Result<std::string> choose_endpoint(const CloudConfig& config, const std::vector<Endpoint>& catalog,
                                    const std::string& kind);

}  // namespace cohort::openstack
