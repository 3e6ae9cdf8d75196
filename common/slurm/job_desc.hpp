// SPDX-License-Identifier: GPL-2.0-or-later
//
// Reading and changing a job description inside a job_submit hook.
//
// The description belongs to slurmctld, which frees every string in it with its own allocator: all
// texts go in through slurm_xstrdup. Nothing here throws, blocks or calls slurmctld. One hook call
// at a time owns a description.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/slurm/compat.hpp"

namespace cohort::slurm {

// Replaces FIELD; an empty TEXT makes it NULL.
void set_text(char*& field, std::string_view text) noexcept;

// Nothing when Slurm's "not given" stands there.
inline std::optional<std::uint32_t> given(std::uint32_t value) noexcept {
    return value == NO_VAL ? std::nullopt : std::optional(value);
}

// The variables for prolog and SPANK. Slurm puts "SPANK_" before a name that does not begin with
// it, so both spellings of NAME are the same variable there.
void remove_spank_variable(job_desc_msg_t& job, std::string_view name) noexcept;
void add_spank_variable(job_desc_msg_t& job, std::string_view name, std::string_view value);

}  // namespace cohort::slurm
