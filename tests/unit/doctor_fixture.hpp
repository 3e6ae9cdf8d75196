// SPDX-License-Identifier: GPL-2.0-or-later
//
// A site without a fault, and rows that each spoil one thing of it. For doctor_test.cpp and
// doctor_site_test.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rebootprog/doctor/doctor_checks.hpp"
#include "tests/unit/unit.hpp"

namespace doctor_fixture {

using namespace cohort;
using Level = Finding::Level;

inline Node good_node(const char* name) {
    Node node;
    node.name = name;
    node.state.base = NodeState::Base::idle;
    node.record.revision = "rev_0123456789abcdef";
    node.version = "22.05.8";
    node.boot_time = node.slurmd_start_time = 1000;
    return node;
}

inline SlurmFacts good_slurm() {
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

inline CloudFacts good_cloud() {
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

inline DoctorFacts good() {
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

inline Want done(std::int64_t at) {
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

inline void power_saving(DoctorFacts& facts) {
    auto& config = facts.slurm.config;
    config.resume_program = "/usr/sbin/cohort-resume";
    config.suspend_program = "/usr/sbin/cohort-suspend";
    config.resume_fail_program = "/usr/sbin/cohort-resume-fail";
}

inline const Finding* find(const Findings& found, std::string_view check, Level level) {
    for (const auto& finding : found)
        if (finding.check == check && finding.level == level) return &finding;
    return nullptr;
}

inline void show(const Row& row) {
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

template <std::size_t N>
void add_rows(std::vector<unit::Rule>& rules, const Row (&rows)[N]) {
    for (const auto& row : rows) rules.push_back({row.words, [&row] { show(row); }});
}

}  // namespace doctor_fixture
