// SPDX-License-Identifier: GPL-2.0-or-later
//
// The sealed task profile, schema 1: what tasks on this node get, and the revision it belongs to.
//
// Eight files of text and a seal:
//   schema     "1"                      settings  canonical text of the revision
//   env-ref    "owner/name:generation"  mode      how the environment was activated
//   image      image pinned by digest,  env-path  where the realized environment is
//              or a VM's stamp
//   path       PATH entries, one a line, in order, each below env-path
//   vars       NAME=value, one a line, sorted; NAME alone: allowed, but was not set
//   revision   the hash of settings, then "<sha256> <size> <name>" per file, then "end 8"
// A site without Flox has empty env-ref, mode, env-path, path and vars. Pure; the files themselves
// are profile_store.hpp's.
//
// Refuses: other files, more than 64 KiB in one or 256 KiB in all, NUL, CR, values of more than a
// line, names that common/profile_names.hpp does not allow, and a profile whose files say something
// else than its settings.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/result.hpp"
#include "common/revision.hpp"

namespace cohort {

inline constexpr std::string_view profile_schema = "1";
inline constexpr std::string_view seal_name = "revision";
inline constexpr std::size_t max_profile_file = 64 * 1024;
inline constexpr std::size_t max_profile_total = 256 * 1024;

// The sealed files in the order of the seal's lines, and of their writing.
inline constexpr std::array<std::string_view, 8> profile_file_names = {
    "schema", "settings", "env-ref", "mode", "image", "env-path", "path", "vars"};

struct Profile {
    RevisionSettings settings;
    std::string env_ref;
    std::string mode;
    std::string image;
    std::string env_path;
    std::vector<std::string> path;
    std::vector<std::pair<std::string, std::string>> vars;
    std::vector<std::string> unset;  // allow-listed variables that were not set
    std::string hash;                // of the canonical settings, 64 hex digits

    std::string revision() const { return revision_name(hash); }
    bool operator==(const Profile&) const = default;
};

// File name -> content, without the seal.
using ProfileFiles = std::map<std::string, std::string, std::less<>>;

// The files of PROFILE (its hash is not looked at), after the same checks as reading makes.
Result<ProfileFiles> profile_files(const Profile& profile);

// The seal over FILES.
std::string make_seal(const ProfileFiles& files);

// FILES as they were read, judged by SEAL; each kind of damage has a sentence of its own.
Result<Profile> open_profile(const ProfileFiles& files, std::string_view seal);

// True for the names of the eight files and the seal.
bool is_profile_file(std::string_view name);

}  // namespace cohort
