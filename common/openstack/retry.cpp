// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/openstack/retry.hpp"

#include <algorithm>
#include <array>
#include <ctime>

#include "common/text.hpp"

namespace cohort::openstack {
namespace {

using std::chrono::system_clock;

constexpr std::array<std::string_view, 12> months = {"jan", "feb", "mar", "apr", "may", "jun",
                                                     "jul", "aug", "sep", "oct", "nov", "dec"};

constexpr std::chrono::seconds longest_wait{365LL * 86400};
constexpr std::time_t latest_date = 9'000'000'000;  // in 2255

std::optional<int> month_of(std::string_view word) {
    const auto at = std::find(months.begin(), months.end(), text::lower(word));
    if (at == months.end()) return std::nullopt;
    return static_cast<int>(at - months.begin());
}

std::optional<int> small_number(std::string_view s, int low, int high) {
    if (s.empty() || s.size() > 4) return std::nullopt;
    const auto n = text::to_number(s);
    if (!n || *n < static_cast<std::uint64_t>(low) || *n > static_cast<std::uint64_t>(high))
        return std::nullopt;
    return static_cast<int>(*n);
}

// "01:26:29" into T.
bool read_clock(std::string_view s, std::tm& t) {
    const auto pieces = text::split(s, ':');
    if (pieces.size() != 3) return false;
    const auto hour = small_number(pieces[0], 0, 23);
    const auto minute = small_number(pieces[1], 0, 59);
    const auto second = small_number(pieces[2], 0, 60);
    if (!hour || !minute || !second) return false;
    t.tm_hour = *hour;
    t.tm_min = *minute;
    t.tm_sec = *second;
    return true;
}

bool read_date(std::string_view year, std::string_view month, std::string_view day, std::tm& t) {
    const auto m = month_of(month);
    const auto d = small_number(day, 1, 31);
    auto y = small_number(year, 0, 9999);
    if (!m || !d || !y) return false;
    if (year.size() == 2) y = *y + (*y < 70 ? 2000 : 1900);  // RFC 850
    t.tm_year = *y - 1900;
    t.tm_mon = *m;
    t.tm_mday = *d;
    return true;
}

}  // namespace

std::optional<system_clock::time_point> parse_http_date(std::string_view value) {
    // "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"
    auto w = text::words(value);
    std::tm t{};
    bool ok = false;
    if (w.size() == 6 && w[0].ends_with(',') && w[5] == "GMT")
        ok = read_date(w[3], w[2], w[1], t) && read_clock(w[4], t);
    else if (w.size() == 4 && w[0].ends_with(',') && w[3] == "GMT") {
        const auto d = text::split(w[1], '-');
        ok = d.size() == 3 && read_date(d[2], d[1], d[0], t) && read_clock(w[2], t);
    } else if (w.size() == 5)
        ok = read_date(w[4], w[1], w[2], t) && read_clock(w[3], t);
    if (!ok) return std::nullopt;
    // The clock counts nanoseconds: it ends in the year 2262.
    return system_clock::from_time_t(std::clamp(::timegm(&t), std::time_t{0}, latest_date));
}

std::optional<std::chrono::seconds> parse_retry_after(std::string_view value,
                                                      system_clock::time_point now) {
    value = text::trim(value);
    if (const auto n = text::to_number(value))
        return std::chrono::seconds(std::min<std::uint64_t>(*n, longest_wait.count()));
    const auto when = parse_http_date(value);
    if (!when) return std::nullopt;
    const auto wait = std::chrono::ceil<std::chrono::seconds>(*when - now);
    return std::clamp(wait, std::chrono::seconds(0), longest_wait);
}

std::optional<std::int64_t> parse_iso_time(std::string_view value) {
    if (value.size() < 19 || value[4] != '-' || value[7] != '-' ||
        (value[10] != 'T' && value[10] != ' '))
        return std::nullopt;
    std::tm t{};
    const auto year = small_number(value.substr(0, 4), 1970, 9999);
    const auto month = small_number(value.substr(5, 2), 1, 12);
    const auto day = small_number(value.substr(8, 2), 1, 31);
    if (!year || !month || !day || !read_clock(value.substr(11, 8), t)) return std::nullopt;
    t.tm_year = *year - 1900;
    t.tm_mon = *month - 1;
    t.tm_mday = *day;
    return static_cast<std::int64_t>(::timegm(&t));
}

std::optional<std::int64_t> parse_iso_millis(std::string_view value) {
    const auto whole = parse_iso_time(value);
    if (!whole) return std::nullopt;
    std::int64_t millis = 0, unit = 100;
    if (value.size() > 20 && value[19] == '.')
        for (std::size_t i = 20; i < value.size() && unit > 0; ++i, unit /= 10) {
            if (value[i] < '0' || value[i] > '9') break;
            millis += (value[i] - '0') * unit;
        }
    return *whole * 1000 + millis;
}

std::chrono::milliseconds backoff(unsigned attempt, double random) {
    const auto full = std::int64_t{250} << std::min(attempt == 0 ? 0U : attempt - 1, 5U);
    const auto half = static_cast<double>(full) / 2;
    return std::chrono::milliseconds(full - static_cast<std::int64_t>(half * random));
}

}  // namespace cohort::openstack
