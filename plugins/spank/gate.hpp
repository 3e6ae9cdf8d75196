// SPDX-License-Identifier: GPL-2.0-or-later
//
// May a job run on this node? Looking (files) and judging (pure) are apart.
//
// profile=required: the sealed profile must be whole and its revision the one that join published
// in this boot. profile=off: the image's stamp must be the published one; a node without a stamp on
// which nothing was published has nothing to compare and passes. With expect_revision= a node on
// which nothing was published passes when its own revision is the expected one. A job bound
// to revisions (SLURM_JOB_CONSTRAINTS) must name this one. Every refusal is one sentence.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/profile_store.hpp"
#include "common/published.hpp"
#include "common/result.hpp"
#include "plugins/spank/arguments.hpp"

namespace cohort::spank {

// What the node shows, read once.
struct View {
    Result<Profile> profile = fail(Errc::not_found, "not looked at");
    Result<Published> published = fail(Errc::not_found, "not looked at");
    std::string boot_id;
    std::string stamp;  // read with profile=off only
};

// Where a look goes (a test says its own).
struct Places {
    RuntimeDirectory runtime;
    uid_t profile_owner = 0;
    std::vector<std::string> os_release = {"/etc/os-release", "/usr/lib/os-release"};
};

// Reads the files. PAUSE is called between two looks while nothing is published yet, or the profile
// is being rewritten; it returns false when the patience is over.
View look(const Arguments& arguments, const Places& places, const std::function<bool()>& pause);

// The revision that tasks get here, or why none may run.
Result<std::string> judge(const Arguments& arguments, const View& view);

// CONSTRAINTS: features as Slurm writes them, "gpu&[rev_a|rev_b]"; those without a revision's name
// bind nothing.
Status judge_constraints(std::string_view revision, std::string_view constraints);

// The revisions' names in CONSTRAINTS.
std::vector<std::string> revisions_in(std::string_view constraints);

}  // namespace cohort::spank
