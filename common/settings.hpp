// SPDX-License-Identifier: GPL-2.0-or-later
//
// cohort.conf: what a site has set. load -> merge -> validate.
//
// `Key=Value` lines as in slurm.conf (# starts a comment); `Cohort=NAME Nodes=... Key=Value ...`
// lines override the site's values for some nodes; a value with blanks stands in double quotes
// there. An unknown key or a bad value is an error that names file, line and the nearest key.
// Values are plain data: copy them across threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"

namespace cohort {

enum class MixedRevision { confine, block, hold, off };  // strictness: block > hold > confine > off
enum class BackendKind { nova, reboot, exec };
enum class InventoryKind { none, nova, file, command };

// N nodes, or N percent of a cohort's nodes (rounded down, at least one).
struct Amount {
    std::uint32_t value = 0;
    bool percent = false;
    std::uint32_t of(std::uint32_t total) const;
};

struct Settings {
    // Where things are.
    std::string state_dir;  // empty: beside StateSaveLocation (the caller knows Slurm's)
    std::string desired_dir = "/etc/slurm/reboot_vars";
    std::string clouds_file = "/etc/openstack/clouds.yaml";
    std::string cloud;  // empty: the only one in the file
    BackendKind backend = BackendKind::nova;
    std::string backend_command;  // Backend=exec, reboot: argv template, words between blanks
    std::chrono::seconds backend_time{60};  // for one run of it
    std::string server_template;            // of desired files; empty: none

    // Rebuild jobs.
    std::vector<std::string> rebuild_users;  // empty: every Administrator
    std::string rebuild_job_user = "root";
    std::uint32_t rebuild_priority = 0xffff0000;  // Slurm's own top values mean something else
    std::string rebuild_qos;
    std::string rebuild_partition;
    std::chrono::seconds rebuild_time = std::chrono::minutes(30);
    std::string rebuild_license;

    // Pace.
    std::uint32_t max_pending_rebuilds = 20;
    std::uint32_t max_concurrent = 10;
    Amount max_unavailable{10, true};
    Amount min_available{0, false};
    std::uint32_t failure_budget = 2;
    std::chrono::seconds soft_reboot_time{120};
    std::chrono::seconds verify_wait{600};

    // Proof.
    std::string stamp_file;  // empty: /etc/os-release
    std::string stamp_property = "cohort_stamp";
    bool accept_weak_proof = true;
    std::string health_check;

    // Guard.
    MixedRevision mixed_revision = MixedRevision::confine;
    bool guard_single_node = false;
    bool guard_admins = false;
    std::chrono::milliseconds stale_after{30000};
    std::chrono::milliseconds refresh{2000};
    std::uint32_t sweep_rate = 20;  // jobs a second
    bool gate_no_requeue_allow = true;

    // Cloud.
    bool allow_volume_rebuild = false;
    bool unlock = false;
    bool cache_token = false;
    std::vector<std::string> denied_accounts;

    // scohort reconcile.
    InventoryKind inventory = InventoryKind::none;
    std::string inventory_file;
    std::string inventory_command;  // an argument vector, words between white space
    std::chrono::seconds inventory_timeout{60};
    std::chrono::seconds reconcile_age{120};
    std::chrono::seconds reconcile_grace{300};

    // scohort barrier.
    std::string barrier_test;  // an argument vector, words between white space
};

// One Cohort= line: the site's settings with that line's values over them.
struct CohortSettings {
    std::string name;
    std::string nodes;  // a host list expression, not expanded here
    Settings settings;
};

struct Configuration {
    Settings site;
    std::vector<CohortSettings> cohorts;  // in file order
};

// NAME appears in errors. An empty text is a valid configuration: the defaults.
Result<Configuration> parse_configuration(std::string_view text, std::string_view name);
Result<Configuration> load_configuration(const std::string& path);

// cohort.conf beside slurm.conf: the folder of $SLURM_CONF, else the one configured at build time.
std::string configuration_path();

// The fall-back when StateDir= is unset: a folder beside Slurm's own state.
std::string default_state_dir(const std::string& state_save_location);

}  // namespace cohort
