// SPDX-License-Identifier: GPL-2.0-or-later
//
// What doctor says of the site's files, nodes and cloud.
#include "tests/unit/doctor_fixture.hpp"

using namespace cohort;
using namespace doctor_fixture;

namespace {

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
    {"a node that Slurm gave up at ResumeTimeout",
     [](D& f) {
         f.slurm.nodes[0].state.base = NodeState::Base::down;
         f.slurm.nodes[0].reason = "ResumeTimeout reached";
     },
     "stuck nodes", Level::warning, "n1 did not come back"},
    {"the same of a reboot by scontrol",
     [](D& f) {
         f.slurm.nodes[0].state.base = NodeState::Base::down;
         f.slurm.nodes[0].reason = "reboot timed out";
     },
     "stuck nodes", Level::warning, "n1 did not come back"},
    {"our own reason says more",
     [](D& f) {
         f.slurm.nodes[0].state.base = NodeState::Base::down;
         f.slurm.nodes[0].reason = "cohort: ResumeTimeout reached";
     },
     "stuck nodes", Level::ok, "none is left over"},
    {"powered down where nobody wakes it [26.05]",
     [](D& f) { f.slurm.nodes[1].state.powered_down = true; }, "stuck nodes", Level::warning,
     "n2 counts as powered down"},
    {"powered down where Slurm wakes it",
     [](D& f) {
         power_saving(f);
         f.slurm.nodes[1].state.powered_down = true;
     },
     "stuck nodes", Level::ok, "none"},
    {"a reboot that Slurm still waits for on a node that answers",
     [](D& f) {
         f.slurm.nodes[1].state.base = NodeState::Base::down;
         f.slurm.nodes[1].state.reboot_issued = true;
     },
     "stuck nodes", Level::warning, "n2 answers"},
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

}  // namespace

int main() {
    std::vector<unit::Rule> rules;
    add_rows(rules, site_rows);
    add_rows(rules, cloud_rows);
    return unit::run("doctor, the site", std::move(rules));
}
