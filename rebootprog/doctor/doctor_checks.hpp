// SPDX-License-Identifier: GPL-2.0-or-later
//
// The checks of `scohort doctor`: facts in, one finding per check out. Pure; in the order in which
// they are printed. A finding's text says what is so and, where it is not well, what to do.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rebootprog/doctor/doctor_facts.hpp"

namespace cohort {

std::vector<Finding> examine(const DoctorFacts& facts);

// Its parts.
using Findings = std::vector<Finding>;
void check_configuration(const DoctorFacts& facts, Findings& found);  // cohort.conf, users
void check_slurm(const DoctorFacts& facts, Findings& found);          // slurm.conf, plugins
void check_rebuild_jobs(const DoctorFacts& facts, Findings& found);   // may they be sent and start
void check_nodes(const DoctorFacts& facts, Findings& found);          // labels, Extra, clocks
void check_state(const DoctorFacts& facts, Findings& found);          // StateDir, timer, plugin
void check_cloud(const DoctorFacts& facts, Findings& found);          // credential, servers, images

// "22.05.8" -> 0x160508, 0 when it is no version.
std::uint32_t version_number(std::string_view text);
std::string version_text(std::uint32_t number);

// "n1, n2, n3 and 17 more".
std::string some_of(const std::vector<std::string>& names);

inline Finding pass(std::string check, std::string text) {
    return {Finding::Level::ok, std::move(check), std::move(text)};
}
inline Finding warn(std::string check, std::string text) {
    return {Finding::Level::warning, std::move(check), std::move(text)};
}
inline Finding failure(std::string check, std::string text) {
    return {Finding::Level::failure, std::move(check), std::move(text)};
}

}  // namespace cohort
