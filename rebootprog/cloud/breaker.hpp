// SPDX-License-Identifier: GPL-2.0-or-later
//
// The breaker: <StateDir>/breaker exists while the cloud is out of reach.
//
// {"opened": <seconds since the epoch>, "reason": "...", "by": "cohort-reboot n3"}. Opened at the
// first cloud fault of any process; while it is open no rebuild job is started or released. It is
// closed when a probe succeeds. All writes replace the file as a whole; the first opener's reason
// is kept. A file that cannot be read or understood counts as open: the safe side.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/result.hpp"

namespace cohort {

struct Breaker {
    std::int64_t opened = 0;
    std::string reason;
    std::string by;
};

// Nothing: closed.
std::optional<Breaker> read_breaker(const std::string& state_dir);

// True: this call opened it; false: it was open already.
Result<bool> open_breaker(const std::string& state_dir, const Breaker& breaker);

// True: this call closed it; false: it was closed already.
Result<bool> close_breaker(const std::string& state_dir);

}  // namespace cohort
