// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/node/node_gate.hpp"

#include <cstdlib>
#include <string_view>

#include <unistd.h>

#include "common/settings.hpp"
#include "common/text.hpp"

namespace cohort {
namespace {

constexpr char fetched_slurm_conf[] = "/run/slurm/conf/slurm.conf";

std::string beside(const std::string& path, std::string_view name) {
    return path.substr(0, path.rfind('/') + 1).append(name);
}

// The value when LINE sets KEY ("PlugStackConfig = /x  # why").
std::string_view value_of(std::string_view line, std::string_view key) {
    line = line.substr(0, line.find('#'));
    const auto equals = line.find('=');
    if (equals == std::string_view::npos || !text::iequals(text::trim(line.substr(0, equals)), key))
        return {};
    auto value = text::trim(line.substr(equals + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
        value = value.substr(1, value.size() - 2);
    return value;
}

}  // namespace

std::string local_slurm_conf() {
    if (const char* given = std::getenv("SLURM_CONF"); given && *given) return given;
    const std::string installed = beside(configuration_path(), "slurm.conf");
    if (::access(installed.c_str(), R_OK) == 0) return installed;
    return ::access(fetched_slurm_conf, R_OK) == 0 ? fetched_slurm_conf : "";
}

std::string local_plugstack() {
    const std::string conf = local_slurm_conf();
    if (conf.empty()) return beside(configuration_path(), "plugstack.conf");
    std::string found = beside(conf, "plugstack.conf");
    if (const auto lines = read_plugstack(conf))
        for (const auto& line : *lines)
            if (const auto value = value_of(line, "PlugStackConfig"); !value.empty()) found = value;
    return found;
}

LaunchGate local_launch_gate() {
    const auto lines = read_plugstack(local_plugstack());
    return lines ? launch_gate_of(*lines) : LaunchGate{};
}

ProfileDirectory local_profile_directory() {
    ProfileDirectory directory;
    if (auto gate = local_launch_gate(); !gate.profile_dir.empty())
        directory.path = std::move(gate.profile_dir);
    return directory;
}

}  // namespace cohort
