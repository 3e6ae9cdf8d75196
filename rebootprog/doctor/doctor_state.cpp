// SPDX-License-Identifier: GPL-2.0-or-later
//
// Checks of StateDir, of the parts that must be at work, and of this machine's clock.
#include <fmt/core.h>

#include "common/text.hpp"
#include "rebootprog/doctor/doctor_checks.hpp"

namespace cohort {
namespace {

constexpr std::uint64_t least_free_bytes = 64ULL << 20;
// The plugin writes its snapshot every 10 s when nothing changes.
constexpr double heartbeat_seconds = 10;

Finding check_folder(const DoctorFacts& facts) {
    const char* name = "StateDir";
    const auto& state = facts.state;
    if (!state.fault.empty()) return failure(name, state.fault);
    if (!state.private_mode)
        return failure(name, fmt::format("others can write in {}: chmod 700, owner {}", state.dir,
                                         facts.slurm.config.slurm_user));
    if (state.free_bytes < least_free_bytes)
        return failure(name, fmt::format("{} MiB free on {}: the journal could not be written",
                                         state.free_bytes >> 20, state.dir));
    if (facts.slurm.config.controllers.size() > 1 && !state.beside_slurms)
        return failure(name, fmt::format("there is a backup controller, and {} is not on the file "
                                         "system of StateSaveLocation, which both share: set "
                                         "StateDir to a folder there",
                                         state.dir));
    return pass(name, fmt::format("{} is writable{}", state.dir,
                                  facts.slurm.config.controllers.size() > 1 ? " and shared" : ""));
}

Finding check_plugin_at_work(const DoctorFacts& facts) {
    const char* name = "plugin at work";
    const auto& state = facts.state;
    const double limit =
        heartbeat_seconds +
        static_cast<double>(facts.configuration.settings.stale_after.count()) / 1000;
    if (!state.snapshot_age)
        return failure(name, fmt::format("job_submit_cohort has left no snapshot in {}: is it "
                                         "loaded? See slurmctld's log, and restart slurmctld after "
                                         "JobSubmitPlugins was changed",
                                         state.dir));
    if (*state.snapshot_age > limit)
        return failure(name, fmt::format("job_submit_cohort's snapshot is {:.0f} s old: no job of "
                                         "several nodes is judged. See slurmctld's log",
                                         *state.snapshot_age));
    if (!state.snapshot_fault.empty())
        return failure(name, "job_submit_cohort does not use cohort.conf: " + state.snapshot_fault);
    return pass(name,
                fmt::format("job_submit_cohort's snapshot is {:.0f} s old", *state.snapshot_age));
}

Finding check_timer(const DoctorFacts& facts) {
    const char* name = "timer";
    if (!facts.host.timer_enabled)
        return warn(name, "no systemd here: see that `scohort advance -q` runs every 10 s");
    if (!*facts.host.timer_enabled)
        return failure(name,
                       "nothing releases held rebuild jobs or gives nodes back: systemctl enable "
                       "--now cohort-advance.timer");
    return pass(name, "cohort-advance.timer is enabled");
}

Finding check_breaker(const StateFacts& state) {
    const char* name = "breaker";
    if (state.breaker.empty()) return pass(name, "closed");
    return warn(name, fmt::format("open, no rebuild begins: {}. It closes by itself when the cloud "
                                  "answers a probe of `scohort advance`",
                                  state.breaker));
}

Finding check_barrier(const StateFacts& state) {
    const char* name = "barrier";
    if (state.barrier.empty()) return pass(name, "no cohort is closed");
    return warn(name, state.barrier + ". No user's job begins there until it has gone through");
}

Finding check_guard(const DoctorFacts& facts) {
    const char* name = "guard";
    if (facts.state.guard_off)
        return warn(name, "switched off for a time: jobs may span revisions. scohort guard on");
    if (facts.configuration.settings.mixed_revision == MixedRevision::off)
        return warn(name, "MixedRevision=off: jobs may span revisions");
    return pass(name, "on");
}

Finding check_clock(const HostFacts& host) {
    const char* name = "clock";
    if (!host.clock_synchronised)
        return warn(name,
                    "this machine's clock is not synchronised (says its kernel): boots are told "
                    "from one another by time. Run chrony or another NTP client, on the nodes too");
    return pass(name, "synchronised");
}

}  // namespace

void check_state(const DoctorFacts& facts, Findings& found) {
    found.push_back(check_folder(facts));
    found.push_back(check_plugin_at_work(facts));
    found.push_back(check_timer(facts));
    found.push_back(check_breaker(facts.state));
    found.push_back(check_barrier(facts.state));
    found.push_back(check_guard(facts));
    found.push_back(check_clock(facts.host));
}

}  // namespace cohort
