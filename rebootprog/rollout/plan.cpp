// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/rollout/plan.hpp"

#include <ctime>

#include <fmt/chrono.h>

#include "common/log.hpp"
#include "common/slurm/load.hpp"
#include "rebootprog/journal/journal.hpp"
#include "rebootprog/report_error.hpp"
#include "rebootprog/view/table.hpp"

namespace cohort {
namespace {

std::string clock_time(std::int64_t at) {
    return at == 0 ? "" : fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(at));
}

std::string or_dash(const std::string& text) {
    return text.empty() ? "-" : text;
}

std::string image_text(const std::string& id, const std::string& name) {
    return or_dash(name.empty() ? id : name);
}

std::string job_text(const NodePlan& plan) {
    if (plan.job.empty()) return "-";
    return plan.job_end == 0 ? plan.job
                             : fmt::format("{} until {}", plan.job, clock_time(plan.job_end));
}

}  // namespace

int plan(const Site& site, const Choice& choice, bool json) {
    auto journal = Journal::open(site.state_dir);
    if (!journal) return report(journal.error());
    const auto data = make_plan(site, *journal, choice);
    if (!data) return report(data.error());
    Table table{"plan",
                {"NODE", "STATE", "LABEL", "ACTUAL", "DESIRED", "TO_LABEL", "JOB", "RESERVATION",
                 "VERDICT", "WHY"},
                {}};
    for (const auto& one : data->nodes)
        table.rows.push_back(
            {one.node.name, one.node.state.text(), or_dash(one.node.record.revision),
             json ? one.actual : image_text(one.actual, one.actual_name),
             json ? one.image : image_text(one.image, one.image_name), or_dash(one.revision),
             job_text(one), or_dash(one.reservation), name_of(one.verdict), one.why});
    print_table(table, json);
    if (!data->unlabelled.empty() && !json)
        log::warning("{} nodes carry no label: 'scohort adopt' first, or 'scohort rebuild' refuses",
                     data->unlabelled.size());
    return exit_code::ok;
}

}  // namespace cohort
