// SPDX-License-Identifier: GPL-2.0-or-later
//
// The mark that the job_submit plugin leaves in a rebuild job's admin_comment (JSON, which users
// cannot set), and by which every other part recognises the job. Never a name or a comment.
//
//   {"cohort":{"kind":"rebuild","node":"n1","priority":4294901760,"held":"pending","rollout":3}}
//
// priority is what the job gets when it is released; held says why we hold it ("" when we do not):
// "pending" (too many wait), "concurrent" (too many would start), "breaker" (cloud out of reach),
// "config" (no usable configuration), "rollout" (its rollout's limits). Other keys of the object
// are kept.
//
// `scohort rebuild` asks for such a job by {"cohort":{"kind":"rollout","rollout":3}} in the
// admin_comment that it submits; with "test":true nothing is to be left behind. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cohort {

struct RebuildMark {
    std::string node;
    std::uint32_t priority = 0;  // 0: the one that Slurm computes
    std::string held;
    std::int64_t rollout = 0;  // 0: submitted by hand
    bool operator==(const RebuildMark&) const = default;
};

// Nothing when the comment is not one of ours.
std::optional<RebuildMark> parse_mark(std::string_view admin_comment);

// ADMIN_COMMENT with the mark put in. A comment that is not a JSON object is kept as the member
// "comment" of the new one.
std::string write_mark(std::string_view admin_comment, const RebuildMark& mark);

inline constexpr std::string_view held_by_rollout = "rollout";

// In the plugin's answer when the node of a rebuild job has another one.
inline constexpr std::string_view second_rebuild_job = "has a rebuild job already";

struct RolloutAsk {
    std::int64_t rollout = 0;
    bool test = false;  // --test-only
};
// Nothing when it does not ask. The plugin listens to trusted callers only.
std::optional<RolloutAsk> parse_ask(std::string_view admin_comment);
std::string write_ask(const RolloutAsk& ask);

// ADMIN_COMMENT without the mark: for a job that is no rebuild job and must not look like one.
// Anything else comes back as it was.
std::string remove_mark(std::string_view admin_comment);

}  // namespace cohort
