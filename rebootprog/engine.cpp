// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/engine.hpp"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <mutex>
#include <thread>

#include <fmt/core.h>

#include "common/log.hpp"
#include "common/slurm/load.hpp"
#include "common/slurm/node_writer.hpp"
#include "rebootprog/backend_nova.hpp"
#include "rebootprog/breaker.hpp"
#include "rebootprog/choke_point.hpp"
#include "rebootprog/follower.hpp"
#include "rebootprog/rebuild_jobs.hpp"

namespace cohort {
namespace {

constexpr std::chrono::seconds patience_of_one_call{10};
constexpr std::chrono::seconds retry_of_open{5};
constexpr std::chrono::milliseconds poll{1000};

// A clouds.yaml that is missing or wrong is a cloud out of reach: it may be mended in time.
Result<std::unique_ptr<NovaBackend>> open_nova_until(const Site& site,
                                                     AttemptContext::Clock::time_point deadline) {
    while (true) {
        auto backend = open_nova(site.settings(), site.state_dir, patience_of_one_call);
        if (backend) return backend;
        cloud_failed(site, "cohort-reboot", backend.error().message);
        if (AttemptContext::Clock::now() + retry_of_open >= deadline) return backend;
        std::this_thread::sleep_for(retry_of_open);
    }
}

// Which of NODES Slurm knows: a name that comes from the command line becomes a file name.
bool is_node_name(const std::string& name) {
    return !name.empty() && name[0] != '.' && name.find('/') == std::string::npos;
}

bool attempt_node(const Site& site, const AttemptContext& context, const std::string& node) {
    if (!is_node_name(node)) {
        log::error("'{}' is no node name", node);
        return false;
    }
    if (auto known = context.desk.node(node); !known && known.error().code == Errc::not_found) {
        log::error("{}: {}", node, known.error().message);
        return false;
    }
    auto lock = lock_node(site, node);
    if (!lock && lock.error().code == Errc::busy) {
        log::info("{}: another cohort-reboot works on it: nothing to do", node);
        return true;
    }
    if (!lock) log::error("{}: {}", node, lock.error().message);
    return run_attempt(context, node) == Outcome::ok;
}

}  // namespace

Result<UniqueFd> lock_node(const Site& site, const std::string& node) {
    const std::string dir = site.state_dir + "/nodes";
    if (auto made = make_directories(dir, 0700); !made) return tl::unexpected(made.error());
    return try_lock_file(dir + "/" + node + ".lock");
}

Result<Node> SlurmDesk::node(const std::string& name) {
    return slurm::load_node(name);
}

Status SlurmDesk::edit(const std::string& name, const std::function<void(NodeRecord&)>& change) {
    return slurm::edit_record(name, change);
}

Status SlurmDesk::take_out(const std::string& name, const std::string& reason) {
    return slurm::take_out(name, reason);
}

AttemptContext::Clock::time_point deadline_of(const ControllerConfig& slurm) {
    const int limit = slurm.resume_timeout == 0 ? 60 : slurm.resume_timeout;
    // Slurm looks every 30 s whether the time has passed; a tenth is for our own writes.
    const int margin = std::max(5, limit / 10);
    return AttemptContext::Clock::now() + std::chrono::seconds(std::max(1, limit - margin));
}

void cloud_failed(const Site& site, const std::string& by, const std::string& reason) {
    auto opened = open_breaker(site.state_dir, {std::time(nullptr), reason, by});
    if (!opened) {
        log::error("the breaker cannot be opened: {}", opened.error().message);
        return;
    }
    if (!*opened) return;
    log::error("the cloud is out of reach ({}): no further rebuild begins until it answers",
               reason);
    auto held = hold_all_pending("breaker");
    if (!held) {
        log::error("waiting rebuild jobs could not be held: {}", held.error().message);
    } else if (*held > 0) {
        log::warning("{} waiting rebuild jobs are held; 'scohort advance' releases them", *held);
    }
}

int run_nodes(const Site& site, const std::vector<std::string>& nodes) {
    auto journal = Journal::open(site.state_dir);
    if (!journal) {
        log::error("{}", journal.error().message);
        return exit_code::usage;
    }
    SlurmDesk desk;
    const auto deadline = deadline_of(site.slurm);
    auto backend = open_nova_until(site, deadline);
    if (!backend) {
        for (const auto& node : nodes)
            leave_untouched(*journal, desk, node, backend.error().message);
        return exit_code::unreachable;
    }
    std::once_flag first_fault;
    Follower follower(**backend, poll);
    const AttemptContext context{
        .settings = site.settings(),
        .state_dir = site.state_dir,
        .backend = **backend,
        .desk = desk,
        .journal = *journal,
        .deadline = deadline,
        .cloud_failed =
            [&](const std::string& reason) {
                std::call_once(first_fault, [&] { cloud_failed(site, "cohort-reboot", reason); });
            },
        .cloud_answered = {},
        .open_cohort =
            [&](const std::string& node) {
                wait_until_open(site.state_dir, site.settings(), node, deadline);
            },
        .follower = [&](const std::string& server, const std::string& request,
                        auto until) { return follower.wait(server, request, until); }};
    std::atomic<std::size_t> next{0}, failed{0};
    const auto work = [&] {
        for (std::size_t i = next++; i < nodes.size(); i = next++)
            if (!attempt_node(site, context, nodes[i])) ++failed;
    };
    // Beside each that has a slot another one looks, announces and writes down how it ended.
    std::vector<std::thread> workers;
    const auto count =
        std::min<std::size_t>(nodes.size(), std::size_t{2} * site.settings().max_concurrent);
    for (std::size_t i = 1; i < count; ++i) workers.emplace_back(work);
    work();
    for (auto& worker : workers) worker.join();
    return failed == 0 ? exit_code::ok : exit_code::some_failed;
}

}  // namespace cohort
