// SPDX-License-Identifier: GPL-2.0-or-later
//
// Small pure functions on text: trimming, splitting, numbers, durations, the nearest known word.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::text {

std::string_view trim(std::string_view s);

// Pieces between SEPARATOR, trimmed; empty pieces are dropped.
std::vector<std::string> split(std::string_view s, char separator);
// Pieces between white space.
std::vector<std::string> words(std::string_view s);
std::string join(const std::vector<std::string>& pieces, std::string_view separator);
std::string lower(std::string_view s);
bool iequals(std::string_view a, std::string_view b);

// Decimal digits only; nothing else before or after.
std::optional<std::uint64_t> to_number(std::string_view s);

// "45", "45s", "500ms", "30min", "2h", "1d"; a bare number counts seconds.
std::optional<std::chrono::milliseconds> to_duration(std::string_view s);
// "90 s", "1 h 5 min" for people.
std::string duration(std::chrono::seconds s);

// The element of KNOWN that is most like WORD, or empty when none is near.
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& known);

// One line for a person: control characters become spaces, at most MAX_BYTES (cut at a character
// boundary of UTF-8, marked by "...").
std::string one_line(std::string_view s, std::size_t max_bytes);

}  // namespace cohort::text
