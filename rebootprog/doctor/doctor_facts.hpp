// SPDX-License-Identifier: GPL-2.0-or-later
//
// What `scohort doctor` has read, as plain values: the checks are pure functions of them.
//
// doctor_collect.cpp fills it and judges nothing; doctor_checks.hpp judges and reads nothing. A
// part that could not be read says why in its `fault`; its checks are then named as not done.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/cluster.hpp"
#include "common/settings.hpp"
#include "rebootprog/cloud/backend.hpp"
#include "rebootprog/node/doctor_runtime.hpp"
#include "rebootprog/reboot/decide.hpp"

namespace cohort {

struct ConfigurationFacts {
    std::string file;
    std::string fault;  // why it is not used
    bool exists = true;
    Settings settings;  // the defaults when there is a fault
};

struct SlurmFacts {
    ControllerConfig config;
    std::uint32_t built_for = 0;  // the version that scohort was compiled for
    std::vector<Node> nodes;
    std::vector<Partition> partitions;
    std::optional<std::vector<Qos>> qos;      // nothing: it could not be read
    std::optional<bool> job_user_associated;  // RebuildJobUser may submit; nothing: not known
};

struct HostFacts {
    std::int64_t now = 0;
    // Of PrologSlurmctld: those that cannot be run, and whether one is or calls cohort-gate.
    std::vector<std::string> prolog_faults;
    bool gate_called = false;
    std::string reboot_program_fault;       // why SlurmUser cannot execute RebootProgram
    std::vector<std::string> power_faults;  // of the programs of power saving, as "PROGRAM: why"
    std::uint32_t job_submit_version = 0;   // of job_submit_cohort.so; 0: see the fault
    std::string job_submit_fault;
    std::vector<std::string> unknown_users;  // of RebuildUsers and RebuildJobUser
    std::string slurmd_options_file;         // has --extra among slurmd's options
    std::optional<bool> timer_enabled;       // nothing: no systemd here
    bool clock_synchronised = true;          // the kernel's own word
    RuntimeView runtime;                     // plugstack.conf and spank_cohort.so
    std::string plugstack_fault;
};

struct StateFacts {
    std::string dir;
    std::string fault;          // it cannot be used: why
    bool private_mode = true;   // nobody but SlurmUser can write there
    bool beside_slurms = true;  // on the file system of StateSaveLocation
    std::uint64_t free_bytes = UINT64_MAX;
    std::optional<double> snapshot_age;  // seconds; nothing: the plugin wrote none
    std::string snapshot_fault;          // why the plugin does not use cohort.conf
    std::string breaker;                 // why it is open
    std::string barrier;                 // which cohort one keeps closed, since when, and why
    bool guard_off = false;
    // Seconds from the beginning of a rebuild to the boot of the node, of those that are on record.
    std::vector<std::int64_t> rebuild_seconds;
    std::vector<std::string> attempted_nodes;  // whose newest attempt succeeded
};

struct CloudFacts {
    std::string file_fault;  // of CloudsFile
    std::string fault;       // the cloud is out of reach, or refuses us
    bool verified = true;    // TLS certificates are
    bool encrypted = true;   // auth_url is https
    std::vector<std::string> roles;
    std::optional<std::int64_t> clock_ahead_ms;
    std::vector<ServerState> servers;
    struct Wanted {
        std::string node, file_fault;  // why the desired file cannot be used
        bool has_file = true;
        bool powered_down = false;  // it need not have a server now
        std::string power_fault;    // State=CLOUD: why no server could be made for it
        std::string server, image;  // as written there
    };
    std::vector<Wanted> wanted;   // one for each node of nova
    std::size_t other_nodes = 0;  // nodes of other back ends
    struct Command {
        std::string program, kind, fault;  // fault: why it does not work
    };
    std::vector<Command> commands;  // BackendCommand of each other back end
    struct Image {
        std::string asked, fault;
        ImageState state;
    };
    std::vector<Image> images;  // each that some node wants, once
};

struct DoctorFacts {
    ConfigurationFacts configuration;
    std::string slurm_fault;  // slurmctld does not answer: nothing but the configuration was read
    SlurmFacts slurm;
    HostFacts host;
    StateFacts state;
    CloudFacts cloud;
};

}  // namespace cohort
