// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/doctor/doctor_checks.hpp"

#include <algorithm>

#include "rebootprog/view/table.hpp"
#include "tests/unit/unit.hpp"

using namespace cohort;
using Level = Finding::Level;

namespace {

Node good_node(const char* name) {
    Node node;
    node.name = name;
    node.state.base = NodeState::Base::idle;
    node.record.revision = "rev_0123456789abcdef";
    node.version = "22.05.8";
    node.boot_time = node.slurmd_start_time = 1000;
    return node;
}

SlurmFacts good_slurm() {
    SlurmFacts slurm;
    auto& config = slurm.config;
    config.slurm_version = "24.11.5";
    config.slurm_user = "slurm";
    config.reboot_program = "/usr/sbin/cohort-reboot";
    config.slurmctld_parameters = "reboot_from_controller";
    config.resume_timeout = 1800;
    config.return_to_service = 2;
    config.job_submit_plugins = "lua,cohort";
    config.keep_partition_state = true;
    config.controller_prologs = {"/usr/sbin/cohort-gate"};
    config.associations_enforced = true;
    config.controllers = {"ctl"};
    slurm.built_for = 24U << 16 | 11U << 8 | 5U;
    slurm.nodes = {good_node("n1"), good_node("n2")};
    for (auto& node : slurm.nodes) node.version = "24.11.5";
    Partition partition;
    partition.name = "main";
    partition.nodes = {"n1", "n2"};
    slurm.partitions = {partition};
    slurm.qos = {{"rebuild", false, false}};
    slurm.job_user_associated = true;
    return slurm;
}

CloudFacts good_cloud() {
    CloudFacts cloud;
    cloud.roles = {"member", "reader"};
    cloud.clock_ahead_ms = -400;
    for (const char* name : {"n1", "n2"}) {
        ServerState server;
        server.id = std::string("server-") + name;
        server.name = name;
        server.status = "ACTIVE";
        server.disk_gb = 20;
        server.ram_mb = 4096;
        cloud.servers.push_back(server);
        CloudFacts::Wanted wanted;
        wanted.node = name;
        wanted.server = server.id;
        wanted.image = "v2";
        cloud.wanted.push_back(wanted);
    }
    CloudFacts::Image image{"v2", "", {"image-2", "v2", "lab/v2", true, ""}};
    image.state.min_disk_gb = 10;
    image.state.bytes = 15LL << 30;
    cloud.images = {image};
    return cloud;
}

DoctorFacts good() {
    DoctorFacts facts;
    facts.configuration.file = "/etc/slurm/cohort.conf";
    facts.slurm = good_slurm();
    facts.host.now = 2000;
    facts.host.job_submit_version = facts.slurm.built_for;
    facts.host.timer_enabled = true;
    facts.host.gate_called = true;
    auto& runtime = facts.host.runtime;
    runtime.slurm_major = 24;
    runtime.slurm_minor = 11;
    runtime.prolog_alloc = runtime.prolog_defer_batch = true;
    runtime.scheduler_parameters = "nohold_on_prolog_fail";
    runtime.plugstack = {"required spank_cohort.so"};
    runtime.plugin_version = facts.slurm.built_for;
    facts.state.dir = "/var/lib/slurm/slurmctld-cohort";
    facts.state.snapshot_age = 3;
    facts.state.rebuild_seconds = {300, 400};
    facts.cloud = good_cloud();
    return facts;
}

Want done(std::int64_t at) {
    Want want;
    want.at = at;
    want.result = result_ok;
    return want;
}

struct Row {
    const char* words;
    std::function<void(DoctorFacts&)> change;
    const char* check;
    Level level;
    const char* sentence;
};

using D = DoctorFacts;

void power_saving(DoctorFacts& facts) {
    auto& config = facts.slurm.config;
    config.resume_program = "/usr/sbin/cohort-resume";
    config.suspend_program = "/usr/sbin/cohort-suspend";
    config.resume_fail_program = "/usr/sbin/cohort-resume-fail";
}

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

const Row site_rows[] = {
    {"no StateDir", [](D& f) { f.state.fault = "/x is no folder"; }, "StateDir", Level::failure,
     "/x is no folder"},
    {"StateDir open to others", [](D& f) { f.state.private_mode = false; }, "StateDir",
     Level::failure, "chmod 700"},
    {"a full disk", [](D& f) { f.state.free_bytes = 1 << 20; }, "StateDir", Level::failure,
     "1 MiB free"},
    {"a backup that does not share StateDir",
     [](D& f) {
         f.slurm.config.controllers.push_back("ctl2");
         f.state.beside_slurms = false;
     },
     "StateDir", Level::failure, "backup controller"},
    {"a backup that shares it", [](D& f) { f.slurm.config.controllers.push_back("ctl2"); },
     "StateDir", Level::ok, "shared"},
    {"no snapshot", [](D& f) { f.state.snapshot_age.reset(); }, "plugin at work", Level::failure,
     "no snapshot"},
    {"an old snapshot", [](D& f) { f.state.snapshot_age = 41; }, "plugin at work", Level::failure,
     "41 s old"},
    {"the plugin refuses cohort.conf", [](D& f) { f.state.snapshot_fault = "line 1"; },
     "plugin at work", Level::failure, "does not use cohort.conf: line 1"},
    {"the timer is not enabled", [](D& f) { f.host.timer_enabled = false; }, "timer",
     Level::failure, "systemctl enable"},
    {"no systemd", [](D& f) { f.host.timer_enabled.reset(); }, "timer", Level::warning,
     "scohort advance -q"},
    {"an open breaker", [](D& f) { f.state.breaker = "401"; }, "breaker", Level::warning,
     "no rebuild begins: 401"},
    {"the guard is off", [](D& f) { f.state.guard_off = true; }, "guard", Level::warning,
     "scohort guard on"},
    {"MixedRevision=off",
     [](D& f) { f.configuration.settings.mixed_revision = MixedRevision::off; }, "guard",
     Level::warning, "MixedRevision=off"},
    {"a free-running clock", [](D& f) { f.host.clock_synchronised = false; }, "clock",
     Level::warning, "NTP"},
    {"unlabelled nodes", [](D& f) { f.slurm.nodes[1].record = {}; }, "labels", Level::warning,
     "1 of 2 nodes have none (n2)"},
    {"a node that is being rebuilt has no label",
     [](D& f) {
         f.slurm.nodes[1].record = {"", "", "", "", done(900)};
     },
     "labels", Level::ok, "being rebuilt"},
    {"Extra that is not JSON", [](D& f) { f.slurm.nodes[0].extra_is_ours = false; }, "node Extra",
     Level::failure, "not JSON on n1"},
    {"slurmd --extra in the defaults",
     [](D& f) { f.host.slurmd_options_file = "/etc/default/slurmd"; }, "node Extra", Level::failure,
     "/etc/default/slurmd starts slurmd with --extra"},
    {"Extra was replaced after a rebuild",
     [](D& f) {
         f.slurm.nodes[0].record = {};
         f.state.attempted_nodes = {"n1"};
     },
     "node Extra", Level::failure, "gone from n1"},
    {"Extra was replaced, the feature is there",
     [](D& f) {
         f.slurm.nodes[0].record = {};
         f.slurm.nodes[0].features = "gpu,rev_0123456789abcdef";
     },
     "node Extra", Level::failure, "gone from n1"},
    {"State=CLOUD", [](D& f) { f.slurm.nodes[0].state.cloud = true; }, "cloud nodes",
     Level::failure, "State=CLOUD on n1"},
    {"no room for a dynamic node",
     [](D& f) {
         f.slurm.nodes[0].state.dynamic = true;
         f.slurm.config.max_node_count = 2;
     },
     "MaxNodeCount", Level::warning, "no further node"},
    {"little room for dynamic nodes",
     [](D& f) {
         f.slurm.nodes.resize(9, f.slurm.nodes[0]);
         f.slurm.nodes[0].state.dynamic = true;
         f.slurm.config.max_node_count = 10;
     },
     "MaxNodeCount", Level::warning, "soon"},
    {"an older slurmd", [](D& f) { f.slurm.nodes[0].version = "23.11.10"; }, "slurmd versions",
     Level::warning, "another release on n1"},
    {"a node's clock ahead", [](D& f) { f.slurm.nodes[0].boot_time = 2003; }, "node clocks",
     Level::failure, "ahead of this machine's on n1"},
    {"a node's clock behind", [](D& f) { f.slurm.nodes[0].record.want = done(1003); },
     "node clocks", Level::failure, "behind this machine's on n1"},
    {"within two seconds",
     [](D& f) {
         f.slurm.nodes[0].record.want = done(1002);
         f.slurm.nodes[1].boot_time = 2002;
     },
     "node clocks", Level::ok, "no node"},
};

const Row cloud_rows[] = {
    {"clouds.yaml readable by others", [](D& f) { f.cloud.file_fault = "x is readable by others"; },
     "clouds.yaml", Level::failure, "readable by others"},
    {"then the rest is said not to be looked at", [](D& f) { f.cloud.file_fault = "x"; }, "images",
     Level::warning, "not looked at"},
    {"http", [](D& f) { f.cloud.encrypted = false; }, "clouds.yaml", Level::warning, "Use https"},
    {"verify: false", [](D& f) { f.cloud.verified = false; }, "clouds.yaml", Level::warning,
     "verify is off"},
    {"a revoked credential", [](D& f) { f.cloud.fault = "keystone refused to sign us in"; },
     "credential", Level::failure, "refused to sign us in"},
    {"only member", [](D& f) { f.cloud.roles = {"member"}; }, "credential", Level::failure,
     "it lacks reader"},
    {"only reader", [](D& f) { f.cloud.roles = {"Reader"}; }, "credential", Level::failure,
     "it lacks member"},
    {"admin", [](D& f) { f.cloud.roles = {"admin"}; }, "credential", Level::warning,
     "more than is needed"},
    {"the cloud's clock", [](D& f) { f.cloud.clock_ahead_ms = -61000; }, "cloud's clock",
     Level::warning, "61 s behind"},
    {"a bad desired file",
     [](D& f) { f.cloud.wanted[0].file_fault = "n1.yml: image_id is templated"; }, "desired files",
     Level::failure, "image_id is templated"},
    {"no desired file", [](D& f) { f.cloud.wanted[0].has_file = false; }, "desired files",
     Level::warning, "for n1"},
    {"an unknown server", [](D& f) { f.cloud.wanted[0].server = "nobody"; }, "servers",
     Level::failure, "n1: the cloud has no such server"},
    {"a node that is powered down needs no server",
     [](D& f) {
         f.cloud.servers.clear();
         for (auto& w : f.cloud.wanted) w.powered_down = true;
     },
     "servers", Level::ok, "each of 0 nodes"},
    {"a node of State=CLOUD without a flavor",
     [](D& f) {
         power_saving(f);
         f.cloud.wanted[1].power_fault = "flavor_id is set nowhere";
     },
     "servers to be made", Level::failure, "n2: flavor_id is set nowhere"},
    {"found by name", [](D& f) { f.cloud.wanted[0].server.clear(); }, "servers", Level::ok,
     "each of 2 nodes"},
    {"several of that name",
     [](D& f) {
         f.cloud.wanted[0].server.clear();
         f.cloud.servers.push_back(f.cloud.servers[0]);
     },
     "servers", Level::failure, "several of that name"},
    {"two nodes, one server", [](D& f) { f.cloud.wanted[0].server = f.cloud.wanted[1].server; },
     "servers", Level::failure, "n1, n2 name the same server"},
    {"locked", [](D& f) { f.cloud.servers[1].locked = true; }, "locked servers", Level::failure,
     "n2: the cloud refuses"},
    {"locked and Unlock=yes",
     [](D& f) { f.cloud.servers[1].locked = f.configuration.settings.unlock = true; },
     "locked servers", Level::ok, "none"},
    {"volume-backed", [](D& f) { f.cloud.servers[0].volume_backed = true; },
     "volume-backed servers", Level::failure, "n1: a rebuild would wipe"},
    {"volume-backed and allowed",
     [](D& f) {
         f.cloud.servers[0].volume_backed = f.configuration.settings.allow_volume_rebuild = true;
     },
     "volume-backed servers", Level::ok, "none"},
    {"a server in ERROR", [](D& f) { f.cloud.servers[0].status = "ERROR"; }, "servers in ERROR",
     Level::warning, "n1"},
    {"no such image", [](D& f) { f.cloud.images[0].fault = "no image is named 'v2'"; }, "images",
     Level::failure, "no image is named"},
    {"an image that is not active",
     [](D& f) {
         f.cloud.images[0].state.usable = false;
         f.cloud.images[0].state.why_not = "image v2 is deactivated";
     },
     "images", Level::failure, "deactivated"},
    {"min_disk above the server's disk", [](D& f) { f.cloud.images[0].state.min_disk_gb = 21; },
     "images", Level::failure, "needs a disk of 21 GiB, n1 has 20"},
    {"larger than the server's disk",
     [](D& f) { f.cloud.images[0].state.bytes = (20LL << 30) + 1; }, "images", Level::failure,
     "needs a disk of 21 GiB"},
    {"min_ram", [](D& f) { f.cloud.images[0].state.min_ram_mb = 8192; }, "images", Level::failure,
     "8192 MiB of memory"},
    {"a flavor that does not tell its disk",
     [](D& f) {
         f.cloud.images[0].state.min_disk_gb = 90;
         for (auto& s : f.cloud.servers) s.disk_gb = 0;
     },
     "images", Level::ok, "they fit"},
    {"no stamp", [](D& f) { f.cloud.images[0].state.stamp.clear(); }, "stamps", Level::warning,
     "no property cohort_stamp on v2 (image-2)"},
    {"no stamp where one is needed",
     [](D& f) {
         f.cloud.images[0].state.stamp.clear();
         f.configuration.settings.accept_weak_proof = false;
     },
     "stamps", Level::failure, "AcceptWeakProof=no"},
};

const Finding* find(const Findings& found, std::string_view check, Level level) {
    for (const auto& finding : found)
        if (finding.check == check && finding.level == level) return &finding;
    return nullptr;
}

void show(const Row& row) {
    auto facts = good();
    row.change(facts);
    const auto found = examine(facts);
    const auto* finding = find(found, row.check, row.level);
    std::string all;
    for (const auto& one : found)
        if (one.check == row.check) all += one.text + "\n";
    unit::expect(finding != nullptr, fmt::format("{} at that level: {}", row.check, all));
    unit::expect_contains(finding->text, row.sentence);
}

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
    const auto add = [&](const auto& rows) {
        for (const auto& row : rows) rules.push_back({row.words, [&row] { show(row); }});
    };
    add(slurm_rows);
    add(job_rows);
    add(site_rows);
    add(cloud_rows);
    return unit::run("doctor", std::move(rules));
}
