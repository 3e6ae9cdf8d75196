// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/node_join.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include <fmt/core.h>

#include "common/log.hpp"
#include "common/published.hpp"
#include "common/revision.hpp"
#include "common/slurm/load.hpp"
#include "common/slurm/node_writer.hpp"
#include "common/text.hpp"
#include "rebootprog/node_judge.hpp"

namespace cohort {
namespace {

using Clock = std::chrono::steady_clock;
using Act = NodeDecision::Act;

constexpr auto poll_interval = std::chrono::milliseconds(500);
constexpr std::int64_t clock_slack = 2;
// A site may write the profile after slurmd has started; a node that never gets one is out then.
constexpr auto profile_wait = std::chrono::seconds(30);

// Takes the node out with WHY; the returned code says that it must not work.
int out_of_service(const std::string& node, const std::string& why) {
    log::error("{}: {}", node, why);
    if (auto out = slurm::take_out(node, why); !out)
        log::error("{}: could not be taken out of service: {}", node, out.error().message);
    return exit_code::some_failed;
}

// The label of what runs here. A sealed profile or a stamp speaks for itself; without one the
// controller's wish is all there is, and only the weak proof stands behind it.
std::string label_of(const NodeRecord& record, const NodeFacts& facts) {
    if (!facts.profile_fault.empty()) return {};
    if (const std::string own = own_revision(facts); !own.empty()) return own;
    if (record.want && is_revision_name(record.want->revision)) return record.want->revision;
    return record.revision;
}

bool published_in_this_boot(const NodeFacts& facts) {
    const auto published = read_published();
    return published && published->boot_id == facts.boot_id;
}

Status lift_what_is_ours(const std::string& name, bool was_published) {
    auto node = slurm::load_node(name);
    if (!node) return tl::unexpected(node.error());
    if (!may_lift(*node, was_published)) return {};
    log::info("{}: {} ('{}') is lifted: the node is proved", name, node->state.text(),
              node->reason);
    return slurm::give_back(name);
}

Status publish(const Node& node, const NodeFacts& facts, const std::string& why) {
    const bool was_published = published_in_this_boot(facts);
    const std::string label = label_of(node.record, facts);
    if (!facts.profile_fault.empty())
        return fail(Errc::invalid, "the task profile is not usable: " + facts.profile_fault);
    if (!is_revision_name(label))
        return fail(
            Errc::invalid,
            "this node carries no stamp and no attempt is recorded: nothing to label it by");
    auto written = slurm::edit_record(node.name, [&](NodeRecord& record) {
        record.revision = label;
        record.root = facts.observed.root;
    });
    if (!written) return written;
    const std::string request = node.record.want ? node.record.want->request : std::string();
    if (auto kept = write_published({label, request, facts.boot_id, facts.observed.stamp}); !kept)
        return kept;
    log::info("{}: published {} ({})", node.name, label, why);
    if (!facts.sealed.empty() && without_launch_gate())
        log::warning("{}: plugstack.conf has no line for spank_cohort.so: tasks have no launch gate",
                     node.name);
    return lift_what_is_ours(node.name, was_published);
}

// Without a label too: the weak proof of a later rebuild needs to know what was there before.
bool keep_root(const Node& node, const NodeFacts& facts) {
    if (!node.extra_is_ours || node.record.root == facts.observed.root) return true;
    auto kept = slurm::edit_record(node.name,
                                   [&](NodeRecord& record) { record.root = facts.observed.root; });
    if (!kept) log::warning("{}", kept.error().message);
    return kept.has_value();
}

// A node that was never adopted has no label, but its launch gate must not refuse every job.
void publish_locally(const std::string& name, const NodeFacts& facts) {
    const bool was_published = published_in_this_boot(facts);
    if (const std::string own = own_revision(facts); !own.empty())
        if (auto kept = write_published({own, "", facts.boot_id, facts.observed.stamp}); !kept)
            log::error("{}", kept.error().message);
    // What its last leave has set.
    if (auto lifted = lift_what_is_ours(name, was_published); !lifted)
        log::error("{}", lifted.error().message);
}

// A step of join --after: nothing when it has to look again.
std::optional<int> after_step(const std::string& name, const NodeFacts& facts,
                              const Settings& settings, std::string& waiting_for) {
    auto node = slurm::load_node(name);
    if (!node) {
        waiting_for = node.error().message;
        return std::nullopt;
    }
    if (node->boot_time + clock_slack < facts.observed.boot_time) {
        waiting_for = "slurmd to register this boot";
        return std::nullopt;
    }
    const auto decision = decide_after(node->record, facts, settings.accept_weak_proof);
    switch (decision.act) {
        case Act::go_on:
            log::info("{}: {}", name, decision.why);
            if (!node->record.want && node->record.revision.empty())
                publish_locally(name, facts);
            return keep_root(*node, facts) ? exit_code::ok : exit_code::try_again;
        case Act::take_out:
            return out_of_service(name, decision.why);
        case Act::wait:
            waiting_for = decision.why;
            return std::nullopt;
        case Act::publish:
            break;
    }
    auto published = publish(*node, facts, decision.why);
    if (published) return exit_code::ok;
    waiting_for = published.error().message;
    if (published.error().code == Errc::invalid) {
        log::error("{}: {}", name, waiting_for);
        return exit_code::some_failed;
    }
    return std::nullopt;
}

// What verify judges by, read once but for the node's own files.
struct VerifyJob {
    std::string name;
    std::int64_t submit_time = 0;
    std::string plugstack;
    Clock::time_point profile_until;
};

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
    // The image is proved, but would a task run? The gate lets only this job pass without a profile.
    if (auto fault = launch_fault(job.plugstack, node->record.revision); !fault.empty()) {
        if (Clock::now() >= job.profile_until) return out_of_service(name, fault);
        waiting_for = std::move(fault);
        return std::nullopt;
    }
    if (node->record.revision.empty() || node->record.root != facts.observed.root) {
        waiting_for = "cohort-node join --after to publish this boot";
        return std::nullopt;
    }
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

int join_before(const Settings& settings) {
    const std::string name = node_name();
    const auto facts = read_node_facts(settings);
    if (!facts) {
        log::error("{}: {}", name, facts.error().message);
        return exit_code::usage;
    }
    // A configless or dynamic node cannot ask before slurmd has run: join --after is its judge.
    const auto node = slurm::load_node(name);
    if (!node) {
        log::warning("{}: not judged before slurmd starts: {}", name, node.error().message);
        return exit_code::ok;
    }
    const auto decision = decide_before(node->record, *facts, settings.accept_weak_proof);
    if (decision.act != Act::take_out) {
        log::info("{}: slurmd may start: {}", name, decision.why);
        return exit_code::ok;
    }
    if (!has_live_steps()) return out_of_service(name, decision.why);
    // A job runs here: it must not lose its slurmd. No new one may come.
    log::error("{}: {}; jobs are running, the node is drained", name, decision.why);
    if (auto drained = slurm::drain(name, decision.why); !drained)
        log::error("{}: {}", name, drained.error().message);
    return exit_code::ok;
}

int join_after(const Settings& settings) {
    const std::string name = node_name();
    const auto facts = read_node_facts(settings);
    if (!facts) return out_of_service(name, facts.error().message);
    const auto until = Clock::now() + settings.verify_wait;
    std::string waiting_for;
    while (true) {
        if (const auto code = after_step(name, *facts, settings, waiting_for)) return *code;
        if (Clock::now() >= until) break;
        std::this_thread::sleep_for(poll_interval);
    }
    const auto node = slurm::load_node(name);
    if (!node) {
        log::error("{}: nothing is published: {}", name, waiting_for);
        return exit_code::try_again;
    }
    return out_of_service(name, fmt::format("join gave up after {}: {}",
                                            text::duration(settings.verify_wait), waiting_for));
}

int verify(const Settings& settings) {
    const std::string name = node_name();
    const auto facts = read_node_facts(settings);
    if (!facts) return out_of_service(name, facts.error().message);
    const auto config = slurm::load_controller_config();
    const auto begin = Clock::now();
    const auto until = begin + settings.verify_wait;
    const VerifyJob job{name, submit_time_of_this_job(), config ? config->plugstack : "",
                        begin + std::min<Clock::duration>(profile_wait, settings.verify_wait)};
    std::string waiting_for;
    while (true) {
        if (const auto code = verify_step(job, *facts, settings, waiting_for)) return *code;
        if (Clock::now() >= until) break;
        std::this_thread::sleep_for(poll_interval);
    }
    return out_of_service(name, fmt::format("not verified after {}: {}",
                                            text::duration(settings.verify_wait), waiting_for));
}

}  // namespace cohort
