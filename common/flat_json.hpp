// SPDX-License-Identifier: GPL-2.0-or-later
//
// A JSON object whose values are all strings, read without a library: what a job's launch has to
// read (the file `published`). jansson would be loaded by srun and by slurmstepd, and each of its
// mappings be copied at each task's fork. Pure.
//
// Strict: what jansson refuses is refused (names given twice, control characters, \u0000), and so
// are values of another type, halves of surrogate pairs and anything after the object. Bytes over
// 0x7f pass as they are.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "common/result.hpp"

namespace cohort {

using FlatJson = std::map<std::string, std::string, std::less<>>;

// Errc::invalid names only the place: the text could be a secret. NAME begins the sentence.
Result<FlatJson> parse_flat_json(std::string_view text, std::string_view name);

// Member KEY; empty when absent.
std::string value_of(const FlatJson& object, std::string_view key);

}  // namespace cohort
