// SPDX-License-Identifier: GPL-2.0-or-later
//
// What this project keeps in a node's Extra (JSON, at most 512 bytes, other keys left alone), and
// the feature list that goes with it.
//
//   cohort_rev   the published revision ("rev_<16hex>"); absent = unlabelled or withdrawn
//   cohort_root  identity of the root content that published it (16 hex digits)
//   cohort_want  {image, stamp, rev, act, request, at, from, root, result}: what the last attempt
//   was to
//                make of the node, and how the cloud's action ended
//   cohort_hold  whose hold keeps the node out until that lifts it ("barrier 3"), whatever the
//   reason says cohort_out   the reason why we took the node out of service (26.05 can lose Slurm's
//   own)
//
// Pure values; the one writer is common/slurm/node_writer.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/result.hpp"

namespace cohort {

constexpr std::size_t max_extra_bytes = 512;

// How the cloud's action ended, as written into cohort_want.result: "" while it runs, "ok", or
// "failed: <sentence>".
inline constexpr std::string_view result_ok = "ok";
inline constexpr std::string_view result_failed = "failed";

struct Want {
    std::string image;     // UUID of the image the node is to run
    std::string stamp;     // what that image says of itself from inside; empty: it carries none
    std::string revision;  // "rev_..." expected; empty: not known before the node has booted
    std::string action;    // "rebuild" or "reboot"
    std::string request;   // nova's request id of the POST; empty before it was sent
    std::int64_t at = 0;   // when the attempt began, seconds since the epoch, controller's clock
    std::string from;      // the label that it withdrew; empty: the node had none
    std::string root;      // cohort_root before the attempt; empty: unknown
    std::string result;

    bool pending() const { return result.empty(); }
    bool succeeded() const { return result == result_ok; }
    bool has_failed() const { return !pending() && !succeeded(); }
    bool operator==(const Want&) const = default;
};

struct NodeRecord {
    std::string revision;  // empty: unlabelled or withdrawn
    std::string root;
    std::string out_reason;
    std::string hold;
    std::optional<Want> want;

    bool withdrawn() const { return revision.empty() && want.has_value(); }
    bool operator==(const NodeRecord&) const = default;
};

// An empty Extra is an empty record. Errc::invalid: Extra is not a JSON object (a site uses it for
// something else): it must never be overwritten and the node counts as unlabelled.
Result<NodeRecord> parse_extra(std::string_view extra);

// EXTRA with our keys replaced by RECORD and every other key kept. Refuses an Extra that is not a
// JSON object. When the text would pass 512 bytes our reason and result texts are shortened; when
// it still does, that is an error.
Result<std::string> merge_extra(std::string_view extra, const NodeRecord& record);

// The site's own features of FEATURES (comma-separated) with REVISION as the only revision name
// (none when empty). Order of the site's features is kept.
std::string merge_features(std::string_view features, std::string_view revision);

// Reasons of ours begin with this; a drain or a FAIL without it is never cleared.
inline constexpr std::string_view reason_prefix = "cohort: ";
bool is_our_reason(std::string_view reason);

// The reason, without the prefix, of a node that HOLD ("barrier 3") keeps out.
std::string hold_reason(std::string_view hold);

}  // namespace cohort
