// SPDX-License-Identifier: GPL-2.0-or-later
//
// Proof of what a node runs: pure judgement of values that the node read from its own root.
//
// Strong: the image's own stamp equals the stamp that the wanted image is known to carry.
// Weak (the image carries no stamp): the cloud's action succeeded AND the node booted after the
// attempt began AND (for a rebuild) its root identity changed. Anything less is unproved: the node
// must not run user jobs. "Image matches" or "the job started" prove nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/node_record.hpp"
#include "common/result.hpp"

namespace cohort {

// The three keys of os-release that say which image this is, joined by '/': IMAGE_ID,
// IMAGE_VERSION, BUILD_ID (those that are set). Empty when none is.
std::string stamp_of_os_release(std::string_view os_release);
// First line of a site's own stamp file, trimmed.
std::string stamp_of_file(std::string_view content);

struct Observed {
    std::string stamp;           // empty: none
    std::string root;            // root identity, 16 hex digits
    std::int64_t boot_time = 0;  // seconds since the epoch
};

enum class Proof {
    strong,
    weak,
    pending,   // cannot be told yet: the cloud's action has not ended
    unproved,  // the node must go out of service
};

struct Judgement {
    Proof proof = Proof::unproved;
    std::string why;  // one sentence
};

// CLOCK_SLACK: seconds by which the node's clock may be behind the controller's.
Judgement judge(const Want& want, const Observed& observed, bool accept_weak_proof,
                std::int64_t clock_slack = 2);

}  // namespace cohort
