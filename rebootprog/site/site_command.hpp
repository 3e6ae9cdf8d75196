// SPDX-License-Identifier: GPL-2.0-or-later
//
// Runs a site's own program: no shell, a process group of its own, standard input from
// /dev/null, no other descriptor open, a limit for its time and for what it writes. Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"

namespace cohort {

struct CommandEnd {
    int exit_status = -1;  // -1: it did not end by itself
    int signal = 0;
    bool timed_out = false;  // killed, with all that it had started
    bool too_much = false;   // wrote more than it may: killed
    std::string output, errors;

    bool ended() const { return exit_status >= 0; }
};

// MOST_BYTES of standard output; of standard error the end is kept. ENVIRONMENT ("NAME=value"),
// when it is empty: our PATH, HOME and SLURM_CONF, and LANG=C.UTF-8. Errc::unreachable: it could
// not be started at all; nothing has happened.
Result<CommandEnd> run_site_command(const std::vector<std::string>& argv,
                                    std::chrono::seconds limit, std::size_t most_bytes,
                                    std::vector<std::string> environment = {});

// The words of TEMPLATE_TEXT (between blanks) with VALUES ("node" for {node}) put in.
// Errc::invalid: a value would be taken for an option, or holds a control character.
Result<std::vector<std::string>> fill_in(std::string_view template_text,
                                         const std::map<std::string, std::string>& values);

// The last line of TEXT that says anything, shortened; what follows a word such as "password" or
// "token" is not repeated.
std::string last_words(std::string_view text);

}  // namespace cohort
