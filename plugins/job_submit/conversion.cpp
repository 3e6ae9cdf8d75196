// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/job_submit/conversion.hpp"

#include <unistd.h>

#include "common/slurm/handles.hpp"
#include "common/slurm/hostlist.hpp"
#include "common/text.hpp"

namespace cohort {
namespace {

std::vector<std::string> host_names(const char* expression) {
    auto names = slurm::expand_hosts(slurm::text(expression));
    // Slurm refuses what it cannot read itself; one name that nobody has is refused here.
    return names ? *names : std::vector<std::string>{slurm::text(expression)};
}

bool is_het(const job_desc_msg_t& job) {
    return job.het_job_offset != NO_VAL;
}

}  // namespace

bool wants_reboot(const job_desc_msg_t& job) {
    return job.reboot != 0 && job.reboot != NO_VAL16;
}

bool is_trusted(std::uint32_t uid) {
    return uid == 0 || uid == ::geteuid();  // slurmctld runs as SlurmUser
}

Submission read_submission(const job_desc_msg_t& job, std::uint32_t uid) {
    Submission s;
    s.caller = uid;
    s.owner = slurm::given(job.user_id).value_or(uid);
    s.trusted = is_trusted(uid);
    s.reboot = wants_reboot(job);
    s.array = job.array_inx && *job.array_inx;
    s.het = job.het_job_offset != NO_VAL;
    s.nodes = host_names(job.req_nodes);
    s.min_nodes = slurm::given(job.min_nodes);
    s.priority = slurm::given(job.priority);
    s.time_limit_minutes = slurm::given(job.time_limit);
    s.requeue_given = job.requeue != NO_VAL16;
    s.qos = slurm::text(job.qos);
    s.partition = slurm::text(job.partition);
    s.licenses = slurm::text(job.licenses);
    s.admin_comment = slurm::text(job.admin_comment);
    return s;
}

void apply(const RebuildDecision& decision, job_desc_msg_t& job) {
    const RebuildPlan& plan = decision.plan;
    if (decision.set_priority) job.priority = decision.priority;
    if (!plan.qos.empty()) slurm::set_text(job.qos, plan.qos);
    if (!plan.partition.empty()) slurm::set_text(job.partition, plan.partition);
    if (!plan.licenses.empty()) slurm::set_text(job.licenses, plan.licenses);
    if (plan.time_limit_minutes) job.time_limit = *plan.time_limit_minutes;
    if (plan.no_requeue) job.requeue = 0;
    slurm::set_text(job.admin_comment, decision.admin_comment);
    slurm::add_spank_variable(job, rebuild_variable, "1");
}

std::optional<guard::Request> read_placement(const job_desc_msg_t& job) {
    auto required = slurm::expand_hosts(slurm::text(job.req_nodes));
    auto excluded = slurm::expand_hosts(slurm::text(job.exc_nodes));
    if (!required || !excluded) return std::nullopt;
    guard::Request request;
    request.partition = slurm::text(job.partition);
    request.reservation = slurm::text(job.reservation);
    request.features = slurm::text(job.features);
    request.prefer = slurm::text(job.prefer);
    request.required = std::move(*required);
    request.excluded = std::move(*excluded);
    request.min_nodes = slurm::given(job.min_nodes).value_or(0);
    request.max_nodes = slurm::given(job.max_nodes).value_or(0);
    request.tasks = slurm::given(job.num_tasks).value_or(0);
    request.cpus = slurm::given(job.min_cpus).value_or(0);
    if (job.cpus_per_task != NO_VAL16) request.cpus_per_task = job.cpus_per_task;
    request.job_wide_gres = job.tres_per_job || job.tres_per_socket || job.tres_per_task;
    request.overcommit = job.overcommit == 1;
    request.het = is_het(job);
    return request;
}

void apply(const GuardAnswer& answer, job_desc_msg_t& job) {
    if (answer.features) slurm::set_text(job.features, *answer.features);
    if (answer.prefer) slurm::set_text(job.prefer, *answer.prefer);
    if (answer.partition) slurm::set_text(job.partition, *answer.partition);
    if (answer.admin_comment) slurm::set_text(job.admin_comment, *answer.admin_comment);
    if (answer.hold) job.priority = 0;
}

Change read_change(const job_desc_msg_t& job, std::uint32_t uid) {
    Change change;
    change.caller = uid;
    change.trusted = is_trusted(uid);
    const auto id = job.job_id_str ? text::to_number(job.job_id_str) : std::nullopt;
    const std::uint32_t number = slurm::given(slurm::compat::job_id(job)).value_or(0);
    change.job_id = id ? static_cast<std::uint32_t>(*id) : number;
    if (job.req_nodes) change.nodes = host_names(job.req_nodes);
    change.min_nodes = slurm::given(job.min_nodes);
    if (job.admin_comment) change.admin_comment = job.admin_comment;
    return change;
}

guard::PlacementChange read_placement_change(const job_desc_msg_t& job) {
    guard::PlacementChange change;
    const auto take = [](std::optional<std::string>& field, const char* value) {
        if (value) field = value;
    };
    take(change.partition, job.partition);
    take(change.reservation, job.reservation);
    take(change.features, job.features);
    take(change.prefer, job.prefer);
    if (job.req_nodes) change.required = host_names(job.req_nodes);
    if (job.exc_nodes) change.excluded = host_names(job.exc_nodes);
    change.min_nodes = slurm::given(job.min_nodes);
    change.max_nodes = slurm::given(job.max_nodes);
    change.tasks = slurm::given(job.num_tasks);
    change.release = job.priority != NO_VAL && job.priority != 0;
    return change;
}

}  // namespace cohort
