// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the guard remembers of a job, in its admin_comment (JSON, which users cannot set):
//
//   {"cohort":{"kind":"bound","features":"gpu","prefer":"","now":"gpu&[rev_a|rev_b]",
//              "now_prefer":"","held":""}}
//
// features and prefer are the user's own; now and now_prefer what we made of them: when the job has
// other ones, somebody has changed it since. held says why we hold the job ("" = we do not):
// "cold", "rule", "size", "span", "gate". rounds: how often cohort-gate has sent it back because
// its allocation spanned; restart: and nobody has let it start again yet. kind "own": an
// administrator has taken our bound off; we leave the job alone. Other keys of the object are kept.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cohort::guard {

struct Mark {
    bool own = false;
    std::string features, prefer;
    std::string now, now_prefer;
    std::string held;
    std::uint32_t rounds = 0;
    bool restart = false;
    bool operator==(const Mark&) const = default;
};

// Nothing when the comment has no mark of the guard.
std::optional<Mark> parse_guard_mark(std::string_view admin_comment);
// A comment that is no JSON object is kept as the member "comment".
std::string write_guard_mark(std::string_view admin_comment, const Mark& mark);
// The comment as it was before.
std::string remove_guard_mark(std::string_view admin_comment);

}  // namespace cohort::guard
