// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/doctor/doctor_checks.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/text.hpp"

namespace cohort {
namespace {

constexpr std::size_t named_at_most = 6;

}  // namespace

std::uint32_t version_number(std::string_view text) {
    std::uint32_t number = 0;
    int parts = 0;
    for (const auto& piece : text::split(text, '.')) {
        // "0-0rc1"
        const auto digits = piece.substr(0, piece.find_first_not_of("0123456789"));
        const auto value = text::to_number(digits);
        if (!value || *value > 0xff || ++parts > 3) return 0;
        number = number << 8 | static_cast<std::uint32_t>(*value);
    }
    return parts == 3 ? number : 0;
}

std::string version_text(std::uint32_t number) {
    return fmt::format("{}.{:02}.{}", number >> 16 & 0xff, number >> 8 & 0xff, number & 0xff);
}

std::string some_of(const std::vector<std::string>& names) {
    if (names.size() <= named_at_most) return text::join(names, ", ");
    const std::vector<std::string> first(names.begin(), names.begin() + named_at_most);
    return fmt::format("{} and {} more", text::join(first, ", "), names.size() - named_at_most);
}

void check_configuration(const DoctorFacts& facts, Findings& found) {
    const auto& configuration = facts.configuration;
    if (!configuration.fault.empty())
        found.push_back(failure(
            "cohort.conf", configuration.fault + ": mend it; until then the last good file holds, "
                                                 "and without one rebuild jobs are refused"));
    else if (!configuration.exists)
        found.push_back(pass("cohort.conf", configuration.file + " is absent: the defaults hold"));
    else
        found.push_back(pass("cohort.conf", configuration.file + " is read without a complaint"));
    const auto& settings = configuration.settings;
    // verify is the job's payload: it must be able to give its verdict before the job is killed.
    if (settings.rebuild_time <= settings.verify_wait)
        found.push_back(failure(
            "RebuildTime",
            fmt::format("a rebuild job is killed after {}, while verify may wait for {}: set "
                        "RebuildTime above VerifyWait",
                        text::duration(settings.rebuild_time),
                        text::duration(settings.verify_wait))));
    else
        found.push_back(pass("RebuildTime", fmt::format("{}, longer than verify waits ({})",
                                                        text::duration(settings.rebuild_time),
                                                        text::duration(settings.verify_wait))));
}

std::vector<Finding> examine(const DoctorFacts& facts) {
    Findings found;
    check_configuration(facts, found);
    if (!facts.slurm_fault.empty()) {
        found.push_back(failure("slurmctld", facts.slurm_fault +
                                                 ": start it, or run this on the controller; "
                                                 "nothing else can be checked"));
        return found;
    }
    check_slurm(facts, found);
    check_rebuild_jobs(facts, found);
    check_state(facts, found);
    check_cloud(facts, found);
    check_nodes(facts, found);
    return found;
}

}  // namespace cohort
