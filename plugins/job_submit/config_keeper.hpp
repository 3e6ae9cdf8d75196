// SPDX-License-Identifier: GPL-2.0-or-later
//
// cohort.conf as the plugin holds it: re-read when the file changes, never worse than the last
// good.
//
// 22.05 keeps the plugin through a reconfigure and later versions start a new process, so the file
// itself is watched (device, inode, size, time). A file that cannot be read or parsed never
// replaces a good one: the copy in memory stays; at the start of a process cohort.conf.good is
// taken, which is kept in StateDir and beside Slurm's own state (there it is found when
// cohort.conf, and with it StateDir, cannot be read). With neither, the policy has no
// configuration. Every change is logged once. Reads files and resolves user names: for the plugin's
// thread and init(), never for a hook. Not thread-safe; what policy() returned is immutable.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "plugins/job_submit/world.hpp"

namespace cohort {

class ConfigKeeper {
  public:
    using UserLookup = std::function<std::optional<std::uint32_t>(const std::string&)>;
    explicit ConfigKeeper(std::string path, UserLookup lookup = {});

    // Looks at the file. DEFAULT_DIR: StateDir when none is set; empty: not known yet.
    void look(const std::string& default_dir);

    // Writes the copies of a good configuration where they differ from it. Only in the active
    // controller, after look().
    void keep_copies();

    std::shared_ptr<const Policy> policy() const { return policy_; }
    // Empty: not known yet.
    std::string state_dir() const;

  private:
    bool changed();
    bool read(const std::string& path, std::string& fault);
    void fall_back(const std::string& fault);
    void keep_copy(const std::string& dir);

    std::string path_;
    UserLookup lookup_;
    std::string default_dir_;
    std::string signature_;
    std::string text_;       // of the configuration in use
    bool copied_ = true;     // nothing to copy
    std::string complaint_;  // the last one about a copy, so that each is logged once
    std::shared_ptr<const Policy> policy_ = std::make_shared<const Policy>();
};

}  // namespace cohort
