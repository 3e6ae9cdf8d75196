// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/reboot/engine.hpp"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <mutex>
#include <thread>
#include <unordered_map>

#include <fmt/core.h>

#include "common/log.hpp"
#include "common/slurm/load.hpp"
#include "common/slurm/node_writer.hpp"
#include "rebootprog/cloud/backends.hpp"
#include "rebootprog/cloud/breaker.hpp"
#include "rebootprog/cloud/follower.hpp"
#include "rebootprog/reboot/choke_point.hpp"
#include "rebootprog/rollout/rebuild_jobs.hpp"

namespace cohort {
namespace {

constexpr std::chrono::seconds patience_of_one_call{10};
// A call that is under way at the deadline may go on for so long.
constexpr std::chrono::seconds last_call{1};
constexpr std::chrono::seconds retry_of_open{5};
constexpr std::chrono::milliseconds poll{1000};
// AttemptContext::first_post, of the whole call.
constexpr std::chrono::seconds slurms_second{2};

using Clock = AttemptContext::Clock;

// A clouds.yaml that is missing or wrong is a cloud out of reach: it may be mended in time.
Result<Backend*> open_until(const Site& site, Backends& backends, const std::string& node,
                            Clock::time_point deadline) {
    while (true) {
        auto backend = backends.of(node);
        if (backend) return backend;
        cloud_failed(site, "cohort-reboot", backend.error().message);
        if (Clock::now() + retry_of_open >= deadline) return backend;
        std::this_thread::sleep_for(retry_of_open);
    }
}

// Which of NODES Slurm knows: a name that comes from the command line becomes a file name.
bool is_node_name(const std::string& name) {
    return !name.empty() && name[0] != '.' && name.find('/') == std::string::npos;
}

// One call of the program: what its attempts share.
class Run {
  public:
    Run(const Site& site, const Work& work)
        : site_(site),
          work_(work),
          backends_(site, patience_of_one_call, work.deadline + last_call),
          usual_(site.state_dir) {}

    bool node(const std::string& name) {
        if (!is_node_name(name)) {
            log::error("'{}' is no node name", name);
            return false;
        }
        if (auto known = work_.desk.node(name); !known && known.error().code == Errc::not_found) {
            log::error("{}: {}", name, known.error().message);
            return false;
        }
        auto lock = lock_node(site_, name, work_.lock_seconds);
        if (!lock && lock.error().code == Errc::busy) {
            log::info("{}: another cohort-reboot works on it: nothing to do", name);
            return work_.lock_seconds == 0;
        }
        if (!lock) log::error("{}: {}", name, lock.error().message);
        auto backend = open_until(site_, backends_, name, work_.deadline);
        if (!backend) {
            leave_untouched(work_.journal, work_.desk, name, backend.error().message);
            ++untouched;
            return false;
        }
        const Outcome outcome = work_.attempt(context(name, **backend), name);
        if (outcome == Outcome::untouched) ++untouched;
        return outcome == Outcome::ok;
    }

    // Nodes for which nothing was sent because the cloud did not answer in time.
    std::atomic<std::size_t> untouched{0};

  private:
    AttemptContext context(const std::string& name, Backend& backend) {
        const Settings& settings = backends_.settings(name);
        Follower& follower = follower_of(backend);
        return {.settings = settings,
                .state_dir = site_.state_dir,
                .backend = backend,
                .desk = work_.desk,
                .journal = work_.journal,
                .deadline = work_.deadline,
                .cloud_failed =
                    [this](const std::string& reason) {
                        std::call_once(first_fault_, [&] {
                            cohort::cloud_failed(site_, "cohort-reboot", reason);
                        });
                    },
                .cloud_answered = {},
                .open_cohort =
                    [this, &settings](const std::string& node) {
                        wait_until_open(site_.state_dir, settings, node, work_.deadline);
                    },
                .follower = [&follower](const Followed& followed,
                                        auto until) { return follower.wait(followed, until); },
                .first_post = first_post_};
    }

    Follower& follower_of(Backend& backend) {
        const std::lock_guard lock(mutex_);
        auto& follower = followers_[&backend];
        if (!follower) follower = std::make_unique<Follower>(backend, usual_, poll);
        return *follower;
    }

    const Site& site_;
    const Work& work_;
    Backends backends_;
    UsualTimes usual_;
    const Clock::time_point first_post_ = Clock::now() + slurms_second;
    std::once_flag first_fault_;
    std::mutex mutex_;
    std::unordered_map<Backend*, std::unique_ptr<Follower>> followers_;
};

}  // namespace

Result<UniqueFd> lock_node(const Site& site, const std::string& node, int seconds) {
    const std::string dir = site.state_dir + "/nodes";
    if (auto made = make_directories(dir, 0700); !made) return tl::unexpected(made.error());
    return lock_file(dir + "/" + node + ".lock", seconds);
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

int run_work(const Site& site, const std::vector<std::string>& nodes, const Work& work) {
    Run run(site, work);
    std::atomic<std::size_t> next{0}, failed{0};
    const auto do_next = [&] {
        for (std::size_t i = next++; i < nodes.size(); i = next++)
            if (!run.node(nodes[i])) ++failed;
    };
    // Beside each that has a slot another one looks, announces and writes down how it ended.
    std::vector<std::thread> workers;
    const auto count =
        std::min<std::size_t>(nodes.size(), std::size_t{2} * site.settings().max_concurrent);
    for (std::size_t i = 1; i < count; ++i) workers.emplace_back(do_next);
    do_next();
    for (auto& worker : workers) worker.join();
    if (!nodes.empty() && run.untouched == nodes.size()) return exit_code::unreachable;
    return failed == 0 ? exit_code::ok : exit_code::some_failed;
}

int run_nodes(const Site& site, const std::vector<std::string>& nodes) {
    auto journal = Journal::open(site.state_dir);
    if (!journal) {
        log::error("{}", journal.error().message);
        return exit_code::usage;
    }
    SlurmDesk desk;
    return run_work(site, nodes, {desk, *journal, run_attempt, deadline_of(site.slurm)});
}

}  // namespace cohort
