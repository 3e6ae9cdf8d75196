// SPDX-License-Identifier: GPL-2.0-or-later
//
// One cloud's merged settings, as YAML values, into a CloudConfig: aliases, types, defaults and
// what is refused. Pure. Private to the loader of clouds.yaml.
#pragma once

#include <string>

#include "common/openstack/clouds.hpp"
#include "common/openstack/yaml_tree.hpp"

namespace cohort::openstack {

struct CloudOrigin {
    std::string name, file, home;
};

Result<CloudConfig> read_cloud_fields(YamlTree cloud, const CloudOrigin& origin);

// A password, secret or token is among the fields of CLOUD (or of its regions).
bool has_secret_field(const YamlTree& cloud);

}  // namespace cohort::openstack
