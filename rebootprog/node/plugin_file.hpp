// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a plugin's file says of itself, read from the ELF file and not by loading it: our plugins
// bind at load time to symbols that only Slurm's own processes have.
#pragma once

#include <cstdint>
#include <string>

#include "common/result.hpp"

namespace cohort {

// plugin_version (SLURM_VERSION_NUMBER) of the plugin at PATH; links are followed.
// Errc::not_found: no such file. Errc::invalid: not a plugin of this machine's kind.
Result<std::uint32_t> plugin_version_of(const std::string& path);

}  // namespace cohort
