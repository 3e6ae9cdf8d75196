// SPDX-License-Identifier: GPL-2.0-or-later
//
// A few top-level values of a large YAML file, read as events: the rest is never built, so that
// neither size, nor aliases, nor tags of a whole hostvars dump matter. Private to desired.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"

namespace cohort {

struct RawValue {
    std::string text;
    bool present = false;  // there, and not null
    bool plain = false;    // a scalar, or Ansible's wrapper around one
    bool vaulted = false;
    std::vector<std::string> items;  // of a list of scalars
    bool list = false;
    bool truth = false;  // JSON's true or false: no plain value where an id is wanted
    int count = 1;       // how often the key is there
};

// One value for each of KEYS, in their order. The document must be one mapping.
Result<std::vector<RawValue>> read_yaml_values(std::string_view text, const std::string& file,
                                               const std::vector<std::string>& keys);

}  // namespace cohort
