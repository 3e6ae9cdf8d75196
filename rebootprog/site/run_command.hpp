// SPDX-License-Identifier: GPL-2.0-or-later
//
// Runs a site's program: an argument vector, never a shell, and never longer than a limit.
//
// The child gets /dev/null as input, this process's environment plus what is given, and a process
// group of its own, which is killed as a whole when the limit passes. Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "common/result.hpp"

namespace cohort {

struct Command {
    std::vector<std::string> words;  // the first is the program: an absolute path, or found in PATH
    std::vector<std::pair<std::string, std::string>> environment;  // over this process's
    std::chrono::seconds limit{60};
    std::size_t max_bytes = 16 << 20;  // of its standard output; more is an error
};

struct CommandResult {
    int status = 0;      // its exit status; 128 + N when signal N ended it
    std::string output;  // standard output
    std::string errors;  // the end of its standard error, one line

    // What it said of its failure, for a person.
    std::string complaint() const;
};

// Errc::failed: it could not be started or wrote too much; Errc::busy: the limit has passed.
Result<CommandResult> run_command(const Command& command);

}  // namespace cohort
