// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/job_submit/guard/guard_world.hpp"

#include <algorithm>

#include "common/text.hpp"

namespace cohort {

JobTable::JobTable(std::vector<Job> jobs, Time began) : jobs_(std::move(jobs)), began_(began) {
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
        const Job& job = jobs_[i];
        if (!job.pending) continue;
        by_text_[job.id_text].push_back(i);
        by_number_[job.id].push_back(i);
        if (job.array_id != 0 && job.array_id != job.id) by_number_[job.array_id].push_back(i);
        if (job.het_id != 0 && job.het_id != job.id) by_number_[job.het_id].push_back(i);
    }
}

std::vector<const Job*> JobTable::find(const std::string& id) const {
    std::vector<const Job*> found;
    const auto take = [&](const auto& index, const auto& key) {
        if (const auto at = index.find(key); at != index.end())
            for (const auto i : at->second) found.push_back(&jobs_[i]);
    };
    // An array's tasks may be one record or several: each that could be meant is judged.
    const auto end = id.find_first_not_of("0123456789");
    const auto number = text::to_number(id.substr(0, end));
    if (end != std::string::npos) take(by_text_, id);
    if (found.empty() && number) take(by_number_, static_cast<std::uint32_t>(*number));
    return found;
}

bool all_uniform(const guard::GuardView& view) {
    return std::ranges::all_of(view.cohorts(), [](const guard::Cohort& cohort) {
        return !cohort.guarded() || (cohort.uniform && !cohort.open);
    });
}

}  // namespace cohort
