// SPDX-License-Identifier: GPL-2.0-or-later
//
// The runtime revision: one name for everything that changes what a task sees or what capacity a
// node advertises.
//
// Canonical text: a first line "flox-runtime-revision/1", then "key=<byte length>:<value>" lines in
// a fixed order for the keys that are set; revision = SHA-256 of it. Keys that a site does not set
// are absent; an explicitly empty value is present. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"

namespace cohort {

// The keys in canonical order.
const std::vector<std::string_view>& revision_keys();

// Raw settings: key -> value as a person wrote it.
using RevisionSettings = std::map<std::string, std::string, std::less<>>;

// Canonical text of SETTINGS. Refuses (naming key and reason): unknown keys, control characters,
// and values that are not of the key's kind.
Result<std::string> canonical_settings(const RevisionSettings& settings);

// 64 hexadecimal digits.
std::string revision_hash(std::string_view canonical_text);

// "rev_" and the first 16 digits: the name of a feature. Safe in Slurm's constraint grammar.
std::string revision_name(std::string_view hash);

// True for a name that revision_name() can have made.
bool is_revision_name(std::string_view name);

// The revision of a plain VM: only its image's stamp is known.
std::string revision_name_of_stamp(const std::string& stamp);

}  // namespace cohort
