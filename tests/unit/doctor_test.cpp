// SPDX-License-Identifier: GPL-2.0-or-later
//
// What doctor says of Slurm's configuration and of the jobs' side of it.
#include <algorithm>

#include "rebootprog/view/table.hpp"
#include "tests/unit/doctor_fixture.hpp"

using namespace cohort;
using namespace doctor_fixture;

namespace {

const Row slurm_rows[] = {
    {"a version that never calls RebootProgram",
     [](D& f) { f.slurm.config.slurm_version = "23.11.4"; }, "Slurm version", Level::failure,
     "update to 23.11.5"},
    {"23.11.5 does call it",
     [](D& f) {
         f.slurm.config.slurm_version = "23.11.5";
         f.slurm.built_for = 23U << 16 | 11U << 8 | 5U;
     },
     "Slurm version", Level::warning, "nextstate=RESUME"},
    {"22.05 is older than that trap",
     [](D& f) {
         f.slurm.config.slurm_version = "22.05.8";
         f.slurm.built_for = 22U << 16 | 5U << 8 | 8U;
     },
     "Slurm version", Level::warning, "nextstate=RESUME"},
    {"built for another release", [](D& f) { f.slurm.config.slurm_version = "26.05.1"; },
     "Slurm version", Level::failure, "built for 24.11.5"},
    {"no version", [](D& f) { f.slurm.config.slurm_version = "newest"; }, "Slurm version",
     Level::warning, "no version known"},
    {"no RebootProgram", [](D& f) { f.slurm.config.reboot_program.clear(); }, "RebootProgram",
     Level::failure, "not set"},
    {"another RebootProgram", [](D& f) { f.slurm.config.reboot_program = "/sbin/reboot"; },
     "RebootProgram", Level::failure, "is not cohort-reboot"},
    {"RebootProgram not executable",
     [](D& f) { f.host.reboot_program_fault = "Permission denied"; }, "RebootProgram",
     Level::failure, "SlurmUser (slurm) cannot execute /usr/sbin/cohort-reboot: Permission denied"},
    {"without reboot_from_controller",
     [](D& f) { f.slurm.config.slurmctld_parameters = "cloud_dns"; }, "reboot_from_controller",
     Level::failure, "SlurmctldParameters=reboot_from_controller"},
    {"a ResumeProgram", [](D& f) { f.slurm.config.resume_program = "/x"; }, "ResumeProgram",
     Level::failure, "in place of RebootProgram"},
    {"the programs of power saving", [](D& f) { power_saving(f); }, "power saving", Level::ok,
     "cohort-resume, cohort-suspend and"},
    {"power saving without ResumeFailProgram",
     [](D& f) {
         power_saving(f);
         f.slurm.config.resume_fail_program.clear();
     },
     "power saving", Level::failure,
     "ResumeFailProgram is not set: set it to the path of cohort-resume-fail"},
    {"power saving with another SuspendProgram",
     [](D& f) {
         power_saving(f);
         f.slurm.config.suspend_program = "/x/off";
     },
     "power saving", Level::failure, "SuspendProgram /x/off is not cohort-suspend"},
    {"power saving of another installation",
     [](D& f) {
         power_saving(f);
         f.slurm.config.resume_program = "/opt/cohort-resume";
     },
     "power saving", Level::failure, "is not the one beside RebootProgram=/usr/sbin/cohort-reboot"},
    {"a program of power saving that cannot be run",
     [](D& f) {
         power_saving(f);
         f.host.power_faults = {"/usr/sbin/cohort-suspend: Permission denied"};
     },
     "power saving", Level::failure, "cannot execute /usr/sbin/cohort-suspend: Permission denied"},
    {"power saving with nodes that nobody sees",
     [](D& f) {
         power_saving(f);
         f.slurm.config.hides_powered_down = true;
     },
     "power saving", Level::failure, "PrivateData=cloud"},
    {"power saving that makes nodes idle",
     [](D& f) {
         power_saving(f);
         f.slurm.config.slurmctld_parameters += ",idle_on_node_suspend";
     },
     "power saving", Level::warning, "takes the FAIL off"},
    {"ResumeTimeout below what was measured",
     [](D& f) {
         f.state.rebuild_seconds = {300, 1900};
     },
     "ResumeTimeout", Level::failure, "took 1900 s: Slurm gives up too early, set at least 3800"},
    {"ResumeTimeout near what was measured", [](D& f) { f.state.rebuild_seconds = {1300}; },
     "ResumeTimeout", Level::warning, "that is near"},
    {"Slurm's default ResumeTimeout and nothing measured",
     [](D& f) {
         f.state.rebuild_seconds.clear();
         f.slurm.config.resume_timeout = 60;
     },
     "ResumeTimeout", Level::warning, "no rebuild was measured"},
    {"nothing measured, time enough", [](D& f) { f.state.rebuild_seconds.clear(); },
     "ResumeTimeout", Level::ok, "1800 s"},
    {"ReturnToService=1", [](D& f) { f.slurm.config.return_to_service = 1; }, "ReturnToService",
     Level::warning, "Set ReturnToService=2"},
    {"cohort before lua", [](D& f) { f.slurm.config.job_submit_plugins = "cohort,lua"; },
     "JobSubmitPlugins", Level::failure, "set JobSubmitPlugins=lua,cohort"},
    {"lua before cohort",
     [](D& f) { f.slurm.config.job_submit_plugins = "job_submit/lua,job_submit/cohort"; },
     "JobSubmitPlugins", Level::ok, "cohort"},
    {"no net at the launch", [](D& f) { f.slurm.config.controller_prologs.clear(); },
     "PrologSlurmctld", Level::warning, "Set PrologSlurmctld=/usr/sbin/cohort-gate"},
    {"a prolog of the site that does not call ours",
     [](D& f) {
         f.slurm.config.controller_prologs = {"/opt/site/prolog"};
         f.host.gate_called = false;
     },
     "PrologSlurmctld", Level::warning, "/opt/site/prolog does not call cohort-gate"},
    {"a prolog of the site that calls ours",
     [](D& f) { f.slurm.config.controller_prologs = {"/opt/site/prolog"}; }, "PrologSlurmctld",
     Level::ok, "/opt/site/prolog"},
    {"a prolog that is not there",
     [](D& f) { f.host.prolog_faults = {"/usr/sbin/cohort-gate: No such file or directory"}; },
     "PrologSlurmctld", Level::failure, "jobs cannot start"},
    {"no cohort", [](D& f) { f.slurm.config.job_submit_plugins = "lua"; }, "JobSubmitPlugins",
     Level::failure, "not among them"},
    {"cohort twice", [](D& f) { f.slurm.config.job_submit_plugins = "cohort,lua,cohort"; },
     "JobSubmitPlugins", Level::failure, "more than once"},
    {"job_submit_cohort of another micro version", [](D& f) { f.host.job_submit_version -= 1; },
     "job_submit_cohort.so", Level::failure, "built for Slurm 24.11.4, slurmctld is 24.11.5"},
    {"no job_submit_cohort",
     [](D& f) {
         f.host.job_submit_version = 0;
         f.host.job_submit_fault = "it is not in PluginDir (/x)";
     },
     "job_submit_cohort.so", Level::failure, "install it"},
    {"optional in plugstack.conf",
     [](D& f) { f.host.runtime.plugstack = {"optional spank_cohort.so"}; }, "plugstack",
     Level::failure, "write `required`"},
    {"plugstack.conf unreadable", [](D& f) { f.host.plugstack_fault = "cannot open x"; },
     "plugstack", Level::failure, "cannot open x"},
    {"no PrologFlags=Alloc", [](D& f) { f.host.runtime.prolog_alloc = false; }, "PrologFlags",
     Level::failure, "PrologFlags=Alloc"},
    {"jobs held after a failed prolog", [](D& f) { f.host.runtime.scheduler_parameters.clear(); },
     "nohold_on_prolog_fail", Level::warning, "slurmctld reads it"},
    {"no KeepPartState", [](D& f) { f.slurm.config.keep_partition_state = false; }, "KeepPartState",
     Level::warning, "ReconfigFlags=KeepPartState"},
    {"test_exec", [](D& f) { f.slurm.config.launch_parameters = "send_gids,test_exec"; },
     "LaunchParameters", Level::warning, "test_exec"},
};

const Row job_rows[] = {
    {"a bad cohort.conf", [](D& f) { f.configuration.fault = "line 3: unknown key X"; },
     "cohort.conf", Level::failure, "line 3: unknown key X: mend it"},
    {"no cohort.conf", [](D& f) { f.configuration.exists = false; }, "cohort.conf", Level::ok,
     "the defaults hold"},
    {"a job shorter than verify's wait",
     [](D& f) { f.configuration.settings.rebuild_time = std::chrono::minutes(5); }, "RebuildTime",
     Level::failure, "set RebuildTime above VerifyWait"},
    {"an unknown user", [](D& f) { f.host.unknown_users = {"opa"}; }, "RebuildJobUser",
     Level::failure, "no user opa"},
    {"DisableRootJobs everywhere", [](D& f) { f.slurm.partitions[0].root_may_submit = false; },
     "DisableRootJobs", Level::failure, "set RebuildJobUser to another"},
    {"DisableRootJobs, jobs of another",
     [](D& f) {
         f.slurm.partitions[0].root_may_submit = false;
         f.configuration.settings.rebuild_job_user = "ops";
     },
     "DisableRootJobs", Level::ok, "rebuild jobs are ops's"},
    {"DisableRootJobs in one partition",
     [](D& f) {
         f.slurm.partitions.push_back(f.slurm.partitions[0]);
         f.slurm.partitions[1].name = "x";
         f.slurm.partitions[1].root_may_submit = false;
     },
     "DisableRootJobs", Level::warning, "submit to x"},
    {"no association", [](D& f) { f.slurm.job_user_associated = false; }, "association",
     Level::failure, "sacctmgr add user root"},
    {"no association is asked for",
     [](D& f) {
         f.slurm.job_user_associated = false;
         f.slurm.config.associations_enforced = false;
     },
     "association", Level::ok, "does not ask"},
    {"associations not told", [](D& f) { f.slurm.job_user_associated.reset(); }, "association",
     Level::warning, "not looked at"},
    {"no such QOS", [](D& f) { f.configuration.settings.rebuild_qos = "fast"; }, "RebuildQos",
     Level::failure, "no QOS fast"},
    {"a QOS that preempts",
     [](D& f) {
         f.configuration.settings.rebuild_qos = "rebuild";
         (*f.slurm.qos)[0].preempts = f.slurm.config.preemption = true;
         f.slurm.config.preempt_type = "preempt/qos";
     },
     "RebuildQos", Level::failure, "may preempt running jobs"},
    {"the same without preemption by QOS",
     [](D& f) {
         f.configuration.settings.rebuild_qos = "rebuild";
         (*f.slurm.qos)[0].preempts = true;
     },
     "RebuildQos", Level::ok, "preempts nobody"},
    {"a QOS that preempts within itself",
     [](D& f) {
         f.configuration.settings.rebuild_qos = "rebuild";
         (*f.slurm.qos)[0].within = f.slurm.config.preemption = true;
         f.slurm.config.preempt_type = "preempt/qos";
     },
     "RebuildQos", Level::warning, "without WITHIN"},
    {"no such partition", [](D& f) { f.configuration.settings.rebuild_partition = "x"; },
     "RebuildPartition", Level::failure, "no partition x"},
    {"a partition that is down",
     [](D& f) {
         f.configuration.settings.rebuild_partition = "main";
         f.slurm.partitions[0].up = false;
     },
     "RebuildPartition", Level::failure, "not UP"},
    {"a partition that preempts",
     [](D& f) {
         f.configuration.settings.rebuild_partition = "top";
         f.slurm.partitions.push_back(f.slurm.partitions[0]);
         f.slurm.partitions[1].name = "top";
         f.slurm.partitions[1].priority_tier = 9;
         f.slurm.partitions[0].preempts = f.slurm.config.preemption = true;
         f.slurm.config.preempt_type = "preempt/partition_prio";
     },
     "RebuildPartition", Level::failure, "lets top preempt running jobs of main"},
    {"a partition without some of the nodes",
     [](D& f) {
         f.configuration.settings.rebuild_partition = "main";
         f.slurm.partitions[0].nodes = {"n1"};
     },
     "RebuildPartition", Level::warning, "does not hold n2"},
    {"a node in no partition", [](D& f) { f.slurm.partitions[0].nodes = {"n2"}; }, "partitions",
     Level::warning, "n1: in no partition"},
};

}  // namespace

