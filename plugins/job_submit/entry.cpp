// SPDX-License-Identifier: GPL-2.0-or-later
//
// job_submit_cohort: the entry points that slurmctld calls.
//
// Each is a conversion to values, one call of the core, and a conversion back, inside last_net():
// an exception that left a hook would kill slurmctld and lose acknowledged jobs. The answer when
// something fails: a rebuild job is refused with the reason, every other job passes.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>

#include <fmt/core.h>
#include <unistd.h>

#include "common/guard/mark.hpp"
#include "common/log.hpp"
#include "common/rebuild_mark.hpp"
#include "common/slurm/handles.hpp"
#include "common/slurm/hostlist.hpp"
#include "common/slurm/job_desc.hpp"
#include "common/text.hpp"
#include "plugins/job_submit/guard/guard_hooks.hpp"
#include "plugins/job_submit/hooks.hpp"
#include "plugins/job_submit/refresher.hpp"
#include "plugins/job_submit/source.hpp"
#include "plugins/job_submit/thread.hpp"

#define COHORT_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using namespace cohort;
using std::chrono::milliseconds;

constexpr std::string_view variable = "COHORT_REBUILD";

struct Plugin {
    Published<World> world;
    RebuildLedger ledger;
    Hooks hooks{world, ledger, [this] { wake(); }};
    GuardHooks guard_hooks{world, [](std::string_view list) { return slurm::expand_hosts(list); }};
    Refresher refresher{slurm_source(&slurm::compat::in_active_controller), configuration_path(),
                        ::geteuid(), world, ledger};
    std::unique_ptr<RefreshThread> thread;

    void wake() {
        // The job is created after the hook: look for it a moment later.
        if (thread) thread->wake(milliseconds(100));
    }
};

// Owned by plain pointers on purpose: fini() is not called when slurmctld ends, and a destructor at
// exit would meet the running thread. The thread owns a share, should it outlive fini().
std::shared_ptr<Plugin>* plugin = nullptr;

void slurm_sink(log::Level level, std::string_view line) {
    const int size = static_cast<int>(line.size());
    if (level == log::Level::error)
        slurm_error("job_submit/cohort: %.*s", size, line.data());
    else if (level != log::Level::debug)
        slurm_info("job_submit/cohort: %s%.*s", level == log::Level::warning ? "warning: " : "",
                   size, line.data());
}

// Runs BODY; whatever it throws becomes FALLBACK's answer.
template <class Body, class Fallback>
int last_net(const char* entry, Body&& body, Fallback&& fallback) noexcept {
    try {
        return body();
    } catch (const std::exception& e) {
        slurm_error("job_submit/cohort: %s: unexpected error: %s", entry, e.what());
    } catch (...) {
        slurm_error("job_submit/cohort: %s: unexpected error of an unknown kind", entry);
    }
    return fallback();
}

// slurmctld ends without fini(): the thread must not run into what exit() takes down. A child that
// was forked off has no such thread, only its locks.
void stop_at_exit() {
    static const pid_t owner = ::getpid();
    std::atexit([] {
        if (plugin && ::getpid() == owner) (*plugin)->thread->stop(milliseconds(500));
    });
}

void start() {
    log::set_sink(slurm_sink);
    auto fresh = std::make_shared<Plugin>();
    fresh->refresher.ask_for_held_jobs(
        [owner = fresh.get()] { return owner->guard_hooks.take_cold_holds(); });
    fresh->refresher.start();
    // 60 ms: on 22.05 a call before the port is open costs a second.
    fresh->thread = std::make_unique<RefreshThread>(
        "cohort", milliseconds(60), [owner = fresh.get()] { return owner->refresher.step(); });
    plugin = new std::shared_ptr<Plugin>(std::move(fresh));
    static std::once_flag once;
    std::call_once(once, stop_at_exit);
}

void tell(char** message, std::string_view text) noexcept {
    if (message) slurm::set_text(*message, text);
}

int refuse(char** message, const Error& error) {
    tell(message, "cohort: " + error.message);
    switch (error.code) {
        case Errc::busy:
            return EAGAIN;  // sbatch waits a second or more and tries again by itself
        case Errc::failed:
            return ESLURM_DUPLICATE_JOB_ID;
        case Errc::not_found:
            return ESLURM_INVALID_NODE_NAME;
        case Errc::denied:
            return ESLURM_ACCESS_DENIED;
        default:
            return ESLURM_INVALID_NODE_COUNT;
    }
}

bool wants_reboot(const job_desc_msg_t& job) {
    return job.reboot != 0 && job.reboot != NO_VAL16;
}

bool is_trusted(std::uint32_t uid) {
    return uid == 0 || uid == ::geteuid();  // slurmctld runs as SlurmUser
}

std::vector<std::string> host_names(const char* expression) {
    auto names = slurm::expand_hosts(slurm::text(expression));
    // Slurm refuses what it cannot read itself; one name that nobody has is refused here.
    return names ? *names : std::vector<std::string>{slurm::text(expression)};
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
    slurm::add_spank_variable(job, variable, "1");
}

int submit_rebuild(job_desc_msg_t& job, std::uint32_t uid, char** message) {
    if (!plugin)
        return refuse(message, {Errc::denied,
                                "the plugin could not start: rebuild jobs are refused "
                                "until slurmctld is restarted; its log has the reason"});
    const auto decision = (*plugin)->hooks.submit_rebuild(read_submission(job, uid), Clock::now());
    if (!decision) {
        log::info("rebuild job of uid {} refused: {}", uid, decision.error().message);
        return refuse(message, decision.error());
    }
    apply(*decision, job);
    for (const auto& note : decision->plan.notes)
        log::warning("rebuild job for {}: {}", decision->plan.node, note);
    log::info("rebuild job for {} of uid {}{}", decision->plan.node, uid,
              decision->held.empty() ? "" : ", held: " + decision->held);
    if (!decision->tell.empty()) tell(message, "cohort: " + decision->tell);
    return SLURM_SUCCESS;
}

