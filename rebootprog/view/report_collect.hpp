// SPDX-License-Identifier: GPL-2.0-or-later
//
// Fills a Report (report.hpp): the view, the journal's events, users' jobs from slurmctld and,
// where there is one, slurmdbd. Reads only.
#pragma once

#include <cstdint>

#include "common/result.hpp"
#include "rebootprog/site/site.hpp"
#include "rebootprog/view/report.hpp"

namespace cohort {

// ROLLOUT 0: the newest that is under way, else the newest. Errc::not_found: there is none.
Result<Report> collect_report(const Site& site, const Journal& journal, std::int64_t rollout);

}  // namespace cohort
