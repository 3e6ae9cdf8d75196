// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the programs share in reading their command lines with CLI11.
#pragma once

#include <CLI/CLI.hpp>

#include "common/result.hpp"

namespace cohort {

// CLI11 has exit codes of its own; ours: 0 after --help, else 2.
inline int usage_exit(const CLI::App& app, const CLI::ParseError& error) {
    return app.exit(error) == 0 ? exit_code::ok : exit_code::usage;
}

}  // namespace cohort