int main() {
    std::vector<unit::Rule> rules;
    rules.push_back({"a good site has no finding, and each check is named once", [] {
                         std::vector<std::string> names;
                         for (const auto& finding : examine(good())) {
                             unit::expect(finding.level == Level::ok,
                                          finding.check + ": " + finding.text);
                             names.push_back(finding.check);
                         }
                         std::ranges::sort(names);
                         unit::expect(std::ranges::adjacent_find(names) == names.end(), "twice");
                         unit::expect(names.size() >= 35, fmt::format("{}", names.size()));
                     }});
    rules.push_back({"without slurmctld nothing else is claimed", [] {
                         auto facts = good();
                         facts.slurm_fault = "cannot read the configuration";
                         const auto found = examine(facts);
                         unit::expect(find(found, "slurmctld", Level::failure) != nullptr, "said");
                         unit::expect_equal(found.size(), std::size_t{3});
                     }});
    rules.push_back({"long lists of nodes are cut", [] {
                         unit::expect_equal(some_of({"a", "b"}), std::string("a, b"));
                         unit::expect_equal(some_of(std::vector<std::string>(20, "n")),
                                            std::string("n, n, n, n, n, n and 14 more"));
                     }});
    rules.push_back({"sentences are wrapped between words", [] {
                         unit::expect_equal(wrap_words("an old image runs", 8),
                                            std::string("an old\nimage\nruns"));
                         unit::expect_equal(wrap_words("an extraordinary word", 8),
                                            std::string("an\nextraordinary\nword"));
                         unit::expect_equal(wrap_words("as it is", 0), std::string("as it is"));
                     }});
    rules.push_back({"versions", [] {
                         unit::expect_equal(version_number("22.05.8"), 0x160508U);
                         unit::expect_equal(version_number("23.11.0-0rc1"), 0x170b00U);
                         unit::expect_equal(version_number("22.05"), 0U);
                         unit::expect_equal(version_text(0x160508), std::string("22.05.8"));
                     }});
    add_rows(rules, slurm_rows);
    add_rows(rules, job_rows);
    return unit::run("doctor", std::move(rules));
}
