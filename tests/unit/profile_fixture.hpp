// SPDX-License-Identifier: GPL-2.0-or-later
//
// A valid profile, and a scratch directory to keep it in, for the tests of the runtime.
#pragma once

#include <filesystem>
#include <string>

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/profile.hpp"
#include "common/profile_store.hpp"

namespace unit {

// A directory of the test's own, gone with it.
struct Scratch {
    std::string path;
    Scratch() {
        char name[] = "/tmp/cohort-test-XXXXXX";
        path = ::mkdtemp(name);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    cohort::ProfileDirectory profile() const { return {path + "/profile", ::geteuid()}; }
};

inline cohort::RevisionSettings sample_settings() {
    return {{"worker_image",
             "ghcr.io/slinkyproject/slurmd:26.05-ubuntu26.04@sha256:"
             "f06ab7b1ce18b3d59c54c8c6f6b03698a28973d4d8fb30985bd0dfd673bd6dd9"},
            {"flox_env", "flox/echoip"},
            {"flox_generation", "2"},
            {"activate_mode", "run"},
            {"env_exports", "GATK_HOME,TOOL_HOME,UNSET_ONE"},
            {"profile_schema", "1"},
            {"path_precedence", "prepend"}};
}

inline cohort::Profile sample_profile() {
    cohort::Profile profile;
    profile.settings = sample_settings();
    profile.env_ref = "flox/echoip:2";
    profile.mode = "run";
    profile.image = profile.settings["worker_image"];
    profile.env_path = "/flox/env";
    profile.path = {"/flox/env/bin", "/flox/env/sbin"};
    profile.vars = {{"GATK_HOME", "/opt/gatk = é"}, {"TOOL_HOME", ""}};
    profile.unset = {"UNSET_ONE"};
    profile.hash = cohort::revision_hash(*cohort::canonical_settings(profile.settings));
    return profile;
}

// Replaces FILE of the profile without any care for the seal.
inline void overwrite(const cohort::ProfileDirectory& where, const std::string& file,
                      const std::string& content) {
    const std::string path = where.path + "/" + file;
    ::unlink(path.c_str());
    std::FILE* f = std::fopen(path.c_str(), "w");
    std::fwrite(content.data(), 1, content.size(), f);
    std::fclose(f);
    ::chmod(path.c_str(), 0444);
}

}  // namespace unit
