// SPDX-License-Identifier: GPL-2.0-or-later
//
// YAML's plain words for nothing. yaml-cpp's own IsNullString() takes a string up to 0.8 and a
// pointer with a length from 0.9 on.
#pragma once

#include <string_view>

namespace cohort {

constexpr bool is_yaml_null(std::string_view plain) {
    return plain.empty() || plain == "~" || plain == "null" || plain == "Null" || plain == "NULL";
}

}  // namespace cohort
