// SPDX-License-Identifier: GPL-2.0-or-later
//
// Checks of slurm.conf, of Slurm's version and of the plugins.
#include <algorithm>

#include <fmt/core.h>

#include "common/text.hpp"
#include "rebootprog/doctor/doctor_checks.hpp"

namespace cohort {
namespace {

constexpr std::uint32_t version(std::uint32_t major, std::uint32_t minor, std::uint32_t micro = 0) {
    return major << 16 | minor << 8 | micro;
}

bool same_release(std::uint32_t a, std::uint32_t b) {
    return a >> 8 == b >> 8;
}

Finding check_version(const SlurmFacts& slurm) {
    const char* name = "Slurm version";
    const std::string& text = slurm.config.slurm_version;
    const std::uint32_t number = version_number(text);
    if (number == 0) return warn(name, fmt::format("'{}' is no version known here", text));
    if (number >= version(23, 2) && number < version(23, 11, 5))
        return failure(name, fmt::format("in {} `sbatch --reboot` never calls RebootProgram: "
                                         "update to 23.11.5 or later",
                                         text));
    if (!same_release(number, slurm.built_for))
        return failure(name, fmt::format("slurmctld is {}, slurm-cohort was built for {}: rebuild "
                                         "it for this version",
                                         text, version_text(slurm.built_for)));
    if (number < version(24, 11, 2))
        return warn(name, fmt::format("{}: never use `scontrol reboot nextstate=RESUME` here, jobs "
                                      "can start on a node that still reboots (mended in 24.11.2)",
                                      text));
    return pass(name, text);
}

Finding check_reboot_program(const DoctorFacts& facts) {
    const char* name = "RebootProgram";
    const std::string& program = facts.slurm.config.reboot_program;
    if (program.empty())
        return failure(name,
                       "not set: set RebootProgram to the path of cohort-reboot in slurm.conf");
    if (!program.ends_with("/cohort-reboot"))
        return failure(name, fmt::format("{} is not cohort-reboot: rebuild jobs would run it "
                                         "instead. Set RebootProgram to the path of cohort-reboot",
                                         program));
    if (!facts.host.reboot_program_fault.empty())
        return failure(
            name, fmt::format("SlurmUser ({}) cannot execute {}: {}", facts.slurm.config.slurm_user,
                              program, facts.host.reboot_program_fault));
    return pass(name, program);
}

Finding check_from_controller(const ControllerConfig& config) {
    const char* name = "reboot_from_controller";
    const std::string set = text::lower(config.slurmctld_parameters);
    if (set.find("reboot_from_controller") == std::string::npos)
        return failure(name,
                       "not set: RebootProgram would be run on the nodes, which have no "
                       "credentials. Set SlurmctldParameters=reboot_from_controller");
    return pass(name, "RebootProgram runs on the controller");
}

// Why PROGRAM is not the one of ours that is called NAME; empty when it is.
std::string not_ours(const ControllerConfig& config, const std::string& program,
                     std::string_view name) {
    if (program.empty()) return fmt::format("is not set: set it to the path of {}", name);
    const auto folder = config.reboot_program.substr(0, config.reboot_program.rfind('/') + 1);
    if (!program.ends_with("/" + std::string(name)))
        return fmt::format("{} is not {}, which must go with the other two", program, name);
    // Beside RebootProgram: one installation, one cohort.conf, one StateDir.
    if (program != folder + std::string(name))
        return fmt::format("{} is not the one beside RebootProgram={}", program,
                           config.reboot_program);
    return {};
}

Finding check_power_saving(const DoctorFacts& facts) {
    const char* name = "power saving";
    const auto& config = facts.slurm.config;
    const std::pair<const char*, std::string> programs[] = {
        {"ResumeProgram", not_ours(config, config.resume_program, "cohort-resume")},
        {"SuspendProgram", not_ours(config, config.suspend_program, "cohort-suspend")},
        {"ResumeFailProgram", not_ours(config, config.resume_fail_program, "cohort-resume-fail")}};
    for (const auto& [key, why] : programs)
        if (!why.empty()) return failure(name, fmt::format("{} {}", key, why));
    if (!facts.host.power_faults.empty())
        return failure(name,
                       fmt::format("SlurmUser cannot execute {}", facts.host.power_faults[0]));
    if (text::lower(config.slurmctld_parameters).find("idle_on_node_suspend") != std::string::npos)
        return warn(name,
                    "SlurmctldParameters=idle_on_node_suspend takes the FAIL off a node that "
                    "was taken out of service: take it out");
    if (config.hides_powered_down)
        return failure(name,
                       "powered down nodes are hidden from every program: set "
                       "PrivateData=cloud");
    return pass(name, "cohort-resume, cohort-suspend and cohort-resume-fail");
}

Finding check_resume_program(const DoctorFacts& facts) {
    const char* name = "ResumeProgram";
    const auto& config = facts.slurm.config;
    if (config.resume_program.empty()) return pass(name, "not set");
    if (config.resume_program.ends_with("/cohort-resume")) return check_power_saving(facts);
    if (version_number(config.slurm_version) < version(26, 5))
        return failure(name, fmt::format("{} is run for rebuild jobs in place of RebootProgram up "
                                         "to Slurm 25.11: set it to the path of cohort-resume, or "
                                         "take it out",
                                         config.resume_program));
    return pass(name, config.resume_program);
}

Finding check_resume_timeout(const DoctorFacts& facts) {
    const char* name = "ResumeTimeout";
    const std::int64_t limit = facts.slurm.config.resume_timeout;
    const auto& measured = facts.state.rebuild_seconds;
    if (measured.empty()) {
        if (limit >= 600)
            return pass(name, fmt::format("{} s; no rebuild was measured yet", limit));
        return warn(name, fmt::format("{} s, and no rebuild was measured yet: real servers take "
                                      "minutes to rebuild and boot, 1800 is a good beginning",
                                      limit));
    }
    const std::int64_t longest = *std::ranges::max_element(measured);
    const std::string what =
        fmt::format("{} s; the longest of {} rebuilds took {} s", limit, measured.size(), longest);
    if (longest >= limit)
        return failure(
            name, what + fmt::format(": Slurm gives up too early, set at least {}", 2 * longest));
    if (longest * 3 > limit * 2)
        return warn(name, what + fmt::format(": that is near, set at least {}", 2 * longest));
    return pass(name, what);
}

Finding check_return_to_service(const ControllerConfig& config) {
    const char* name = "ReturnToService";
    if (config.return_to_service == 2) return pass(name, "2");
    return warn(name, fmt::format("{}: a node that comes back after ResumeTimeout stays DOWN until "
                                  "somebody resumes it. Set ReturnToService=2: nodes that failed "
                                  "stay out all the same",
                                  config.return_to_service));
}

std::string bare(const std::string& plugin) {
    constexpr std::string_view prefix = "job_submit/";
    return plugin.starts_with(prefix) ? plugin.substr(prefix.size()) : plugin;
}

// Slurm calls them in the order of the list, each with what the one before has changed.
Finding check_order(const ControllerConfig& config) {
    const char* name = "JobSubmitPlugins";
    const auto plugins = text::split(config.job_submit_plugins, ',');
    const auto is_ours = [](const std::string& plugin) { return bare(plugin) == "cohort"; };
    const auto count = std::ranges::count_if(plugins, is_ours);
    if (count == 0)
        return failure(name,
                       "cohort is not among them: rebuild jobs get no priority and no job is kept "
                       "within one revision. Set JobSubmitPlugins=cohort (the last one)");
    if (count > 1) return failure(name, "cohort is there more than once: keep the last one");
    if (is_ours(plugins.back())) return pass(name, config.job_submit_plugins);
    std::vector<std::string> right;
    std::ranges::copy_if(plugins, std::back_inserter(right),
                         [&](const std::string& plugin) { return !is_ours(plugin); });
    right.emplace_back("cohort");
    return failure(name, fmt::format("{} runs after cohort and can change what was judged: set "
                                     "JobSubmitPlugins={}",
                                     plugins.back(), text::join(right, ",")));
}

Finding check_job_submit_version(const DoctorFacts& facts) {
    const char* name = "job_submit_cohort.so";
    const std::uint32_t plugin = facts.host.job_submit_version;
    const std::uint32_t slurm = version_number(facts.slurm.config.slurm_version);
    if (plugin == 0)
        return failure(name, facts.host.job_submit_fault +
                                 ": slurmctld does not start again with JobSubmitPlugins=cohort, "
                                 "install it");
    // slurmctld wants the whole version, not only the release.
    if (plugin != slurm)
        return failure(name, fmt::format("built for Slurm {}, slurmctld is {}: slurmctld does not "
                                         "start again with it. Rebuild it",
                                         version_text(plugin), facts.slurm.config.slurm_version));
    return pass(name, "built for this version of Slurm");
}

// The last net is recommended, not needed: nothing rests on it while the guard works.
Finding check_gate(const DoctorFacts& facts) {
    const char* name = "PrologSlurmctld";
    const auto& programs = facts.slurm.config.controller_prologs;
    if (programs.empty())
        return warn(name,
                    "not set: an allocation that spans two revisions although the guard was to "
                    "prevent it would start. Set PrologSlurmctld=/usr/sbin/cohort-gate");
    if (!facts.host.prolog_faults.empty())
        return failure(name, "jobs cannot start: " + text::join(facts.host.prolog_faults, "; "));
    if (!facts.host.gate_called)
        return warn(name, fmt::format("{} does not call cohort-gate: call it there and pass its "
                                      "exit status on",
                                      text::join(programs, ",")));
    return pass(name, text::join(programs, ","));
}

Finding check_partition_state(const ControllerConfig& config) {
    const char* name = "KeepPartState";
    if (config.keep_partition_state) return pass(name, "set");
    return warn(name,
                "a partition that was set DOWN by scontrol is UP again after a restart or "
                "reconfigure: add ReconfigFlags=KeepPartState");
}

Finding check_launch_parameters(const ControllerConfig& config) {
    const char* name = "LaunchParameters";
    const auto set = text::split(config.launch_parameters, ',');
    if (std::ranges::find(set, "test_exec") != set.end())
        return warn(name,
                    "test_exec makes srun look for a command in the PATH of the submitting side, "
                    "not in that of the task profile: take it out where profiles set PATH");
    return pass(name, "no test_exec");
}

}  // namespace

void check_slurm(const DoctorFacts& facts, Findings& found) {
    const auto& config = facts.slurm.config;
    found.push_back(check_version(facts.slurm));
    found.push_back(check_reboot_program(facts));
    found.push_back(check_from_controller(config));
    found.push_back(check_resume_program(facts));
    found.push_back(check_resume_timeout(facts));
    found.push_back(check_return_to_service(config));
    found.push_back(check_order(config));
    found.push_back(check_job_submit_version(facts));
    if (facts.host.plugstack_fault.empty()) {
        auto runtime = check_runtime(facts.host.runtime);
        std::ranges::move(runtime, std::back_inserter(found));
    } else {
        found.push_back(failure("plugstack", facts.host.plugstack_fault));
    }
    found.push_back(check_gate(facts));
    found.push_back(check_partition_state(config));
    found.push_back(check_launch_parameters(config));
}

}  // namespace cohort
