// SPDX-License-Identifier: GPL-2.0-or-later
//
// Fills a View (view.hpp) from slurmctld, the journal and StateDir: two RPCs side by side, one
// where advance has kept what the views need of the jobs (queue_digest.hpp). Reads only.
#pragma once

#include <cstdint>

#include "common/result.hpp"
#include "rebootprog/journal/journal.hpp"
#include "rebootprog/site/site.hpp"
#include "rebootprog/view/view.hpp"

namespace cohort {

// ROLLOUT 0: the newest that is under way, else the newest. Errc::not_found: no such rollout.
Result<View> collect_view(const Site& site, const Journal& journal, std::int64_t rollout);

}  // namespace cohort
