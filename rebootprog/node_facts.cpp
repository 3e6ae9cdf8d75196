// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/node_facts.hpp"

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
#include "rebootprog/doctor_runtime.hpp"

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

std::string root_identity() {
    const std::string identity = root_uuid() + "\n" + read_trimmed("/etc/machine-id");
    return identity.size() == 1 ? std::string() : sha256_hex(identity).substr(0, 16);
}

// CLOCK_BOOTTIME follows the node's own time namespace, as Slurm's boot time does.
std::int64_t boot_time() {
    timespec up{};
    ::clock_gettime(CLOCK_BOOTTIME, &up);
    return std::time(nullptr) - up.tv_sec;
}

std::string plugstack_beside_slurm_conf() {
    const std::string conf = configuration_path();
    return conf.substr(0, conf.rfind('/') + 1) + "plugstack.conf";
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

Result<NodeFacts> read_node_facts(const Settings& settings) {
    auto stamp = read_stamp(settings);
    if (!stamp) return tl::unexpected(stamp.error());
    NodeFacts facts;
    facts.observed = {std::move(*stamp), root_identity(), boot_time()};
    facts.boot_id = read_trimmed("/proc/sys/kernel/random/boot_id");
    const auto profile = read_profile();
    if (profile)
        facts.sealed = profile->revision();
    else if (profile.error().code != Errc::not_found)
        facts.profile_fault = profile.error().message;
    return facts;
}

std::string own_revision(const NodeFacts& facts) {
    if (!facts.sealed.empty()) return facts.sealed;
    if (!facts.profile_fault.empty() || facts.observed.stamp.empty()) return {};
    return revision_name_of_stamp(facts.observed.stamp);
}

bool without_launch_gate() {
    const auto lines = read_plugstack(plugstack_beside_slurm_conf());
    return !lines || !launch_gate_of(*lines).there;
}

std::string launch_fault(const std::string& plugstack, const std::string& published) {
    auto lines = read_plugstack(plugstack);
    if (!lines) lines = read_plugstack(plugstack_beside_slurm_conf());
    // Without a line nothing is gated; with a file that cannot be read Slurm starts no task at all.
    if (!lines) return {};
    const LaunchGate gate = launch_gate_of(*lines);
    if (!gate.needs_profile) return {};
    ProfileDirectory directory;
    if (!gate.profile_dir.empty()) directory.path = gate.profile_dir;
    const auto profile = read_profile(directory);
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
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
        const std::string pid = entry.path().filename().string();
        if (!text::to_number(pid)) continue;
        if (read_trimmed(("/proc/" + pid + "/comm").c_str()) == "slurmstepd") return true;
    }
    return false;
}

}  // namespace cohort
