// SPDX-License-Identifier: GPL-2.0-or-later
//
// The verbs of cohort-node that concern the runtime: profile write, profile check, revision,
// report.
//
// Each prints to stdout what was asked for, to the log what went wrong, and returns the program's
// exit code.
#pragma once

#include <string>

#include "common/profile_store.hpp"
#include "common/result.hpp"
#include "common/settings.hpp"
#include "rebootprog/node/profile_source.hpp"

namespace cohort {

struct ProfileOptions {
    bool from_env = false;      // WORKER_ variables instead of a settings file
    std::string settings_file;  // empty: cohort-runtime.conf beside slurm.conf, when it is there
    bool require_exports = false;
    bool json = false;
    bool slurmd = false;         // revision: print what a dynamic node's slurmd is started with
    bool own = false;            // revision: print the label of what runs here, from files alone
    std::string conf, features;  // of that: the site's own keys and features
    std::string directory;       // empty: what plugstack.conf of this node says (node_gate.hpp)
};

// The profile that this node's own image and environment make.
Result<Profile> profile_of_this_node(const Settings& site, const ProfileOptions& options);

int node_profile_write(const Settings& site, const ProfileOptions& options);
// Exit 0: whole and sealed, and (when this boot has published) the one that was published.
int node_profile_check(const ProfileOptions& options);
// Canonical text, hash and name: of the sealed profile, else of what this node would seal.
int node_revision(const Settings& site, const ProfileOptions& options);
// Puts what the launch gate left in /run/cohort/refused on this node as the reason of a drain, then
// clears it. Slurm's own "Prolog error" becomes readable and ours to lift.
int node_report();

}  // namespace cohort
