// SPDX-License-Identifier: GPL-2.0-or-later
//
// The runtime revision: one name for everything that changes what a task sees or what capacity a
// node advertises.
//
// Canonical text: a first line "flox-runtime-revision/1", then "key=<byte length>:<value>" lines in
// a fixed order for the keys that are set; revision = SHA-256 of it. Keys that a site does not set
// are absent; an explicitly empty value is present where empty means something (skip_containers,
// env_exports, home_path) and refused elsewhere. The number of nodes is no setting of it. Pure.
//
//   worker_image     repository:tag@sha256:digest, or on a VM the image's own stamp
//   flox_env         owner/name; flox_generation pins it (1 and up): both or neither
//   activate_mode    run, dev or build
//   skip_containers  list; never slurmd or flox-task-profile-init, which make the runtime
//   profile_schema   1 and up
//   env_exports      list of variables a profile may carry (common/profile_names.hpp)
//   path_precedence  prepend or append
//   worker_cpus, worker_mem_mb  1 and up
//   home_path        absolute, or empty for none
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

// Canonical text of SETTINGS: lists sorted without doubles, numbers plain, paths without doubled or
// trailing slashes. Refuses (naming key and reason): unknown keys, control characters, values over
// 4096 bytes and values that are not of the key's kind.
Result<std::string> canonical_settings(const RevisionSettings& settings);

// The settings of a canonical text; a text that canonical_settings() would not have made is
// refused.
Result<RevisionSettings> parse_canonical(std::string_view canonical_text);

// 64 hexadecimal digits.
std::string revision_hash(std::string_view canonical_text);

// "rev_" and the first 16 digits: the name of a feature. Safe in Slurm's constraint grammar.
std::string revision_name(std::string_view hash);

// True for a name that revision_name() can have made.
bool is_revision_name(std::string_view name);

// The revision of a plain VM: only its image's stamp is known.
std::string revision_name_of_stamp(const std::string& stamp);

}  // namespace cohort
