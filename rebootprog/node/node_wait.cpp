// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/node/node_wait.hpp"

#include <algorithm>
#include <random>
#include <thread>

#include "common/log.hpp"
#include "common/slurm/node_writer.hpp"
#include "rebootprog/node/node_judge.hpp"

namespace cohort {
namespace {

using std::chrono::milliseconds;

constexpr auto first_pause = milliseconds(400);
constexpr auto longest_pause = milliseconds(4000);
constexpr auto quiet = milliseconds(4000);

Status put_on_node(const Node& node, const std::string& what) {
    const bool out = node.state.drain || node.state.fail;
    if (out && (!node.has_our_reason() || is_behind_barrier(node))) return {};
    // Tried again after a refusal: its reason stands already.
    if (node.state.fail) return {};
    if (node.state.rebooting() || node.state.busy()) return slurm::write_reason(node.name, what);
    return slurm::drain(node.name, what);
}

}  // namespace

milliseconds random_part(milliseconds limit) {
    if (limit <= milliseconds(0)) return milliseconds(0);
    std::random_device source;
    return milliseconds(std::uniform_int_distribution<milliseconds::rep>(0, limit.count())(source));
}

void sleep_jitter(milliseconds jitter) {
    std::this_thread::sleep_for(random_part(jitter));
}

JoinWait::JoinWait(std::string node)
    : name_(std::move(node)), begin_(Clock::now()), next_(first_pause) {}

bool JoinWait::is_over(milliseconds limit) const {
    return Clock::now() - begin_ >= limit;
}

void JoinWait::pause() {
    std::this_thread::sleep_for(next_ + random_part(next_ / 4));
    next_ = std::min(next_ * 9 / 8, longest_pause);
}

void JoinWait::tell(const Node& node, const std::string& what) {
    if (what == told_ || !is_over(quiet)) return;
    told_ = what;
    log::warning("{}: join waits: {}", name_, what);
    if (auto put = put_on_node(node, std::string(join_prefix) + "waiting: " + what); !put)
        log::warning("{}: {}", name_, put.error().message);
}

}  // namespace cohort
