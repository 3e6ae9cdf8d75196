// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctime>
#include <map>

#include "rebootprog/rollout/plan_make.hpp"

namespace cohort {

Result<std::vector<RolloutNode>> rows_of(const PlanData& data, const Journal& journal) {
    const auto latest = journal.latest_attempts();
    if (!latest) return tl::unexpected(latest.error());
    std::map<std::string, std::int64_t> attempts;
    for (const auto& attempt : *latest) attempts[attempt.node] = attempt.id;
    std::vector<RolloutNode> rows;
    for (const auto& plan : data.nodes) {
        if (!plan.changes()) continue;
        RolloutNode row;
        row.node = plan.node.name;
        row.position = std::ssize(rows);
        row.direct = plan.direct;
        row.image_from = plan.actual;
        row.image_to = plan.image;
        row.file_image = plan.file_image;
        row.explicit_image = plan.explicit_image;
        row.planned = std::time(nullptr);
        if (const auto at = attempts.find(row.node); at != attempts.end())
            row.after_attempt = at->second;
        rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace cohort