// Nobody else's job may look like a rebuild job.
void strip(job_desc_msg_t& job) {
    slurm::remove_spank_variable(job, variable);
    if (!job.admin_comment || !parse_mark(job.admin_comment)) return;
    const std::string rest = remove_mark(job.admin_comment);
    slurm::set_text(job.admin_comment, rest);
}

bool is_het(const job_desc_msg_t& job) {
    return job.het_job_offset != NO_VAL;
}

// Nothing when a host list cannot be read: Slurm refuses the job itself.
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

// Slurm asks for the components of one het job one after the other in one thread.
thread_local std::map<std::string, std::string> het_choice;

int submit_user_job(job_desc_msg_t& job, std::uint32_t uid, char** message) {
    if (!is_trusted(uid) && job.admin_comment) {
        const std::string rest = guard::remove_guard_mark(job.admin_comment);
        slurm::set_text(job.admin_comment, rest);
    }
    if (!plugin) return SLURM_SUCCESS;
    auto request = read_placement(job);
    if (!request) return SLURM_SUCCESS;
    if (job.het_job_offset == 0) het_choice.clear();
    if (request->het) request->het_choice = het_choice;
    const auto answer =
        (*plugin)->guard_hooks.submit(*request, {is_trusted(uid)}, slurm::text(job.admin_comment),
                                      job.priority == 0, Clock::now());
    if (!answer.message.empty()) tell(message, answer.message);
    if (answer.refused) {
        log::info("job of uid {} refused: {}", uid, text::one_line(answer.message, 300));
        return ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE;
    }
    if (request->het) het_choice = answer.het_choice;
    apply(answer, job);
    return SLURM_SUCCESS;
}

#ifdef COHORT_TEST_FAULTS
void test_fault(const job_desc_msg_t& job) {
    if (!job.name) return;
    if (std::strcmp(job.name, "cohort-test-throw") == 0) throw std::runtime_error("on purpose");
    if (std::strcmp(job.name, "cohort-test-throw-int") == 0) throw 42;
}
#else
void test_fault(const job_desc_msg_t&) {}
#endif

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

// What of an update moves the job elsewhere.
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

int modify_placement(job_desc_msg_t& job, std::uint32_t uid, char** message) {
    const std::uint32_t number = slurm::given(slurm::compat::job_id(job)).value_or(0);
    const std::string id = job.job_id_str ? job.job_id_str : fmt::format("{}", number);
    const auto answer = (*plugin)->guard_hooks.modify(id, read_placement_change(job),
                                                      {is_trusted(uid)}, Clock::now());
    if (!answer.message.empty()) tell(message, answer.message);
    if (answer.refused) {
        log::info("change of job {} by uid {} refused: {}", id, uid,
                  text::one_line(answer.message, 300));
        return ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE;
    }
    apply(answer, job);
    return SLURM_SUCCESS;
}

int modify(job_desc_msg_t& job, std::uint32_t uid, char** message) {
    test_fault(job);
    if (!plugin) return SLURM_SUCCESS;
    const auto allowed = (*plugin)->hooks.modify(read_change(job, uid));
    if (allowed) return modify_placement(job, uid, message);
    // 22.05 has no message for the user.
    log::info("change of a job by uid {} refused: {}", uid, allowed.error().message);
    return refuse(message, allowed.error());
}

}  // namespace

COHORT_EXPORT const char plugin_name[];
COHORT_EXPORT const char plugin_type[];
COHORT_EXPORT const std::uint32_t plugin_version;
const char plugin_name[] = "slurm-cohort job submit plugin";
const char plugin_type[] = "job_submit/cohort";
const std::uint32_t plugin_version = SLURM_VERSION_NUMBER;

// Never fails: a plugin whose init() fails takes slurmctld down. Without its state the hooks refuse
// rebuild jobs and pass the others.
COHORT_EXPORT int init() {
    return last_net(
        "init",
        [] {
            start();
            return SLURM_SUCCESS;
        },
        [] { return SLURM_SUCCESS; });
}

COHORT_EXPORT int fini() {
    return last_net(
        "fini",
        [] {
            if (!plugin) return SLURM_SUCCESS;
            // A step that hangs in a call to slurmctld is not waited for: the caller may hold the
            // very lock that it waits for. Then the state stays behind with the thread.
            if ((*plugin)->thread->stop(milliseconds(2000))) delete plugin;
            plugin = nullptr;
            return SLURM_SUCCESS;
        },
        [] { return SLURM_SUCCESS; });
}

COHORT_EXPORT int job_submit(job_desc_msg_t* job, std::uint32_t uid, char** message) {
    slurm::remove_spank_variable(*job, variable);
    return last_net(
        "job_submit",
        [&]() -> int {
            test_fault(*job);
            if (wants_reboot(*job)) return submit_rebuild(*job, uid, message);
            strip(*job);
            return submit_user_job(*job, uid, message);
        },
        [&]() -> int {
            if (!wants_reboot(*job)) return SLURM_SUCCESS;
            tell(message,
                 "cohort: rebuild job refused: unexpected error in the plugin, see "
                 "slurmctld's log");
            return ESLURM_ACCESS_DENIED;
        });
}

COHORT_EXPORT int job_modify(COHORT_JOB_MODIFY_PARAMETERS) {
    return last_net(
        "job_modify", [&] { return modify(*job, uid, COHORT_JOB_MODIFY_MESSAGE); },
        [] { return SLURM_SUCCESS; });
}
