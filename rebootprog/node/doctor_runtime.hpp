// SPDX-License-Identifier: GPL-2.0-or-later
//
// `scohort doctor`, the part about launch gates: what of Slurm's configuration would let a task run
// without its gate, or make a bad node cost a job. Pure but for the last function.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"

namespace cohort {

struct Finding {
    enum class Level { ok, warning, failure };
    Level level = Level::ok;
    std::string check;  // "PrologFlags"
    std::string text;   // what is so, and what to do
};

struct RuntimeView {
    std::uint32_t slurm_major = 0, slurm_minor = 0;
    bool prolog_alloc = false, prolog_defer_batch = false;  // PrologFlags
    std::string scheduler_parameters;
    std::vector<std::string> plugstack;  // lines of plugstack.conf, included files in their place
    std::uint32_t plugin_version = 0;    // SLURM_VERSION_NUMBER of spank_cohort.so; 0: not found
};

std::vector<Finding> check_runtime(const RuntimeView& view);

// What a node's launch gate asks of its task profile.
struct LaunchGate {
    bool there = false;          // there is a line for spank_cohort.so
    bool needs_profile = false;  // it does not say profile=off
    std::string profile_dir;     // empty: the default
};
LaunchGate launch_gate_of(const std::vector<std::string>& plugstack);

// The lines of PATH (plugstack.conf, or slurm.conf, which has the same lines); `include` lines
// (with shell patterns) are replaced by their files' lines.
Result<std::vector<std::string>> read_plugstack(const std::string& path);

}  // namespace cohort
