// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/node/node_facts.hpp"

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <system_error>

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.hpp"
#include "common/profile_store.hpp"
#include "common/revision.hpp"
#include "common/sha256.hpp"
#include "common/text.hpp"
#include "rebootprog/node/node_gate.hpp"
#include "rebootprog/node/node_once.hpp"

namespace cohort {
namespace {

constexpr std::size_t max_bytes = 64 * 1024;

std::string read_trimmed(const char* path) {
    const auto content = read_file(path, max_bytes);
    return content ? std::string(text::trim(*content)) : std::string();
}

// UUID of the file system under /, through udev's links; empty where there is no block device
// (a network root, a container).
std::string root_uuid() {
    struct stat root {};
    if (::stat("/", &root) != 0) return {};
    std::error_code error;
    for (const auto& link : std::filesystem::directory_iterator("/dev/disk/by-uuid", error)) {
        struct stat device {};
        if (::stat(link.path().c_str(), &device) == 0 && S_ISBLK(device.st_mode) &&
            device.st_rdev == root.st_dev)
            return link.path().filename().string();
    }
    return {};
}

// CLOCK_BOOTTIME follows the node's own time namespace, as Slurm's boot time does.
std::int64_t boot_time() {
    timespec up{};
    ::clock_gettime(CLOCK_BOOTTIME, &up);
    return std::time(nullptr) - up.tv_sec;
}

// True when a process whose command name is NAME has a command line that FITS.
template <class Fits>
bool any_process(std::string_view name, Fits&& fits) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
        const std::string folder = entry.path().string();
        if (!text::to_number(entry.path().filename().string())) continue;
        if (read_trimmed((folder + "/comm").c_str()) != name) continue;
        const auto line = read_file(folder + "/cmdline", max_bytes);
        if (line && fits(*line)) return true;
    }
    return false;
}

Result<std::string> read_stamp(const Settings& settings) {
    if (!settings.stamp_file.empty()) {
        auto content = read_file(settings.stamp_file, max_bytes);
        if (!content) return fail("StampFile", content.error());
        return stamp_of_file(*content);
    }
    for (const char* path : {"/etc/os-release", "/usr/lib/os-release"})
        if (const auto content = read_file(path, max_bytes)) return stamp_of_os_release(*content);
    return std::string();
}

}  // namespace

std::string root_identity() {
    const std::string identity = root_uuid() + "\n" + read_trimmed("/etc/machine-id");
    return identity.size() == 1 ? std::string() : sha256_hex(identity).substr(0, 16);
}

NodeFacts read_node_facts(const Settings& settings) {
    NodeFacts facts;
    facts.observed = {{}, root_identity(), boot_time()};
    if (auto stamp = read_stamp(settings)) {
        facts.observed.stamp = std::move(*stamp);
    } else {
        facts.stamp_fault = stamp.error().message;
    }
    facts.boot_id = read_trimmed("/proc/sys/kernel/random/boot_id");
    const auto profile = read_profile(local_profile_directory());
    if (profile)
        facts.sealed = profile->revision();
    else if (profile.error().code != Errc::not_found || local_launch_gate().needs_profile)
        facts.profile_fault = "the task profile is not usable: " + profile.error().message;
    facts.step_fault = unfinished_step();
    facts.slurmd_has_revision = any_process("slurmd", [](const std::string& command_line) {
        return command_line.find("=rev_") != std::string::npos ||
               command_line.find(",rev_") != std::string::npos;
    });
    return facts;
}

std::string own_revision(const NodeFacts& facts) {
    if (!facts.sealed.empty()) return facts.sealed;
    if (!facts.profile_fault.empty() || facts.observed.stamp.empty()) return {};
    return revision_name_of_stamp(facts.observed.stamp);
}

bool without_launch_gate() {
    return !local_launch_gate().there;
}

std::string launch_fault(const std::string& published) {
    // Without a line nothing is gated; with a file that cannot be read Slurm starts no task at all.
    if (!local_launch_gate().needs_profile) return {};
    const auto profile = read_profile(local_profile_directory());
    if (!profile) return "the task profile is not usable: " + profile.error().message;
    if (published.empty() || published == profile->revision()) return {};
    return fmt::format("the sealed profile is {}, published was {}", profile->revision(),
                       published);
}

std::string node_name() {
    if (const char* name = std::getenv("SLURMD_NODENAME"); name && *name) return name;
    const std::string full = host_name();
    return full.substr(0, full.find('.'));
}

bool has_live_steps() {
    // The one that only keeps the scope of all steps (cgroup v2) has no job.
    constexpr std::string_view keeper("\0infinity\0", 10);
    return any_process("slurmstepd", [&](const std::string& command_line) {
        return command_line.find(keeper) == std::string::npos;
    });
}

}  // namespace cohort
