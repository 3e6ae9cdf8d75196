// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/cloud/usual_time.hpp"

#include <algorithm>
#include <charconv>

#include "common/file.hpp"
#include "common/text.hpp"

namespace cohort {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds finest{200};
constexpr milliseconds longest{std::chrono::hours(24)};
constexpr std::size_t most_bytes = 64;

}  // namespace

milliseconds until_next_look(milliseconds elapsed, std::optional<milliseconds> usual,
                             milliseconds base) {
    if (!usual) return base;
    const milliseconds due = *usual * 7 / 8, late = *usual * 5 / 4;
    const milliseconds fine = std::min(std::max(finest, *usual / 16), base);
    if (elapsed >= late) return base;
    if (elapsed >= due) return fine;
    return std::clamp(due - elapsed, fine, base);
}

std::string UsualTimes::file_of(const std::string& action) const {
    std::string name = action;
    std::ranges::replace(name, ' ', '-');
    return state_dir_ + "/usual/" + name;
}

UsualTimes::Time& UsualTimes::time_of(const std::string& action) {
    const auto [at, is_new] = times_.try_emplace(action);
    Time& time = at->second;
    if (!is_new || state_dir_.empty()) return time;
    const auto content = read_file(file_of(action), most_bytes);
    if (!content) return time;
    const std::string_view word = text::trim(*content);
    std::int64_t value = 0;
    const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (fault == std::errc() && end == word.data() + word.size() && value > 0 &&
        value <= longest.count())
        time.known = time.kept = milliseconds(value);
    return time;
}

std::optional<milliseconds> UsualTimes::of(const std::string& action) {
    const std::lock_guard lock(mutex_);
    return time_of(action).known;
}

void UsualTimes::learn(const std::string& action, milliseconds took) {
    const std::lock_guard lock(mutex_);
    Time& time = time_of(action);
    const auto now =
        std::clamp(time.known ? (*time.known * 3 + took) / 4 : took, milliseconds(1), longest);
    time.known = now;
    // An eighth is what the looks are fine enough to notice.
    if (state_dir_.empty() || (time.kept && abs(now - *time.kept) <= *time.kept / 8)) return;
    if (!make_directories(state_dir_ + "/usual", 0700)) return;
    if (write_file(file_of(action), std::to_string(now.count()) + "\n", 0600)) time.kept = now;
}

}  // namespace cohort
