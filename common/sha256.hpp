// SPDX-License-Identifier: GPL-2.0-or-later
//
// SHA-256 as 64 lower-case hexadecimal digits.
#pragma once

#include <string>
#include <string_view>

namespace cohort {

std::string sha256_hex(std::string_view data);

}  // namespace cohort
