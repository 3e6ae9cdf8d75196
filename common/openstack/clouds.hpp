// SPDX-License-Identifier: GPL-2.0-or-later
//
// clouds.yaml as openstacksdk reads it, for a program that slurmctld starts.
//
// Rules that differ from openstacksdk, because a daemon has neither a home nor a safe current
// directory and its environment is whatever slurmctld was started with:
//   - the file is named (CloudsFile=); nothing is searched and no OS_* variable is read;
//   - secure.yaml (.yml, .json) and clouds-public.yaml are looked for beside that file only, the
//     latter also as the vendor data of `profile:` (openstacksdk's own vendor list is not shipped:
//     such a profile is refused by name, with the keys to write instead);
//   - each file must be a regular file, owned by root or the calling user, and not writable by
//     others; a file that holds a secret must not be readable by others either;
//   - a cloud name is needed unless the file has exactly one cloud.
// Order: secure.yaml over clouds.yaml over the profile; a region's `values` over all of them. Of
// `regions` the one that region_name names counts, else the first.
// Auth types: password, application credential, token (their v3 names too); others are refused.
// An error names file and key, never a value that could be a secret.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"

namespace cohort::openstack {

enum class AuthType { password, application_credential, token };

struct CloudConfig {
    std::string name;
    std::string file;  // for messages

    AuthType auth_type = AuthType::password;
    std::string auth_url;
    std::string user_id, username, user_domain_id, user_domain_name, password;
    std::string project_id, project_name, project_domain_id, project_domain_name;
    std::string domain_id, domain_name, system_scope;
    std::string application_credential_id, application_credential_name;
    std::string application_credential_secret;
    std::string token;

    std::string region;                // empty: the catalog must have one
    std::string interface = "public";  // public, internal or admin
    // For one service only, by its type ("compute", "image").
    std::map<std::string, std::string> service_region, service_interface, endpoint_override;

    bool verify = true;
    std::string cacert, cert, key;                    // paths, ~ expanded
    std::optional<std::chrono::seconds> api_timeout;  // total time of one request
};

// NAME empty: the only cloud of the file.
Result<CloudConfig> load_cloud(const std::string& path, const std::string& name);

// The same on texts, for tests and fuzzing. A text that is empty counts as an absent file.
struct CloudTexts {
    std::string file = "clouds.yaml", secure_file = "secure.yaml",
                vendors_file = "clouds-public.yaml";
    std::string clouds, secure, vendors;
    std::string home;  // what ~ stands for; empty: ~ is refused
};
Result<CloudConfig> parse_cloud(const CloudTexts& texts, const std::string& name);

}  // namespace cohort::openstack
