// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/slurm/load.hpp"

#include <cerrno>

#include <fmt/core.h>

#include "common/slurm/handles.hpp"
#include "common/slurm/hostlist.hpp"
#include "common/slurm/node_state.hpp"

namespace cohort::slurm {
namespace {

tl::unexpected<Error> rpc_failure(std::string_view what, int error) {
    const Errc code = error == ESLURM_INVALID_NODE_NAME || error == ESLURM_INVALID_JOB_ID
                          ? Errc::not_found
                          : Errc::unreachable;
    return fail(code,
                fmt::format("cannot read {} from slurmctld: {}", what, slurm_strerror(error)));
}

Node convert(const node_info_t& raw) {
    Node node;
    node.name = text(raw.name);
    node.address = text(raw.node_addr);
    node.hostname = text(raw.node_hostname);
    node.state = node_state(raw.node_state);
    node.reason = text(raw.reason);
    node.extra = text(raw.extra);
    if (auto record = parse_extra(node.extra)) {
        node.record = std::move(*record);
    } else {
        node.extra_is_ours = false;
    }
    node.features = text(raw.features);
    node.active_features = text(raw.features_act);
    node.boot_time = raw.boot_time;
    node.slurmd_start_time = raw.slurmd_start_time;
    node.cpus = raw.cpus;
    node.version = text(raw.version);
    return node;
}

Partition convert(const partition_info_t& raw) {
    Partition partition;
    partition.name = text(raw.name);
    if (auto nodes = expand_hosts(text(raw.nodes))) partition.nodes = std::move(*nodes);
    partition.is_default = raw.flags & PART_FLAG_DEFAULT;
    partition.up = raw.state_up == PARTITION_UP;
    partition.root_may_submit = !(raw.flags & PART_FLAG_NO_ROOT);
    partition.priority_tier = raw.priority_tier;
    const auto mode = static_cast<std::uint32_t>(raw.preempt_mode);
    partition.preempts = raw.preempt_mode == NO_VAL16 || (mode & ~PREEMPT_MODE_GANG) != 0;
    if (raw.max_time != INFINITE) partition.max_time_minutes = raw.max_time;
    return partition;
}

std::string id_text(const slurm_job_info_t& raw) {
    if (raw.array_job_id == 0) return fmt::format("{}", compat::job_id(raw));
    if (raw.array_task_str && *raw.array_task_str)
        return fmt::format("{}_[{}]", raw.array_job_id, raw.array_task_str);
    return fmt::format("{}_{}", raw.array_job_id, raw.array_task_id);
}

Job convert(const slurm_job_info_t& raw) {
    Job job;
    job.id = compat::job_id(raw);
    job.array_id = raw.array_job_id;
    job.het_id = raw.het_job_id == NO_VAL ? 0 : raw.het_job_id;
    job.id_text = id_text(raw);
    job.user_id = raw.user_id;
    job.name = text(raw.name);
    job.partition = text(raw.partition);
    job.features = text(raw.features);
    job.prefer = text(raw.prefer);
    job.admin_comment = text(raw.admin_comment);
    job.requested_nodes = text(raw.req_nodes);
    job.excluded_nodes = text(raw.exc_nodes);
    job.nodes = text(raw.nodes);
    job.reservation = text(raw.resv_name);
    job.qos = text(raw.qos);
    job.min_nodes = raw.num_nodes;
    job.max_nodes = raw.max_nodes;
    job.tasks = raw.num_tasks;
    job.cpus = raw.num_cpus;
    if (raw.cpus_per_task != NO_VAL16) job.cpus_per_task = raw.cpus_per_task;
    job.job_wide_gres = raw.tres_per_job || raw.tres_per_socket || raw.tres_per_task;
    job.priority = raw.priority;
    job.reboot = raw.reboot != 0;
    job.batch = raw.batch_flag != 0;
    job.requeue = raw.requeue != 0;
    const auto base = raw.job_state & JOB_STATE_BASE;
    job.pending = base == JOB_PENDING;
    job.running = base == JOB_RUNNING || base == JOB_SUSPENDED;
    job.configuring = raw.job_state & JOB_CONFIGURING;
    job.completing = raw.job_state & JOB_COMPLETING;
    job.completed = base == JOB_COMPLETE;
    job.cancelled = base == JOB_CANCELLED;
    job.submit_time = raw.submit_time;
    job.start_time = raw.start_time;
    job.end_time = raw.end_time;
    if (raw.time_limit != INFINITE && raw.time_limit != NO_VAL)
        job.time_limit_minutes = raw.time_limit;
    return job;
}

std::vector<Job> convert(const job_info_msg_t& message) {
    std::vector<Job> jobs;
    jobs.reserve(message.record_count);
    for (std::uint32_t i = 0; i < message.record_count; ++i)
        jobs.push_back(convert(message.job_array[i]));
    return jobs;
}

Result<AssociationMessage> ask_accounting(std::uint32_t flags, std::string_view what) {
    assoc_mgr_info_request_msg_t request{};
    request.flags = flags;
    assoc_mgr_info_msg_t* raw = nullptr;
    if (slurm_load_assoc_mgr_info(&request, &raw) != SLURM_SUCCESS) return rpc_failure(what, errno);
    return AssociationMessage(raw);
}

// VISIT for every record of one of Slurm's lists; LIST may be null.
template <class Record, class List, class Visit>
void for_each(List list, Visit&& visit) {
    if (!list) return;
    auto* iterator = slurm_list_iterator_create(list);
    while (const auto* one = static_cast<const Record*>(slurm_list_next(iterator))) visit(*one);
    slurm_list_iterator_destroy(iterator);
}

}  // namespace

bool reconfigure_keeps_process() {
    return compat::reconfigure_keeps_process;
}

void initialise_library() {
    slurm_init(nullptr);
}

Result<std::vector<Node>> load_nodes() {
    node_info_msg_t* raw = nullptr;
    if (slurm_load_node(0, &raw, SHOW_ALL) != SLURM_SUCCESS) return rpc_failure("the nodes", errno);
    const NodeMessage message(raw);
    std::vector<Node> nodes;
    nodes.reserve(message->record_count);
    for (std::uint32_t i = 0; i < message->record_count; ++i)
        // Records of deleted dynamic nodes stay in the table without a name.
        if (message->node_array[i].name && *message->node_array[i].name)
            nodes.push_back(convert(message->node_array[i]));
    return nodes;
}

Result<Node> load_node(const std::string& name) {
    node_info_msg_t* raw = nullptr;
    std::string copy = name;  // the API takes a mutable pointer
    if (slurm_load_node_single(&raw, copy.data(), SHOW_ALL) != SLURM_SUCCESS)
        return rpc_failure("node " + name, errno);
    const NodeMessage message(raw);
    for (std::uint32_t i = 0; i < message->record_count; ++i)
        if (text(message->node_array[i].name) == name) return convert(message->node_array[i]);
    return fail(Errc::not_found, fmt::format("Slurm knows no node {}", name));
}

Result<std::vector<Partition>> load_partitions() {
    partition_info_msg_t* raw = nullptr;
    if (slurm_load_partitions(0, &raw, SHOW_ALL) != SLURM_SUCCESS)
        return rpc_failure("the partitions", errno);
    const PartitionMessage message(raw);
    std::vector<Partition> partitions;
    for (std::uint32_t i = 0; i < message->record_count; ++i)
        partitions.push_back(convert(message->partition_array[i]));
    return partitions;
}

Result<std::vector<Reservation>> load_reservations() {
    reserve_info_msg_t* raw = nullptr;
    if (slurm_load_reservations(0, &raw) != SLURM_SUCCESS)
        return rpc_failure("the reservations", errno);
    const ReservationMessage message(raw);
    std::vector<Reservation> reservations;
    for (std::uint32_t i = 0; i < message->record_count; ++i) {
        const auto& one = message->reservation_array[i];
        Reservation reservation{
            text(one.name), {}, one.start_time, one.end_time, (one.flags & RESERVE_FLAG_FLEX) != 0};
        if (auto nodes = expand_hosts(text(one.node_list))) reservation.nodes = std::move(*nodes);
        reservations.push_back(std::move(reservation));
    }
    return reservations;
}

Result<std::vector<Job>> load_jobs() {
    job_info_msg_t* raw = nullptr;
    if (slurm_load_jobs(0, &raw, SHOW_ALL | SHOW_DETAIL) != SLURM_SUCCESS)
        return rpc_failure("the jobs", errno);
    return convert(*JobMessage(raw));
}

Result<std::vector<Job>> load_jobs_of(std::uint32_t user_id) {
    job_info_msg_t* raw = nullptr;
    if (slurm_load_job_user(&raw, user_id, SHOW_ALL | SHOW_DETAIL) != SLURM_SUCCESS)
        return rpc_failure(fmt::format("the jobs of user {}", user_id), errno);
    return convert(*JobMessage(raw));
}

Result<std::vector<Job>> load_records_of(std::uint32_t job_id) {
    job_info_msg_t* raw = nullptr;
    if (compat::load_job(&raw, job_id) != SLURM_SUCCESS)
        return rpc_failure(fmt::format("job {}", job_id), errno);
    return convert(*JobMessage(raw));
}

Result<Job> load_job(std::uint32_t job_id) {
    auto records = load_records_of(job_id);
    if (!records) return tl::unexpected(records.error());
    if (records->empty())
        return fail(Errc::not_found, fmt::format("Slurm knows no job {}", job_id));
    return std::move(records->front());
}

Result<ControllerConfig> load_controller_config() {
    slurm_conf_t* raw = nullptr;
    if (slurm_load_ctl_conf(0, &raw) != SLURM_SUCCESS)
        return rpc_failure("the configuration", errno);
    const ConfigMessage message(raw);
    ControllerConfig config;
    config.cluster = text(message->cluster_name);
    config.slurm_user_id = message->slurm_user_id;
    config.slurm_user = text(message->slurm_user_name);
    config.state_save_location = text(message->state_save_location);
    config.slurm_version = text(message->version);
    config.plugin_dir = text(message->plugindir);
    config.job_submit_plugins = text(message->job_submit_plugins);
    config.scheduler_parameters = text(message->sched_params);
    config.slurmctld_parameters = text(message->slurmctld_params);
    config.reboot_program = text(message->reboot_program);
    config.preempt_type = text(message->preempt_type);
    config.preemption = (message->preempt_mode & ~PREEMPT_MODE_GANG) != 0;
    config.preempt_within = (message->preempt_mode & PREEMPT_MODE_WITHIN) != 0;
    config.resume_timeout = message->resume_timeout;
    config.return_to_service = message->ret2service;
    // ACCOUNTING_ENFORCE_ASSOCS, in no public header; the other limits imply it.
    config.associations_enforced = (message->accounting_storage_enforce & 0x1) != 0;
    config.resume_program = text(message->resume_program);
    config.suspend_program = text(message->suspend_program);
    config.resume_fail_program = text(message->resume_fail_program);
    config.suspend_timeout = message->suspend_timeout;
    config.hides_powered_down = compat::hides_powered_down(*message);
    config.launch_parameters = text(message->launch_params);
    config.plugstack = text(message->plugstack);
    config.controller_prologs = compat::controller_prologs(*message);
    config.prolog_alloc = message->prolog_flags & PROLOG_FLAG_ALLOC;
    config.prolog_defer_batch = message->prolog_flags & PROLOG_FLAG_DEFER_BATCH;
    config.keep_partition_state = message->reconfig_flags & RECONFIG_KEEP_PART_STAT;
    config.max_node_count = message->max_node_cnt;
    for (std::uint32_t i = 0; i < message->control_cnt; ++i)
        config.controllers.push_back(text(message->control_machine[i]));
    return config;
}

Result<std::vector<Qos>> load_qos() {
    auto message = ask_accounting(ASSOC_MGR_INFO_FLAG_QOS, "the QOS list");
    if (!message) return tl::unexpected(message.error());
    std::vector<Qos> all;
    for_each<slurmdb_qos_rec_t>((*message)->qos_list, [&all](const slurmdb_qos_rec_t& one) {
        // No bit set: nobody to preempt. The list of names is empty in answers of slurmctld.
        const bool preempts = one.preempt_bitstr && slurm_bit_ffs(one.preempt_bitstr) >= 0;
        all.push_back({text(one.name), preempts, (one.preempt_mode & PREEMPT_MODE_WITHIN) != 0});
    });
    return all;
}

Result<Accounting> load_accounting() {
    auto message =
        ask_accounting(ASSOC_MGR_INFO_FLAG_ASSOC | ASSOC_MGR_INFO_FLAG_USERS, "the associations");
    if (!message) return tl::unexpected(message.error());
    Accounting all;
    for_each<slurmdb_assoc_rec_t>((*message)->assoc_list, [&all](const slurmdb_assoc_rec_t& one) {
        Association association{text(one.acct), text(one.parent_acct), text(one.user), one.uid,
                                one.is_def == 1};
        all.associations.push_back(std::move(association));
    });
    for_each<slurmdb_user_rec_t>((*message)->user_list, [&all](const slurmdb_user_rec_t& one) {
        if (one.admin_level >= SLURMDB_ADMIN_OPERATOR && one.uid != NO_VAL)
            all.operators.push_back(one.uid);
    });
    return all;
}

std::uint32_t built_for() {
    return compat::built_for;
}

}  // namespace cohort::slurm
