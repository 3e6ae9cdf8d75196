// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/doctor/doctor.hpp"

#include <algorithm>
#include <cstdio>

#include "common/log.hpp"
#include "rebootprog/doctor/doctor_checks.hpp"
#include "rebootprog/doctor/doctor_collect.hpp"
#include "rebootprog/view/table.hpp"

namespace cohort {
namespace {

using Level = Finding::Level;

const char* word_of(Level level) {
    switch (level) {
        case Level::ok:
            return "PASS";
        case Level::warning:
            return "WARN";
        case Level::failure:
            break;
    }
    return "FAIL";
}

}  // namespace

int doctor(bool json) {
    const auto facts = collect_facts();
    if (!facts) {
        log::error("{}", facts.error().message);
        return exit_code_of(facts.error().code);
    }
    const auto found = examine(*facts);
    Table table{"doctor", {"RESULT", "CHECK", "TEXT"}, {}};
    for (const auto& finding : found)
        table.rows.push_back({word_of(finding.level), finding.check, finding.text});
    print_table(table, json);
    const auto count = [&](Level level) {
        return static_cast<std::size_t>(std::ranges::count(found, level, &Finding::level));
    };
    const std::size_t failed = count(Level::failure);
    if (!json)
        std::printf("%zu checks: %zu passed, %zu warnings, %zu failed\n", found.size(),
                    count(Level::ok), count(Level::warning), failed);
    if (!facts->slurm_fault.empty()) return exit_code::unreachable;
    return failed == 0 ? exit_code::ok : exit_code::some_failed;
}

}  // namespace cohort
