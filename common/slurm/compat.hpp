// SPDX-License-Identifier: GPL-2.0-or-later
//
// Every difference between Slurm versions that this project meets, and what Slurm exports without
// declaring. The only place with SLURM_VERSION_NUMBER.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

extern "C" {
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>
#include <slurm/slurmdb.h>

// Exported by the host process in 22.05, 24.11 and 26.05, declared in no public header. Strings put
// into a job_desc_msg_t or *err_msg must come from slurm_xstrdup: Slurm frees them with its own
// xfree.
char* slurm_xstrdup(const char*);
void slurm_xfree(void**);
void* slurm_xcalloc(std::size_t, std::size_t, bool, bool, const char*, int, const char*);
bitoff_t slurm_bit_ffs(bitstr_t*);                                // first bit that is set, or -1
void slurm_free_will_run_response_msg(will_run_response_msg_t*);  // named in slurm.h, in a comment
void slurm_info(const char* format, ...) __attribute__((format(printf, 1, 2)));
int slurm_error(const char* format, ...) __attribute__((format(printf, 1, 2)));

// slurmctld's partition table, used by Slurm's own job_submit plugins. Null in a standby
// controller, which loads plugins before it takes over; absent in every other process.
extern void* part_list __attribute__((weak));
}

// slurmctld's list of the features that nodes have now, and one entry of it [slurmctld.h of 22.05].
// Read only up to 23.02 (common/slurm/live_features.hpp).
extern "C" void* active_feature_list __attribute__((weak));
struct CohortNodeFeature {
    std::uint32_t magic;
    char* name;
    bitstr_t* node_bitmap;
};
constexpr std::uint32_t cohort_feature_magic = 0x34dfd8b5;

// The hook job_modify got a message for the user with 23.02; nothing checks the number for us.
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
#define COHORT_JOB_MODIFY_PARAMETERS \
    job_desc_msg_t *job, [[maybe_unused]] void *record, std::uint32_t uid, char **message
#define COHORT_JOB_MODIFY_MESSAGE message
#else
#define COHORT_JOB_MODIFY_PARAMETERS \
    job_desc_msg_t *job, [[maybe_unused]] void *record, std::uint32_t uid
#define COHORT_JOB_MODIFY_MESSAGE nullptr
#endif

#define COHORT_SLURM_AT_LEAST(major, minor) \
    (SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(major, minor, 0))

namespace cohort::slurm::compat {

constexpr std::uint32_t built_for = SLURM_VERSION_NUMBER;

#if COHORT_SLURM_AT_LEAST(23, 11)
using Hostlist = hostlist_t*;
#else
using Hostlist = hostlist_t;
#endif

#if COHORT_SLURM_AT_LEAST(25, 11)
inline std::uint32_t job_id(const submit_response_msg_t& response) {
    return response.step_id.job_id;
}
inline std::uint32_t job_id(const job_desc_msg_t& job) {
    return job.step_id.job_id;
}
inline void set_job_id(job_desc_msg_t& job, std::uint32_t id) {
    job.step_id.job_id = id;
}
#else
inline std::uint32_t job_id(const submit_response_msg_t& response) {
    return response.job_id;
}
inline std::uint32_t job_id(const job_desc_msg_t& job) {
    return job.job_id;
}
inline void set_job_id(job_desc_msg_t& job, std::uint32_t id) {
    job.job_id = id;
}
#endif

#if COHORT_SLURM_AT_LEAST(26, 5)
inline std::uint32_t job_id(const slurm_job_info_t& job) {
    return job.step_id.job_id;
}
inline slurm_step_id_t step_id(std::uint32_t id) {
    slurm_step_id_t step = SLURM_STEP_ID_INITIALIZER;
    step.job_id = id;
    return step;
}
inline int load_job(job_info_msg_t** out, std::uint32_t id) {
    return slurm_load_job(out, step_id(id), SHOW_DETAIL);
}
inline int kill_job(std::uint32_t id) {
    return slurm_kill_job(step_id(id), 9, 0);
}
inline int requeue_job(std::uint32_t id) {
    return slurm_requeue(step_id(id), 0);
}
inline int notify_job(std::uint32_t id, char* text) {
    return slurm_notify_job(step_id(id), text);
}
#else
inline int load_job(job_info_msg_t** out, std::uint32_t id) {
    return slurm_load_job(out, id, SHOW_DETAIL);
}
inline int kill_job(std::uint32_t id) {
    return slurm_kill_job(id, 9, 0);
}
inline int requeue_job(std::uint32_t id) {
    return slurm_requeue(id, 0);
}
inline int notify_job(std::uint32_t id, char* text) {
    return slurm_notify_job(id, text);
}
#if COHORT_SLURM_AT_LEAST(25, 11)
inline std::uint32_t job_id(const slurm_job_info_t& job) {
    return job.step_id.job_id;
}
#else
inline std::uint32_t job_id(const slurm_job_info_t& job) {
    return job.job_id;
}
#endif
#endif

#if COHORT_SLURM_AT_LEAST(26, 5)
inline void free_config(slurm_conf_t* config) {
    slurm_free_conf(config);
}
#else
inline void free_config(slurm_conf_t* config) {
    slurm_free_ctl_conf(config);
}
#endif

// Up to 23.02 `scontrol reconfigure` keeps the process and its plugins, and drops node features.
constexpr bool reconfigure_keeps_process = !COHORT_SLURM_AT_LEAST(23, 11);

// Up to 22.05 a powered down node of State=CLOUD is on no list, unless PrivateData=cloud.
inline bool hides_powered_down([[maybe_unused]] const slurm_conf_t& config) {
#if COHORT_SLURM_AT_LEAST(23, 2)
    return false;
#else
    return (config.private_data & PRIVATE_CLOUD_NODES) == 0;
#endif
}

// PrologSlurmctld: one program in 22.05, a list in 24.11.
template <class Config>
std::vector<std::string> controller_prologs(const Config& config) {
    std::vector<std::string> programs;
    if constexpr (requires { config.prolog_slurmctld_cnt; }) {
        for (std::uint32_t i = 0; i < config.prolog_slurmctld_cnt; ++i)
            programs.emplace_back(config.prolog_slurmctld[i]);
    } else {
        if (config.prolog_slurmctld) programs.emplace_back(config.prolog_slurmctld);
    }
    return programs;
}

// update_node_msg_t.reason_uid: gone in 26.05, where slurmctld takes the caller's identity itself.
#if COHORT_SLURM_AT_LEAST(26, 5)
inline void set_reason_uid(update_node_msg_t&, std::uint32_t) {}
#else
inline void set_reason_uid(update_node_msg_t& message, std::uint32_t uid) {
    message.reason_uid = uid;
}
#endif

// Does this process control the cluster now (true where it cannot be told)?
inline bool in_active_controller() {
    return !&part_list || __atomic_load_n(&part_list, __ATOMIC_RELAXED) != nullptr;
}

}  // namespace cohort::slurm::compat
