// SPDX-License-Identifier: GPL-2.0-or-later
//
// The part of a barrier that tries nodes: a step on each while it is drained, and a job on all of
// them as users submit it.
#include <algorithm>
#include <atomic>
#include <thread>

#include <fmt/core.h>
#include <pwd.h>

#include "common/file.hpp"
#include "common/log.hpp"
#include "common/slurm/closing.hpp"
#include "common/slurm/hostlist.hpp"
#include "common/slurm/job_writer.hpp"
#include "common/slurm/load.hpp"
#include "common/slurm/submit.hpp"
#include "common/text.hpp"
#include "rebootprog/barrier/barrier_lock.hpp"
#include "rebootprog/barrier/barrier_run.hpp"
#include "rebootprog/site/run_command.hpp"

namespace cohort {
namespace {

constexpr std::chrono::seconds limit_of_step{60};
constexpr std::size_t steps_at_once = 16;
constexpr std::uint32_t test_minutes = 5;
constexpr std::string_view test_script = "#!/bin/sh\nexec srun --ntasks-per-node=1 true\n";

// srun without an allocation knows no dynamic nodes: a slurm.conf that has them, in StateDir.
std::string conf_with(const Site& site, const std::vector<Node>& nodes) {
    std::string lines;
    for (const auto& node : nodes)
        if (node.state.dynamic)
            lines += fmt::format("NodeName={} NodeAddr={} NodeHostname={} CPUs={}\n", node.name,
                                 node.address, node.hostname, node.cpus);
    if (lines.empty()) return {};
    const std::string own = configuration_path();
    const std::string folder = site.state_dir + "/steps", file = folder + "/slurm.conf";
    auto made = make_directories(folder, 0700);
    if (made)
        made = write_file(
            file, fmt::format("include {}slurm.conf\n{}", own.substr(0, own.rfind('/') + 1), lines),
            0600);
    if (!made) log::warning("{}", made.error().message);
    return made ? file : std::string();
}

// Empty: it said REVISION.
std::string ask(const Node& node, const std::string& conf, const std::string& revision) {
    Command command;
    command.words = {"srun",        "--no-allocate", "--nodelist=" + node.name,
                     "--nodes=1",   "--ntasks=1",    "--chdir=/",
                     "cohort-node", "revision",      "--own"};
    command.limit = limit_of_step;
    if (node.state.dynamic && !conf.empty()) command.environment = {{"SLURM_CONF", conf}};
    const auto done = run_command(command);
    if (!done) return done.error().message;
    if (done->status != 0) return done->complaint();
    const std::string said(text::trim(done->output));
    return said == revision ? std::string() : said.empty() ? "it said nothing" : "it runs " + said;
}

}  // namespace

std::string differing_steps(const Site& site, const std::vector<Node>& nodes,
                            const std::string& revision) {
    const std::string conf = conf_with(site, nodes);
    std::vector<std::string> wrong(nodes.size());
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        for (std::size_t i = next++; i < nodes.size(); i = next++)
            wrong[i] = ask(nodes[i], conf, revision);
    };
    std::vector<std::thread> workers;
    for (std::size_t i = 1; i < std::min(nodes.size(), steps_at_once); ++i)
        workers.emplace_back(work);
    work();
    for (auto& worker : workers) worker.join();
    std::string all;
    for (std::size_t i = 0; i < nodes.size(); ++i)
        if (!wrong[i].empty())
            all += fmt::format("{}{}: {}", all.empty() ? "" : "; ", nodes[i].name, wrong[i]);
    return all;
}

// The partitions are UP for it; the reservation keeps everybody else off these nodes.
Status BarrierRun::test() {
    if (auto closed = assert_closed(site_, journal_, barrier_, who_); !closed) return closed;
    if (auto up = set_partitions(barrier_, true); !up) return up;
    Status done;
    for (const auto& partition : text::split(barrier_.partitions, ','))
        if (done) done = test_job(partition);
    if (done && barrier_.partitions.empty()) done = test_job("");
    if (done) done = test_command();
    if (done) return go_to(BarrierStep::open);
    // Closed as before: our drains are the lock again, then the reservation may go.
    if (auto back = go_to(BarrierStep::prove); !back) return back;
    if (auto closed = assert_closed(site_, journal_, barrier_, who_); !closed) return closed;
    if (auto ended = slurm::unreserve(barrier_.reservation()); !ended)
        log::warning("{}: {}", barrier_.name(), ended.error().message);
    return done;
}

Status BarrierRun::test_job(const std::string& partition) {
    const std::string& user_name = site_.settings().rebuild_job_user;
    const passwd* user = ::getpwnam(user_name.c_str());
    if (!user)
        return fail(Errc::invalid,
                    fmt::format("RebuildJobUser={}: there is no such user here", user_name));
    const auto members = load_members(barrier_);
    if (!members) return tl::unexpected(members.error());
    const auto all = slurm::load_partitions();
    if (!all) return tl::unexpected(all.error());
    slurm::TestSubmission job;
    for (const auto& one : *all) {
        if (partition.empty() ? !one.is_default : one.name != partition) continue;
        job.partition = one.name;
        for (const auto& node : *members)
            if (!node.state.drain && !node.state.fail &&
                std::ranges::find(one.nodes, node.name) != one.nodes.end())
                job.nodes.push_back(node.name);
    }
    if (job.nodes.empty()) return {};
    job.name = "cohort-test";
    job.reservation = barrier_.reservation();
    job.script = test_script;
    job.user_id = user->pw_uid;
    job.group_id = user->pw_gid;
    job.minutes = test_minutes;
    const auto id = slurm::submit_test(job);
    if (!id) return tl::unexpected(id.error());
    tell(fmt::format("test job {} on {} nodes of partition {}", *id, job.nodes.size(),
                     job.partition));
    auto ended = until(std::chrono::minutes(test_minutes), [&]() -> Result<std::string> {
        const auto seen = slurm::load_job(*id);
        if (!seen) return tl::unexpected(seen.error());
        if (seen->active()) return fmt::format("test job {} has not ended", *id);
        if (!seen->completed)
            return fail(Errc::failed,
                        fmt::format("test job {} in partition {} failed: see scontrol "
                                    "show job {}",
                                    *id, job.partition, *id));
        return std::string();
    });
    if (!ended)
        if (auto gone = slurm::cancel_job(*id); !gone) log::info("{}", gone.error().message);
    return ended;
}

Status BarrierRun::test_command() {
    Command command;
    command.words = text::words(site_.settings().barrier_test);
    if (command.words.empty()) return {};
    command.environment = {{"COHORT_BARRIER", std::to_string(barrier_.id)},
                           {"COHORT_NAME", barrier_.cohort},
                           {"COHORT_NODES", barrier_.nodes},
                           {"COHORT_PARTITIONS", barrier_.partitions},
                           {"COHORT_RESERVATION", barrier_.reservation()},
                           {"COHORT_REVISION", barrier_.revision}};
    command.limit = std::chrono::minutes(test_minutes);
    const auto ran = run_command(command);
    if (!ran) return tl::unexpected(Error{Errc::failed, ran.error().message});
    if (ran->status != 0)
        return fail(Errc::failed, fmt::format("{}: {}", command.words[0], ran->complaint()));
    tell("BarrierTest passed: " + command.words[0]);
    return {};
}

}  // namespace cohort
