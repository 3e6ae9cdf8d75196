// SPDX-License-Identifier: GPL-2.0-or-later
//
// How a verb ends that cannot go on: the sentence on stderr and in syslog, and the exit code.
#pragma once

#include "common/log.hpp"
#include "common/result.hpp"

namespace cohort {

inline int report(const Error& error) {
    log::error("{}", error.message);
    return exit_code_of(error.code);
}

}  // namespace cohort
