// SPDX-License-Identifier: GPL-2.0-or-later
//
// When to ask again: the Retry-After header and a jittered back-off. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cohort::openstack {

// Seconds ("120") or a date of RFC 9110 (IMF-fixdate, RFC 850, asctime). NOW is the sender's clock
// where its Date header told it. A date in the past means: at once. Nothing when it is neither.
std::optional<std::chrono::seconds> parse_retry_after(std::string_view value,
                                                      std::chrono::system_clock::time_point now);

// A date of RFC 9110.
std::optional<std::chrono::system_clock::time_point> parse_http_date(std::string_view value);

// ISO 8601 as OpenStack writes it ("2018-04-25T01:26:29.074738", with or without Z): UTC.
std::optional<std::int64_t> parse_iso_time(std::string_view value);
// The same in milliseconds.
std::optional<std::int64_t> parse_iso_millis(std::string_view value);

// The wait before attempt ATTEMPT (1, 2, ...): doubles from 250 ms to 8 s, and RANDOM (0..1) takes
// off up to a half, so that many processes do not come back together.
std::chrono::milliseconds backoff(unsigned attempt, double random);

}  // namespace cohort::openstack
