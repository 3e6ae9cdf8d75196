// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/doctor/doctor_collect.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include <fmt/core.h>

#include "common/file.hpp"
#include "common/guard/emergency.hpp"
#include "common/slurm/load.hpp"
#include "common/text.hpp"
#include "rebootprog/barrier/barrier_journal.hpp"
#include "rebootprog/cloud/breaker.hpp"
#include "rebootprog/journal/journal.hpp"
#include "rebootprog/node/plugin_file.hpp"
#include "rebootprog/site/picture.hpp"
#include "rebootprog/site/site.hpp"

namespace cohort {
namespace {

constexpr std::size_t most_option_bytes = 64UL << 10;
// A boot that came later after the action's end was not its work.
constexpr std::int64_t longest_boot_seconds = 3600;

bool exists(const std::string& path) {
    return ::access(path.c_str(), F_OK) == 0;
}

ConfigurationFacts read_configuration(Configuration& configuration) {
    ConfigurationFacts facts;
    facts.file = configuration_path();
    auto loaded = load_configuration(facts.file);
    if (loaded) {
        facts.settings = loaded->site;
        configuration = std::move(*loaded);
    } else if (loaded.error().code == Errc::not_found)
        facts.exists = false;
    else
        facts.fault = loaded.error().message;
    return facts;
}

// Fills what RPCs tell; the configuration was read already.
Status read_cluster(const Settings& settings, SlurmFacts& facts) {
    facts.built_for = slurm::built_for();
    auto nodes = slurm::load_nodes();
    if (!nodes) return tl::unexpected(nodes.error());
    auto partitions = slurm::load_partitions();
    if (!partitions) return tl::unexpected(partitions.error());
    facts.nodes = std::move(*nodes);
    facts.partitions = std::move(*partitions);
    if (auto qos = slurm::load_qos()) facts.qos = std::move(*qos);
    if (const auto accounting = slurm::load_accounting())
        facts.job_user_associated = std::ranges::any_of(
            accounting->associations,
            [&](const Association& one) { return one.user == settings.rebuild_job_user; });
    return {};
}

std::string find_plugin(const std::string& plugin_dir, const std::string& file) {
    for (const auto& dir : text::split(plugin_dir, ':'))
        if (const std::string path = dir + "/" + file; exists(path)) return path;
    return {};
}

void read_job_submit(const ControllerConfig& config, HostFacts& facts) {
    const std::string path = find_plugin(config.plugin_dir, "job_submit_cohort.so");
    if (path.empty()) {
        facts.job_submit_fault = fmt::format("it is not in PluginDir ({})", config.plugin_dir);
        return;
    }
    const auto version = plugin_version_of(path);
    facts.job_submit_version = version.value_or(0);
    if (!version) facts.job_submit_fault = version.error().message;
}

void read_runtime(const ControllerConfig& config, HostFacts& facts) {
    auto& view = facts.runtime;
    const auto parts = text::split(config.slurm_version, '.');
    if (parts.size() >= 2) {
        view.slurm_major = static_cast<std::uint32_t>(text::to_number(parts[0]).value_or(0));
        view.slurm_minor = static_cast<std::uint32_t>(text::to_number(parts[1]).value_or(0));
    }
    view.prolog_alloc = config.prolog_alloc;
    view.prolog_defer_batch = config.prolog_defer_batch;
    view.scheduler_parameters = config.scheduler_parameters;
    if (const auto path = find_plugin(config.plugin_dir, "spank_cohort.so"); !path.empty())
        view.plugin_version = plugin_version_of(path).value_or(0);
    const std::string conf = configuration_path();
    const std::string file = config.plugstack.empty()
                                 ? conf.substr(0, conf.rfind('/') + 1) + "plugstack.conf"
                                 : config.plugstack;
    auto lines = read_plugstack(file);
    if (lines)
        view.plugstack = std::move(*lines);
    else if (exists(file))
        facts.plugstack_fault = lines.error().message;
}

bool starts_slurmd_with_extra(const std::string& path) {
    const auto content = read_file(path, most_option_bytes);
    if (!content) return false;
    for (const auto& line : text::split(*content, '\n'))
        if (line[0] != '#' && line.find("--extra") != std::string::npos) return true;
    return false;
}

// A site that has a PrologSlurmctld of its own calls cohort-gate from it.
void read_prologs(const std::vector<std::string>& programs, HostFacts& facts) {
    for (const auto& program : programs) {
        if (::access(program.c_str(), X_OK) != 0)
            facts.prolog_faults.push_back(program + ": " + std::strerror(errno));
        const auto content = read_file(program, most_option_bytes);
        if (program.ends_with("/cohort-gate") ||
            (content && content->find("cohort-gate") != std::string::npos))
            facts.gate_called = true;
    }
}

HostFacts read_host(const ControllerConfig& config, const Settings& settings) {
    HostFacts facts;
    facts.now = std::time(nullptr);
    if (!config.reboot_program.empty() && ::access(config.reboot_program.c_str(), X_OK) != 0)
        facts.reboot_program_fault = std::strerror(errno);
    for (const auto* program :
         {&config.resume_program, &config.suspend_program, &config.resume_fail_program})
        if (!program->empty() && ::access(program->c_str(), X_OK) != 0)
            facts.power_faults.push_back(*program + ": " + std::strerror(errno));
    read_prologs(config.controller_prologs, facts);
    read_job_submit(config, facts);
    read_runtime(config, facts);
    auto users = settings.rebuild_users;
    users.push_back(settings.rebuild_job_user);
    for (const auto& user : users)
        if (!::getpwnam(user.c_str())) facts.unknown_users.push_back(user);
    for (const char* file : {"/etc/default/slurmd", "/etc/sysconfig/slurmd"})
        if (starts_slurmd_with_extra(file)) facts.slurmd_options_file = file;
    if (exists("/run/systemd/system"))
        facts.timer_enabled =
            exists("/etc/systemd/system/timers.target.wants/cohort-advance.timer") ||
            exists("/usr/lib/systemd/system/timers.target.wants/cohort-advance.timer");
    timex clock{};
    facts.clock_synchronised = ::adjtimex(&clock) != TIME_ERROR;
    return facts;
}

// Locks must work there: MaxConcurrent and `advance` rest on them. A file that others use is only
// locked for a moment, and shared.
std::string lock_fault(const std::string& dir) {
    const UniqueFd fd(::open((dir + "/journal.db").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!fd || ::flock(fd.get(), LOCK_SH | LOCK_NB) == 0 || errno == EWOULDBLOCK) return {};
    return fmt::format("files in {} cannot be locked: {}", dir, std::strerror(errno));
}

std::string folder_fault(const std::string& dir, const std::string& owner) {
    struct stat st {};
    if (::stat(dir.c_str(), &st) != 0 || !S_ISDIR(st.st_mode))
        return fmt::format("{} is no folder that {} can see: install -d -m 700 -o {} {}", dir,
                           owner, owner, dir);
    if (::access(dir.c_str(), R_OK | W_OK | X_OK) != 0)
        return fmt::format("{} is not writable for {}: chown {} {}", dir, owner, owner, dir);
    return lock_fault(dir);
}

void read_journal(const std::vector<Node>& nodes, StateFacts& facts) {
    if (!exists(facts.dir + "/journal.db")) return;
    auto journal = Journal::open(facts.dir);
    if (journal)
        if (const auto barriers = BarrierJournal(*journal).unfinished())
            for (const auto& one : *barriers)
                facts.barrier +=
                    fmt::format("{}cohort {} is closed by {} at step {}{}{}",
                                facts.barrier.empty() ? "" : "; ", one.cohort, one.name(),
                                name_of(one.step), one.why.empty() ? "" : ": ", one.why);
    auto attempts = journal ? journal->latest_attempts()
                            : Result<std::vector<Attempt>>(tl::unexpected(journal.error()));
    if (!attempts) {
        facts.fault = attempts.error().message;
        return;
    }
    std::map<std::string, std::int64_t> booted;
    for (const auto& node : nodes) booted[node.name] = node.boot_time;
    for (const auto& attempt : *attempts) {
        if (attempt.outcome != Outcome::ok) continue;
        facts.attempted_nodes.push_back(attempt.node);
        if (attempt.action != "rebuild" || attempt.ended == 0) continue;
        const std::int64_t boot = booted[attempt.node];
        const bool its = boot > attempt.began && boot < attempt.ended + longest_boot_seconds;
        facts.rebuild_seconds.push_back((its ? std::max(boot, attempt.ended) : attempt.ended) -
                                        attempt.began);
    }
}

void read_snapshot(StateFacts& facts) {
    const auto snapshot = read_picture(facts.dir);
    if (!snapshot) return;
    facts.snapshot_age = std::max(0.0, seconds_now() - snapshot->header.written);
    facts.snapshot_fault = snapshot->header.fault;
}

StateFacts read_state(const ControllerConfig& config, const Settings& settings,
                      const std::vector<Node>& nodes) {
    StateFacts facts;
    facts.dir = settings.state_dir.empty() ? default_state_dir(config.state_save_location)
                                           : settings.state_dir;
    facts.fault = folder_fault(facts.dir, config.slurm_user);
    if (!facts.fault.empty()) return facts;
    struct stat ours {
    }, slurms{};
    if (::stat(facts.dir.c_str(), &ours) == 0) facts.private_mode = (ours.st_mode & 022) == 0;
    if (::stat(config.state_save_location.c_str(), &slurms) == 0)
        facts.beside_slurms = ours.st_dev == slurms.st_dev;
    struct statvfs space {};
    if (::statvfs(facts.dir.c_str(), &space) == 0)
        facts.free_bytes = std::uint64_t{space.f_bavail} * space.f_frsize;
    read_snapshot(facts);
    if (const auto breaker = read_breaker(facts.dir)) facts.breaker = breaker->reason;
    facts.guard_off = guard::is_off(facts.dir);
    read_journal(nodes, facts);
    return facts;
}

}  // namespace

Result<DoctorFacts> collect_facts() {
    slurm::initialise_library();
    DoctorFacts facts;
    Configuration configuration;
    facts.configuration = read_configuration(configuration);
    const auto& settings = facts.configuration.settings;
    auto config = slurm::load_controller_config();
    if (!config) {
        facts.slurm_fault = config.error().message;
        return facts;
    }
    facts.slurm.config = std::move(*config);
    if (auto done = become_slurm_user(facts.slurm.config); !done)
        return tl::unexpected(done.error());
    if (auto read = read_cluster(settings, facts.slurm); !read) {
        facts.slurm_fault = read.error().message;
        return facts;
    }
    facts.host = read_host(facts.slurm.config, settings);
    facts.state = read_state(facts.slurm.config, settings, facts.slurm.nodes);
    facts.cloud = read_cloud(configuration, facts.slurm.nodes);
    return facts;
}

}  // namespace cohort
