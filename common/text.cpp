// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/text.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>

#include <fmt/core.h>

namespace cohort::text {
namespace {

constexpr std::string_view white = " \t\r\n\v\f";

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t above = row[j];
            row[j] =
                std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
            diagonal = above;
        }
    }
    return row[b.size()];
}

}  // namespace

std::string_view trim(std::string_view s) {
    const auto first = s.find_first_not_of(white);
    if (first == std::string_view::npos) return {};
    return s.substr(first, s.find_last_not_of(white) - first + 1);
}

std::vector<std::string> split(std::string_view s, char separator) {
    std::vector<std::string> pieces;
    while (true) {
        const auto at = s.find(separator);
        const auto piece = trim(s.substr(0, at));
        if (!piece.empty()) pieces.emplace_back(piece);
        if (at == std::string_view::npos) return pieces;
        s.remove_prefix(at + 1);
    }
}

std::vector<std::string> words(std::string_view s) {
    std::vector<std::string> found;
    while (true) {
        s = trim(s);
        if (s.empty()) return found;
        const auto end = s.find_first_of(white);
        found.emplace_back(s.substr(0, end));
        if (end == std::string_view::npos) return found;
        s.remove_prefix(end);
    }
}

std::string join(const std::vector<std::string>& pieces, std::string_view separator) {
    std::string out;
    for (const auto& piece : pieces) {
        if (!out.empty()) out += separator;
        out += piece;
    }
    return out;
}

std::string lower(std::string_view s) {
    std::string out(s);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return out;
}

bool iequals(std::string_view a, std::string_view b) {
    return lower(a) == lower(b);
}

std::optional<std::uint64_t> to_number(std::string_view s) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
    if (error != std::errc{} || end != s.data() + s.size() || s.empty()) return std::nullopt;
    return value;
}

std::optional<std::chrono::milliseconds> to_duration(std::string_view s) {
    s = trim(s);
    const auto unit_at = std::min(s.find_first_not_of("0123456789"), s.size());
    const auto count = to_number(s.substr(0, unit_at));
    if (!count || *count > 1000000000ULL) return std::nullopt;
    const auto n = static_cast<std::int64_t>(*count);
    const std::string unit = lower(trim(s.substr(unit_at)));
    if (unit == "ms") return std::chrono::milliseconds(n);
    if (unit.empty() || unit == "s") return std::chrono::seconds(n);
    if (unit == "min" || unit == "m") return std::chrono::minutes(n);
    if (unit == "h") return std::chrono::hours(n);
    if (unit == "d") return std::chrono::hours(24 * n);
    return std::nullopt;
}

std::string duration(std::chrono::seconds s) {
    const auto n = s.count();
    if (n < 120) return fmt::format("{} s", n);
    if (n < 7200) return fmt::format("{} min {} s", n / 60, n % 60);
    return fmt::format("{} h {} min", n / 3600, n / 60 % 60);
}

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& known) {
    std::string_view best;
    std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
    for (const auto candidate : known) {
        const auto distance = edit_distance(lower(word), lower(candidate));
        if (distance < best_distance) {
            best_distance = distance;
            best = candidate;
        }
    }
    return best;
}

std::string one_line(std::string_view s, std::size_t max_bytes) {
    std::string out(trim(s));
    for (char& c : out)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    if (out.size() <= max_bytes) return out;
    std::size_t end = max_bytes < 3 ? 0 : max_bytes - 3;
    while (end > 0 && (static_cast<unsigned char>(out[end]) & 0xc0) == 0x80) --end;
    out.resize(end);
    return out + "...";
}

}  // namespace cohort::text
