// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/rollout/rollout_act.hpp"

#include <cstring>
#include <ctime>

#include <fmt/core.h>
#include <pwd.h>
#include <spawn.h>
#include <sys/wait.h>

#include "common/log.hpp"
#include "common/slurm/hostlist.hpp"
#include "common/slurm/job_writer.hpp"
#include "common/slurm/load.hpp"
#include "common/slurm/node_writer.hpp"
#include "common/text.hpp"
#include "rebootprog/rollout/plan_make.hpp"
#include "rebootprog/rollout/rebuild_jobs.hpp"
#include "rebootprog/rollout/rollout_row.hpp"
#include "rebootprog/site/scontrol.hpp"

extern char** environ;

namespace cohort {
namespace {

using Kind = RolloutAct::Kind;

constexpr std::string_view payload = "#!/bin/sh\nexec cohort-node verify\n";

std::int64_t now() {
    return std::time(nullptr);
}

// It leaves this process by itself and works on.
Status start_cohort_reboot(const std::string& program, const std::string& node) {
    if (program.find("cohort-reboot") == std::string::npos)
        return fail(Errc::invalid,
                    fmt::format("RebootProgram={} is not cohort-reboot: set it in slurm.conf",
                                program.empty() ? "(unset)" : program));
    std::string path = program, name = node;
    char* arguments[] = {path.data(), name.data(), nullptr};
    pid_t child = 0;
    if (const int error = ::posix_spawn(&child, path.c_str(), nullptr, nullptr, arguments, environ))
        return fail(Errc::failed,
                    fmt::format("cannot start {}: {}", program, std::strerror(error)));
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
    return fail(Errc::failed, fmt::format("{} {} did not start: see syslog", program, node));
}

}  // namespace

Result<slurm::RebuildSubmission> rebuild_job_for(const Site& site, std::int64_t rollout,
                                                 const std::string& node, bool test) {
    const std::string& name = site.settings().rebuild_job_user;
    const passwd* user = ::getpwnam(name.c_str());
    if (!user)
        return fail(Errc::invalid,
                    fmt::format("RebuildJobUser={}: there is no such user on this machine", name));
    return slurm::RebuildSubmission{node,
                                    "cohort-rebuild",
                                    write_ask({rollout, test}),
                                    std::string(payload),
                                    user->pw_uid,
                                    user->pw_gid,
                                    true};
}

void RolloutHand::tell(std::int64_t rollout, const std::string& node, const std::string& text) {
    ++acts;
    log::info("rollout {}: {}{}{}", rollout, node, node.empty() ? "" : " ", text);
    if (auto kept = rollouts_.note(rollout, node, who_, text); !kept)
        log::warning("{}", kept.error().message);
}

void RolloutHand::act(RolloutAct act) {
    auto done = perform(act);
    if (done) return;
    // The job ended while we looked: the next look sees it.
    if (done.error().code == Errc::not_found || done.error().code == Errc::busy) {
        log::info("rollout {}: {}: {}", act.rollout.id, act.row.node, done.error().message);
        look_again = true;
        return;
    }
    ++failures;
    log::error("rollout {}: {}: {}", act.rollout.id, act.row.node, done.error().message);
}

Status RolloutHand::perform(RolloutAct& act) {
    auto& row = act.row;
    switch (act.kind) {
        case Kind::note_row:
            if (auto saved = rollouts_.save(row); !saved) return saved;
            if (!act.text.empty()) tell(act.rollout.id, row.node, act.text);
            look_again |= row.step == Step::planned || !row.open();
            return {};
        case Kind::note_rollout:
            if (auto saved = rollouts_.save(act.rollout); !saved) return saved;
            look_again = true;
            tell(act.rollout.id, "", act.text);
            return {};
        case Kind::quarantine:
            if (row.image_to.empty()) return {};  // only rebooted: there is no image to blame
            tell(act.rollout.id, "",
                 fmt::format("image {} is put in quarantine: {}", row.image_to, act.text));
            return rollouts_.quarantine({row.image_to, now(), act.rollout.id, act.text});
        case Kind::take_out:
            return slurm::take_out(row.node, act.text);
        case Kind::submit:
            return submit(act);
        case Kind::rebuild:
            return rebuild(act);
        case Kind::release:
            if (auto done = release_rebuild_job(*act.job); !done) return done;
            row.step = Step::released;
            row.released = now();
            tell(act.rollout.id, row.node, fmt::format("may begin: job {} is released", row.job));
            return rollouts_.save(row);
        case Kind::take_back:
            return take_back(act);
        case Kind::cancel:
            return cancel(act);
        case Kind::reboot:
            return reboot(act);
        case Kind::cancel_reboot:
            return take_reboot_back(act);
        case Kind::give_back:
            tell(act.rollout.id, row.node, "is given back: it has proved what it runs");
            look_again = true;
            return slurm::give_back(row.node);
    }
    return {};
}

// The job first: without a row it is found by its mark, a row without a job would be a promise.
Status RolloutHand::submit(RolloutAct& act) {
    auto job = rebuild_job_for(site_, act.rollout.id, act.row.node, false);
    if (!job) return tl::unexpected(job.error());
    const auto id =
        past_the_dead(site_.settings(), act.row.node, [&] { return slurm::submit_rebuild(*job); });
    auto& row = act.row;
    if (!id && id.error().code != Errc::denied) return tl::unexpected(id.error());
    if (!id) {
        row.step = Step::failed;
        row.why = id.error().message;
        row.ended = now();
        ++failures;
        tell(act.rollout.id, row.node, row.why);
        return rollouts_.save(row);
    }
    row.job = *id;
    row.step = Step::held;
    row.why.clear();
    row.submitted = now();
    ++row.tries;
    look_again = true;
    tell(act.rollout.id, row.node, fmt::format("gets rebuild job {}, held", *id));
    return rollouts_.save(row);
}

// The row first: an attempt that nobody waits for would be taken for somebody else's.
Status RolloutHand::rebuild(RolloutAct& act) {
    auto& row = act.row;
    const auto node = slurm::load_node(row.node);
    if (!node) return tl::unexpected(node.error());
    const std::string& hold = node->record.hold;
    const auto reason = hold.empty() ? direct_reason(act.rollout.id) : hold_reason(hold);
    if (auto noted = slurm::take_out(row.node, reason); !noted) return noted;
    row.step = Step::rebuilding;
    row.why.clear();
    row.started = now();
    ++row.tries;
    if (auto saved = rollouts_.save(row); !saved) return saved;
    tell(act.rollout.id, row.node, "is rebuilt without a job: it is out of service");
    return start_cohort_reboot(site_.slurm.reboot_program, row.node);
}

Status RolloutHand::take_back(RolloutAct& act) {
    auto& row = act.row;
    if (auto held = hold_rebuild_job(*act.job, std::string(held_by_rollout)); !held) return held;
    row.step = Step::held;
    row.released = 0;
    look_again = true;
    tell(act.rollout.id, row.node, fmt::format("waits again: job {} is held", row.job));
    return rollouts_.save(row);
}

Status RolloutHand::cancel(RolloutAct& act) {
    if (auto done = slurm::cancel_job(act.job->job.id); !done) return done;
    tell(act.rollout.id, act.row.node,
         fmt::format("job {} is cancelled: the rollout was aborted", act.job->job.id));
    return {};
}

// The row first: a reboot that nobody waits for would be taken for an administrator's.
Status RolloutHand::reboot(RolloutAct& act) {
    auto& row = act.row;
    row.step = Step::released;
    row.submitted = row.released = now();
    ++row.tries;
    if (auto saved = rollouts_.save(row); !saved) return saved;
    tell(act.rollout.id, row.node, "is drained, to be rebuilt when it is idle");
    const std::string reason = std::string(reason_prefix) + reboot_reason(act.rollout.id);
    return reboot_when_idle(row.node, reason);
}

Status RolloutHand::take_reboot_back(RolloutAct& act) {
    if (auto done = cancel_reboot(act.row.node); !done) return done;
    look_again = true;
    tell(act.rollout.id, act.row.node, "is drained no more: its reboot is taken back");
    return rollouts_.save(act.row);
}

Result<std::vector<RolloutView>> load_views(const Site& site, const Journal& journal) {
    const RolloutJournal rollouts(journal);
    auto open = rollouts.unfinished();
    if (!open) return tl::unexpected(open.error());
    std::vector<RolloutView> views;
    for (auto& rollout : *open) {
        auto rows = rollouts.nodes(rollout.id);
        if (!rows) return tl::unexpected(rows.error());
        auto scope = slurm::expand_hosts(rollout.scope);
        if (!scope) return tl::unexpected(scope.error());
        const auto wait = site.settings().verify_wait.count();
        views.push_back({std::move(rollout), std::move(*rows), std::move(*scope), wait});
    }
    return views;
}

}  // namespace cohort
