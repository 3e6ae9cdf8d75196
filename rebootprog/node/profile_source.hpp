// SPDX-License-Identifier: GPL-2.0-or-later
//
// What `cohort-node profile write` makes a profile of: the image's own settings, the image's own
// stamp, and the activated Flox environment that it runs in. Nothing else: no network, no Slurm.
//
// Of the process's environment only FLOX_ENV, PATH and the allow-listed variables are looked at.
// Refuses: an image that is not pinned by digest (on a VM it is left out: the stamp stands for it),
// an activated environment that the settings do not name and the reverse, and a realized path that
// is not there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/profile.hpp"
#include "common/result.hpp"
#include "rebootprog/node/worker_settings.hpp"

namespace cohort {

struct ProfileSource {
    RevisionSettings settings;  // as the image or the container says
    std::string stamp;          // the image's own; empty: it carries none
    Environment environment;
    bool require_exports = false;  // an allow-listed variable that is not set is an error
};

// Settings as they enter the revision: the image or the stamp filled in, normalised.
Result<RevisionSettings> sealed_settings(const RevisionSettings& settings, std::string_view stamp);

// "repository:tag@sha256:<64 hex>"
bool is_pinned_image(std::string_view image);

// The PATH entries that lie in FLOX_ENV (as named there or realized), as entries of REALIZED.
std::vector<std::string> entries_of_environment(std::string_view path, std::string_view flox_env,
                                                std::string_view realized);

Result<Profile> make_profile(const ProfileSource& source);

}  // namespace cohort
