// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/node/node_leave.hpp"

#include <algorithm>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include "common/log.hpp"
#include "common/published.hpp"
#include "common/slurm/hostlist.hpp"
#include "common/slurm/load.hpp"
#include "common/slurm/node_writer.hpp"
#include "common/text.hpp"
#include "rebootprog/node/node_facts.hpp"
#include "rebootprog/node/node_judge.hpp"

namespace cohort {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr char leave_reason[] = "leave: the node is shutting down";
// A shutdown does not hang on a controller that is not there.
constexpr auto answer_wait = std::chrono::seconds(30);
constexpr auto first_pause = milliseconds(250);
constexpr auto longest_pause = milliseconds(5000);
// --force: jobs that DOWN has ended are COMPLETING for a moment.
constexpr auto delete_wait = std::chrono::seconds(10);

// Pauses that grow: thousands of nodes may leave together.
class Pace {
  public:
    explicit Pace(Clock::time_point until) : until_(until) {}
    // False when the time is up.
    bool pause() {
        const auto left = std::chrono::duration_cast<milliseconds>(until_ - Clock::now());
        if (left <= milliseconds(0)) return false;
        std::this_thread::sleep_for(std::min(next_, left));
        next_ = std::min(next_ * 5 / 4, longest_pause);
        return true;
    }

  private:
    Clock::time_point until_;
    milliseconds next_ = first_pause;
};

Result<Node> node_when_answered(const std::string& name, milliseconds timeout) {
    Pace pace(Clock::now() + std::min<milliseconds>(timeout, answer_wait));
    while (true) {
        auto node = slurm::load_node(name);
        if (node || node.error().code != Errc::unreachable || !pace.pause()) return node;
    }
}

bool runs_on(const Job& job, const std::string& name) {
    if (!job.running || job.nodes.empty()) return false;
    const auto nodes = slurm::expand_hosts(job.nodes);
    return nodes && std::ranges::find(*nodes, name) != nodes->end();
}

// Why NAME may not go yet; empty when nothing runs there. The node's state tells running and
// completing jobs, but a node whose jobs are all suspended is shown idle.
Result<std::string> what_runs(const std::string& name) {
    const auto node = slurm::load_node(name);
    if (!node && node.error().code == Errc::not_found) return std::string();
    if (!node) return tl::unexpected(node.error());
    if (node->state.busy()) return "it is " + node->state.text();
    const auto jobs = slurm::load_jobs();
    if (!jobs) return tl::unexpected(jobs.error());
    std::vector<std::string> found;
    for (const auto& job : *jobs)
        if (runs_on(job, name)) found.push_back(job.id_text);
    return found.empty() ? std::string() : "suspended there: job " + text::join(found, ", ");
}

// Empty: all jobs are gone.
std::string wait_for_jobs(const std::string& name, milliseconds timeout) {
    Pace pace(Clock::now() + timeout);
    while (true) {
        const auto left = what_runs(name);
        if (left && left->empty()) return {};
        std::string why = left ? *left : left.error().message;
        if (!pace.pause()) return why;
    }
}

int remove_record(const std::string& name) {
    Pace pace(Clock::now() + delete_wait);
    while (true) {
        const auto removed = slurm::delete_node(name);
        if (removed) {
            log::info("{}: has left, its record is deleted", name);
            return exit_code::ok;
        }
        if (removed.error().code == Errc::busy && pace.pause()) continue;
        log::error("{}; it stays out of service, 'scohort reconcile' or another leave deletes it",
                   removed.error().message);
        return exit_code::try_again;
    }
}

// Nothing is published any more: a join in this same boot is a new beginning.
int gone(const std::string& name, const LeavePlan& plan) {
    if (auto removed = remove_published(); !removed) log::warning("{}", removed.error().message);
    if (plan.remove) return remove_record(name);
    log::info("{}: has left, it stays out of service{}", name, plan.drain ? "" : " as it was");
    return exit_code::ok;
}

int leave_at_once(const std::string& name, const LeavePlan& plan) {
    // FAIL before DOWN: DOWN alone is back 15 ms later where ReturnToService=2.
    if (auto out = slurm::take_out(name, leave_reason); !out) {
        log::error("{}: {}", name, out.error().message);
        return exit_code::some_failed;
    }
    return gone(name, plan);
}

}  // namespace

LeavePlan plan_leave(const Node& node) {
    if (node.state.rebooting() || (node.record.want && node.record.want->pending()))
        return {true, false, false, "Slurm is rebooting or rebuilding it: it is expected back"};
    if (node.state.power_saving) return {true, false, false, "Slurm itself is powering it down"};
    const bool out = node.state.drain || node.state.fail;
    // The record of a dynamic node stays too: deleted, it would come back without the drain.
    if (out && (!node.has_our_reason() || is_behind_barrier(node)))
        return {false, false, false,
                fmt::format("it is {} for '{}', which stays", node.state.text(), node.reason)};
    return {false, true, node.state.dynamic, "drained"};
}

int node_leave(const LeaveOptions& options) {
    const std::string name = node_name();
    const auto node = node_when_answered(name, options.timeout);
    if (!node && node.error().code == Errc::not_found) {
        log::info("{}: nothing to leave: Slurm has no record of this node", name);
        return exit_code::ok;
    }
    if (!node) {
        log::error("{}: {}; it leaves without a word, 'scohort reconcile' finds it", name,
                   node.error().message);
        return exit_code::unreachable;
    }
    const LeavePlan plan = plan_leave(*node);
    log::info("{}: {}{}", name, plan.stay ? "does not leave: " : "leaves: ", plan.why);
    if (plan.stay) return exit_code::ok;
    if (options.force) return leave_at_once(name, plan);
    if (plan.drain) {
        if (auto drained = slurm::drain(name, leave_reason); !drained) {
            log::error("{}: {}", name, drained.error().message);
            return exit_code::some_failed;
        }
    }
    if (const auto left = wait_for_jobs(name, options.timeout); !left.empty()) {
        log::error(
            "{}: not free after {}: {}; it takes no new job and what runs goes on. Run "
            "'cohort-node leave' again, or with --force to end what runs",
            name, text::duration(std::chrono::duration_cast<std::chrono::seconds>(options.timeout)),
            left);
        return exit_code::try_again;
    }
    return gone(name, plan);
}

}  // namespace cohort
