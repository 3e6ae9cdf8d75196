// SPDX-License-Identifier: GPL-2.0-or-later
//
// CacheToken=yes: the token and its catalog in one file of StateDir, so that a rebuild job does
// not sign in each time. Mode 0600, owned by the calling user; a file that is anybody else's,
// readable by others, unreadable, or made with another credential counts as absent.
#pragma once

#include <memory>
#include <string>

#include "common/openstack/clouds.hpp"
#include "common/openstack/keystone.hpp"

namespace cohort::openstack {

// nullptr: none that can be used.
std::shared_ptr<const Token> read_token_cache(const std::string& path, const CloudConfig& config);
Status write_token_cache(const std::string& path, const CloudConfig& config, const Token& token);

}  // namespace cohort::openstack
