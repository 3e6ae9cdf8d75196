// SPDX-License-Identifier: GPL-2.0-or-later
//
// The cluster as plain values: what common/slurm reads from slurmctld, without a Slurm type in it.
//
// Everything here is copied out of Slurm's messages, owns its memory and may cross threads. The
// decisions of the plugins and programs are functions of these values.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/node_record.hpp"

namespace cohort {

// A node's state, split into the parts that decisions need (Slurm shows them as
// BASE+FLAG+FLAG...). An unknown base is Base::unknown, never idle.
struct NodeState {
    enum class Base { unknown, down, idle, allocated, mixed, future };
    Base base = Base::unknown;
    bool drain = false;
    bool fail = false;
    bool completing = false;
    bool not_responding = false;
    bool reboot_requested = false;
    bool reboot_issued = false;
    bool powering_up = false;
    bool power_saving = false;  // powered or powering down, or power-down requested
    bool powered_down = false;
    bool invalid_registration = false;
    bool maintenance = false;
    bool reserved = false;
    bool planned = false;
    bool dynamic = false;
    bool cloud = false;

    // Runs or may still hold user work: allocated, mixed or completing.
    bool busy() const;
    bool rebooting() const { return reboot_requested || reboot_issued || powering_up; }
    // Could take a user's job now.
    bool available() const;
    std::string text() const;  // "IDLE+DRAIN", for people
};

struct Node {
    std::string name;
    std::string address;
    std::string hostname;
    NodeState state;
    std::string reason;
    std::string extra;          // as it is
    bool extra_is_ours = true;  // false: not a JSON object, never written
    NodeRecord record;          // parsed from extra
    std::string features;       // available, comma-separated
    std::string active_features;
    std::int64_t boot_time = 0;  // 0: never registered
    std::int64_t slurmd_start_time = 0;
    std::uint32_t cpus = 0;
    std::string version;  // slurmd's

    bool has_our_reason() const { return is_our_reason(reason); }
};

struct Partition {
    std::string name;
    std::vector<std::string> nodes;  // expanded
    bool is_default = false;
    bool up = true;
    bool root_may_submit = true;  // false: DisableRootJobs
    std::uint16_t priority_tier = 1;
    bool preempts = false;               // its PreemptMode lets a higher tier stop its jobs
    std::uint32_t max_time_minutes = 0;  // 0: no limit
};

struct Reservation {
    std::string name;
    std::vector<std::string> nodes;
    std::int64_t start = 0, end = 0;
    bool flex = false;  // its jobs may use nodes outside of it too
};

// A QOS, as far as it decides whose jobs may be stopped.
struct Qos {
    std::string name;
    bool preempts = false;  // may preempt the jobs of another QOS
    bool within = false;    // may preempt jobs of lower priority of its own
};

// One user's right to charge an account, or (user empty) an account's place in the tree.
struct Association {
    std::string account, parent;  // parent: of an account's own record only
    std::string user;
    std::uint32_t user_id = 0xfffffffe;  // Slurm's NO_VAL: the controller cannot resolve the user
    bool standard = false;               // the user's default account
};

// What slurmctld knows from slurmdbd.
struct Accounting {
    std::vector<Association> associations;
    std::vector<std::uint32_t> operators;  // users with AdminLevel operator or higher
};

struct Job {
    std::uint32_t id = 0;
    std::uint32_t array_id = 0;
    std::uint32_t het_id = 0;
    std::string id_text;  // "12", "12_3", "12_[4-9]": what slurm_update_job2 takes
    std::uint32_t user_id = 0;
    std::string name;
    std::string partition;
    std::string features;
    std::string prefer;
    std::string admin_comment;
    std::string requested_nodes;  // host list expression
    std::string excluded_nodes;
    std::string nodes;  // allocated; host list expression
    std::string reservation;
    std::string qos;
    std::uint32_t min_nodes = 0;
    std::uint32_t max_nodes = 0;
    std::uint32_t tasks = 0;
    std::uint32_t cpus = 0;
    std::uint32_t cpus_per_task = 0;
    bool job_wide_gres = false;  // GPUs or the like counted per job, socket or task
    std::uint32_t priority = 0;  // 0: held
    bool reboot = false;
    bool batch = false, requeue = false;  // requeue: Slurm may start it again
    bool pending = false;
    bool running = false;      // includes suspended
    bool configuring = false;  // its nodes are being made ready
    bool completing = false;
    bool completed = false;  // ended by itself, with exit code 0
    bool cancelled = false;
    std::int64_t submit_time = 0, start_time = 0, end_time = 0;
    std::uint32_t time_limit_minutes = 0;

    bool held() const { return pending && priority == 0; }
    bool active() const { return pending || running || completing; }
};

// What of slurm.conf the suite decides by.
struct ControllerConfig {
    std::string cluster;
    std::uint32_t slurm_user_id = 0;
    std::string slurm_user;
    std::string state_save_location;
    std::string slurm_version;
    std::string plugin_dir;
    std::string job_submit_plugins;
    std::string scheduler_parameters;
    std::string slurmctld_parameters;
    std::string reboot_program;
    std::string plugstack;             // PlugStackConfig, resolved: SPANK plugins
    std::string preempt_type;          // "preempt/none" ...
    bool preemption = false;           // PreemptMode is not OFF
    bool preempt_within = false;       // PreemptMode has WITHIN: every QOS preempts within itself
    std::uint16_t resume_timeout = 0;  // seconds
    std::uint16_t return_to_service = 0;
    bool associations_enforced = false;  // AccountingStorageEnforce has associations
    std::string resume_program;          // not empty: power saving is on
    std::string suspend_program, resume_fail_program;
    std::uint16_t suspend_timeout = 0;  // seconds
    bool hides_powered_down = false;    // 22.05 shows such a CLOUD node to nobody
    std::string launch_parameters;
    std::vector<std::string> controller_prologs;  // PrologSlurmctld; 22.05 knows one
    bool prolog_alloc = false;                    // PrologFlags
    bool prolog_defer_batch = false;              // PrologFlags, meaningful from 24.11 on
    bool keep_partition_state = false;            // ReconfigFlags=KeepPartState
    std::uint32_t max_node_count = 0;             // MaxNodeCount; without it, the nodes there are
    std::vector<std::string> controllers;         // host names, primary first
};

}  // namespace cohort
