// SPDX-License-Identifier: GPL-2.0-or-later
//
// scohort settings get and set: a cohort's wanted runtime settings, kept on the controller because
// a rebuild wipes the node's disk. Each returns the exit code; set is idempotent.
#pragma once

#include <string>
#include <vector>

#include "rebootprog/site/site.hpp"

namespace cohort {

struct SettingsRequest {
    std::string cohort = "default";  // a Cohort= line of cohort.conf, or "default"
    bool from_env = false;           // take the WORKER_ variables of this process too
    bool json = false;
    std::vector<std::string> changes;  // set: KEY=VALUE, KEY- forgets
};

// Prints a settings file (WORKER_ lines, and the revision as a comment where the image is known).
// With from_env the environment's explicit values stand over the kept ones; nothing is kept.
int settings_get(const Site& site, const SettingsRequest& request);

// Keeps what is given explicitly, the environment's values first, then CHANGES; prints as get does.
int settings_set(const Site& site, const SettingsRequest& request);

}  // namespace cohort
