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
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "common/guard/mark.hpp"
#include "common/log.hpp"
#include "common/rebuild_mark.hpp"
#include "common/slurm/handles.hpp"
#include "common/slurm/hostlist.hpp"
#include "common/slurm/job_desc.hpp"
#include "common/slurm/live_features.hpp"
#include "common/text.hpp"
#include "plugins/job_submit/conversion.hpp"
#include "plugins/job_submit/guard/guard_hooks.hpp"
#include "plugins/job_submit/guard/same_update.hpp"
#include "plugins/job_submit/hook_times.hpp"
#include "plugins/job_submit/hooks.hpp"
#include "plugins/job_submit/refresher.hpp"
#include "plugins/job_submit/source.hpp"
#include "plugins/job_submit/thread.hpp"

#define COHORT_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using namespace cohort;
using std::chrono::milliseconds;

struct Plugin {
    Published<World> world;
    RebuildLedger ledger;
    HookTimes times;
    Hooks hooks{world, ledger, [this] { wake(); }};
    GuardHooks guard_hooks{world, [](std::string_view list) { return slurm::expand_hosts(list); },
                           &slurm::features_are_live};
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

HookTimes* hook_times() {
    return plugin ? &(*plugin)->times : nullptr;
}

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
    fresh->refresher.ask_for_marks(
        [owner = fresh.get()] { return owner->guard_hooks.take_marks(); });
    fresh->refresher.tell_hook_times([owner = fresh.get()] { return owner->times.summary(); });
    fresh->refresher.start();
    // 60 ms: on 22.05 a call before the port is open costs a second.
    fresh->thread = std::make_unique<RefreshThread>(
        "cohort", milliseconds(60), [owner = fresh.get()] { return owner->refresher.step(); },
        [owner = fresh.get()] { return owner->refresher.asked(); });
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
    slurm::remove_spank_variable(job, rebuild_variable);
    if (!job.admin_comment || !parse_mark(job.admin_comment)) return;
    const std::string rest = remove_mark(job.admin_comment);
    slurm::set_text(job.admin_comment, rest);
}

// Slurm asks for the components of one het job one after the other in one thread.
thread_local guard::HetChoice het_choice;
thread_local SameUpdate same_update;

// Whom the guard lets do what it refuses to users: operators and administrators of slurmdbd too.
bool is_admin(const World& world, std::uint32_t uid) {
    return is_trusted(uid) || (world.accounts && world.accounts->is_operator(uid));
}

// True: refused. An account is judged before the nodes: no bound makes a paused one fit.
bool refuse_account(const World& world, std::uint32_t owner, const char* account, char** message) {
    if (!world.policy || !world.policy->configuration) return false;
    const auto answer =
        judge_account(world.accounts.get(), world.policy->configuration->site.denied_accounts,
                      owner, slurm::text(account));
    if (!answer.message.empty()) tell(message, answer.message);
    if (answer.refused)
        log::info("job of uid {} refused: {}", owner, text::one_line(answer.message, 300));
    return answer.refused;
}

int submit_user_job(job_desc_msg_t& job, std::uint32_t uid, char** message) {
    if (!is_trusted(uid) && job.admin_comment) {
        const std::string rest = guard::remove_guard_mark(job.admin_comment);
        slurm::set_text(job.admin_comment, rest);
    }
    if (!plugin) return SLURM_SUCCESS;
    const auto world = (*plugin)->world.get();
    const std::uint32_t owner = slurm::given(job.user_id).value_or(uid);
    if (refuse_account(*world, owner, job.account, message)) return ESLURM_INVALID_ACCOUNT;
    auto request = read_placement(job);
    if (!request) return SLURM_SUCCESS;
    if (job.het_job_offset == 0) het_choice.clear();
    if (request->het) request->het_choice = het_choice;
    const auto answer = (*plugin)->guard_hooks.submit(*request, {is_admin(*world, uid)},
                                                      slurm::text(job.admin_comment),
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

int modify_placement(job_desc_msg_t& job, std::uint32_t uid, char** message) {
    const std::uint32_t number = slurm::given(slurm::compat::job_id(job)).value_or(0);
    const std::string id = job.job_id_str ? job.job_id_str : fmt::format("{}", number);
    const auto world = (*plugin)->world.get();
    if (job.account && !is_trusted(uid) &&
        refuse_account(*world, slurm::given(job.user_id).value_or(uid), job.account, message))
        return ESLURM_INVALID_ACCOUNT;
    auto change = same_update.as_given(&job, id, read_placement_change(job));
    const auto answer =
        (*plugin)->guard_hooks.modify(id, change, {is_admin(*world, uid)}, Clock::now());
    if (!answer.message.empty()) tell(message, answer.message);
    if (answer.refused) {
        log::info("change of job {} by uid {} refused: {}", id, uid,
                  text::one_line(answer.message, 300));
        return ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE;
    }
    apply(answer, job);
    same_update.remember(&job, id, std::move(change), answer);
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
    const HookTimes::Lap lap(hook_times());
    slurm::remove_spank_variable(*job, rebuild_variable);
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
    const HookTimes::Lap lap(hook_times());
    return last_net(
        "job_modify", [&] { return modify(*job, uid, COHORT_JOB_MODIFY_MESSAGE); },
        [] { return SLURM_SUCCESS; });
}
