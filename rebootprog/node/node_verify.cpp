// SPDX-License-Identifier: GPL-2.0-or-later
// cohort-node verify: what a rebuild job runs.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

#include <fmt/core.h>

#include "common/log.hpp"
#include "common/slurm/load.hpp"
#include "common/slurm/node_writer.hpp"
#include "common/text.hpp"
#include "rebootprog/node/node_join.hpp"
#include "rebootprog/node/node_judge.hpp"
#include "rebootprog/site/run_command.hpp"

namespace cohort {
namespace {

using Clock = std::chrono::steady_clock;
using Act = NodeDecision::Act;

constexpr auto poll_interval = std::chrono::milliseconds(500);
// A site may write the profile after slurmd has started; a node that never gets one is out then.
constexpr auto profile_wait = std::chrono::seconds(30);

int out_of_service(const std::string& node, const std::string& why) {
    log::error("{}: {}", node, why);
    if (auto out = slurm::take_out(node, why); !out)
        log::error("{}: could not be taken out of service: {}", node, out.error().message);
    return exit_code::some_failed;
}

// What verify judges by, read once but for the node's own files.
struct VerifyJob {
    std::string name;
    std::int64_t submit_time = 0;
    Clock::time_point profile_until, until;
};

// The site's own word, asked once and last: the node is proved, is it well? Empty: yes.
std::string health_fault(const VerifyJob& job, const Settings& settings, const Node& node) {
    if (settings.health_check.empty()) return {};
    const auto left = std::chrono::ceil<std::chrono::seconds>(job.until - Clock::now());
    const auto limit = std::max(left, std::chrono::seconds(1));
    const auto ran = run_command(
        {.words = {settings.health_check},
         .environment = {{"COHORT_NODE", job.name}, {"COHORT_REVISION", node.record.revision}},
         .limit = limit});
    if (!ran) return fmt::format("HealthCheck {}: {}", settings.health_check, ran.error().message);
    if (ran->status == 0) return {};
    return fmt::format("HealthCheck {}: {}", settings.health_check, ran->complaint());
}

// A step of verify.
std::optional<int> verify_step(const VerifyJob& job, const NodeFacts& facts,
                               const Settings& settings, std::string& waiting_for) {
    const std::string& name = job.name;
    auto node = slurm::load_node(name);
    if (!node) {
        waiting_for = node.error().message;
        return std::nullopt;
    }
    const auto decision =
        decide_verify(node->record, facts, settings.accept_weak_proof, job.submit_time);
    if (decision.act == Act::take_out) return out_of_service(name, decision.why);
    waiting_for = decision.why;
    if (decision.act == Act::wait) return std::nullopt;
    // The image is proved, but would a task run? The gate lets only this job pass without a
    // profile.
    if (auto fault = launch_fault(node->record.revision); !fault.empty()) {
        if (Clock::now() >= job.profile_until) return out_of_service(name, fault);
        waiting_for = std::move(fault);
        return std::nullopt;
    }
    if (node->record.revision.empty() || node->record.root != facts.observed.root) {
        waiting_for = "cohort-node join --after to publish this boot";
        return std::nullopt;
    }
    if (auto fault = health_fault(job, settings, *node); !fault.empty())
        return out_of_service(name, fault);
    log::info("{}: verified: {} ({})", name, node->record.revision, decision.why);
    return exit_code::ok;
}

std::int64_t submit_time_of_this_job() {
    const char* id = std::getenv("SLURM_JOB_ID");
    const auto number = text::to_number(id ? id : "");
    if (!number) return 0;
    const auto job = slurm::load_job(static_cast<std::uint32_t>(*number));
    return job ? job->submit_time : 0;
}

}  // namespace

int verify(const Settings& settings) {
    const std::string name = node_name();
    const NodeFacts facts = read_node_facts(settings);
    if (!facts.stamp_fault.empty()) return out_of_service(name, facts.stamp_fault);
    const auto begin = Clock::now();
    const auto until = begin + settings.verify_wait;
    const VerifyJob job{name, submit_time_of_this_job(),
                        begin + std::min<Clock::duration>(profile_wait, settings.verify_wait),
                        until};
    std::string waiting_for;
    while (true) {
        if (const auto code = verify_step(job, facts, settings, waiting_for)) return *code;
        if (Clock::now() >= until) break;
        std::this_thread::sleep_for(poll_interval);
    }
    return out_of_service(name, fmt::format("not verified after {}: {}",
                                            text::duration(settings.verify_wait), waiting_for));
}

}  // namespace cohort
