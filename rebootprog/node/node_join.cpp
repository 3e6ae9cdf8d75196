// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/node/node_join.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include <fmt/core.h>

#include "common/log.hpp"
#include "common/published.hpp"
#include "common/revision.hpp"
#include "common/slurm/load.hpp"
#include "common/slurm/node_writer.hpp"
#include "common/text.hpp"
#include "rebootprog/node/node_gate.hpp"
#include "rebootprog/node/node_judge.hpp"
#include "rebootprog/node/node_once.hpp"

namespace cohort {
namespace {

using Act = NodeDecision::Act;

constexpr std::int64_t clock_slack = 2;

// Takes the node out with WHY; the returned code says that it must not work.
int out_of_service(const std::string& node, const std::string& why) {
    log::error("{}: {}", node, why);
    const auto before = slurm::load_node(node);
    if (before && is_behind_barrier(*before)) {
        // The barrier does not open over a node that has published nothing; its drain is its lock.
        auto kept = slurm::edit_record(node, [&](NodeRecord& record) {
            record.out_reason = std::string(reason_prefix) + why;
        });
        if (!kept) log::error("{}: {}", node, kept.error().message);
        return exit_code::some_failed;
    }
    if (auto out = slurm::take_out(node, why); !out)
        log::error("{}: could not be taken out of service: {}", node, out.error().message);
    return exit_code::some_failed;
}

// A job runs here: it must not lose its slurmd. No new one may come.
void drain_beside_jobs(const std::string& node, const std::string& why) {
    log::error("{}: {}; jobs are running, the node is drained", node, why);
    if (const auto before = slurm::load_node(node); before && is_behind_barrier(*before)) return;
    if (auto drained = slurm::drain(node, why); !drained)
        log::error("{}: {}", node, drained.error().message);
}

// libslurm ends the process that has no slurm.conf.
bool start_library() {
    static bool started = false;
    if (!started && !local_slurm_conf().empty()) {
        slurm::initialise_library();
        started = true;
    }
    return started;
}

Result<Node> ask(const std::string& name) {
    if (!start_library())
        return fail(Errc::not_found, "there is no slurm.conf here until slurmd has fetched it");
    return slurm::load_node(name);
}

// The label of what runs here. A sealed profile or a stamp speaks for itself; without one the
// controller's wish is all there is, and only the weak proof stands behind it.
std::string label_of(const NodeRecord& record, const NodeFacts& facts) {
    if (const std::string own = own_revision(facts); !own.empty()) return own;
    if (record.want && is_revision_name(record.want->revision)) return record.want->revision;
    return record.revision;
}

bool published_in_this_boot(const NodeFacts& facts) {
    const auto published = read_published();
    return published && published->boot_id == facts.boot_id;
}

bool is_joins(const std::string& reason) {
    return is_our_reason(reason) && reason.substr(reason_prefix.size()).starts_with(join_prefix);
}

// What join had said of a node that it did not take out.
Status forget_lack(const Node& node) {
    const bool out = node.state.drain || node.state.fail;
    if (!out && is_joins(node.reason))
        if (auto cleared = slurm::write_reason(node.name, ""); !cleared) return cleared;
    if (!is_joins(node.record.out_reason)) return {};
    return slurm::edit_record(node.name, [](NodeRecord& record) { record.out_reason.clear(); });
}

Status lift_what_is_ours(const std::string& name, bool was_published) {
    auto node = slurm::load_node(name);
    if (!node) return tl::unexpected(node.error());
    if (!may_lift(*node, was_published)) return forget_lack(*node);
    log::info("{}: {} ('{}') is lifted: the node is proved", name, node->state.text(),
              node->reason);
    return slurm::give_back(name);
}

Status publish(const Node& node, const NodeFacts& facts, const std::string& why) {
    const bool was_published = published_in_this_boot(facts);
    const std::string label = label_of(node.record, facts);
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
        log::warning(
            "{}: plugstack.conf has no line for spank_cohort.so: tasks have no launch gate",
            node.name);
    return lift_what_is_ours(node.name, was_published);
}

// Without a label too: the weak proof of a later rebuild needs to know what was there before.
Status keep_root(const Node& node, const NodeFacts& facts) {
    if (!node.extra_is_ours || node.record.root == facts.observed.root) return {};
    return slurm::edit_record(node.name,
                              [&](NodeRecord& record) { record.root = facts.observed.root; });
}

// A node that was never adopted has no label, but its launch gate must not refuse every job.
Status publish_locally(const Node& node, const NodeFacts& facts) {
    const bool was_published = published_in_this_boot(facts);
    if (const std::string own = own_revision(facts); !own.empty()) {
        auto kept = write_published({own, "", facts.boot_id, facts.observed.stamp});
        if (!kept) return kept;
    }
    return lift_what_is_ours(node.name, was_published);
}

// One node's join --after.
class AfterSlurmd {
  public:
    AfterSlurmd(const Settings& settings, const JoinOptions& options)
        : settings_(settings), options_(options), name_(node_name()), wait_(name_) {}

    int run() {
        while (true) {
            if (const auto code = step()) return *code;
            if (wait_.is_over(settings_.verify_wait)) break;
            wait_.pause();
        }
        const auto node = ask(name_);
        if (!node) {
            log::error("{}: nothing is published: {}", name_, waiting_for_);
            return exit_code::try_again;
        }
        // join --before has said why slurmd does not start: that reason stays.
        if (node->state.fail && node->has_our_reason()) return exit_code::some_failed;
        return out_of_service(name_,
                              fmt::format("{}gave up after {}: {}", join_prefix,
                                          text::duration(settings_.verify_wait), waiting_for_));
    }

  private:
    std::optional<int> wait_for(std::string what) {
        waiting_for_ = std::move(what);
        return std::nullopt;
    }

    // Nothing when it has to look again.
    std::optional<int> step() {
        const NodeFacts facts = read_node_facts(settings_);
        const auto node = ask(name_);
        if (!node) return wait_for(node.error().message);
        if (node->boot_time + clock_slack < facts.observed.boot_time)
            return wait_for("slurmd to register this boot");
        if (!facts.lacks().empty()) return lacks(*node, facts);
        const auto decision = decide_after(node->record, facts, settings_.accept_weak_proof,
                                           asks_for_label(*node, facts));
        switch (decision.act) {
            case Act::wait:
                return wait_for(decision.why);
            case Act::take_out:
                return out_of_service(name_, decision.why);
            case Act::go_on:
            case Act::publish:
                break;
        }
        return joined(*node, facts, decision);
    }

    std::optional<int> lacks(const Node& node, const NodeFacts& facts) {
        if (!wait_.is_over(
                std::min<std::chrono::milliseconds>(options_.wait, settings_.verify_wait))) {
            wait_.tell(node, facts.lacks());
            return wait_for(facts.lacks());
        }
        const bool live = has_live_steps();
        const auto decision = decide_lack(node, facts, {false, live});
        if (decision->act == Act::wait) {
            log::error("{}: nothing is published: {}", name_, decision->why);
            return exit_code::some_failed;
        }
        if (!live) return out_of_service(name_, decision->why);
        drain_beside_jobs(name_, decision->why);
        return exit_code::some_failed;
    }

    std::optional<int> joined(const Node& node, const NodeFacts& facts,
                              const NodeDecision& decision) {
        const auto kind = boot_kind(node.record, facts);
        log::info("{}: {}: {}", name_, boot_text(kind), decision.why);
        Status done;
        if (decision.act == Act::publish) {
            done = publish(node, facts, decision.why);
        } else {
            // A rebuild or reboot that is about to begin publishes nothing here.
            if (!node.record.want) done = publish_locally(node, facts);
            if (done) done = keep_root(node, facts);
        }
        if (done) return exit_code::ok;
        waiting_for_ = done.error().message;
        if (done.error().code != Errc::invalid) return std::nullopt;
        log::error("{}: {}", name_, waiting_for_);
        return exit_code::some_failed;
    }

    const Settings& settings_;
    const JoinOptions& options_;
    std::string name_, waiting_for_;
    JoinWait wait_;
};

// What join --before has found out of the node.
struct BeforeView {
    const std::string& name;
    const NodeFacts& facts;
    const Result<Node>& node;
    bool live_steps;
    bool accept_weak_proof;
};

int judge_before(const BeforeView& seen) {
    if (!seen.node) {
        // slurmd has to run before this node can say anything: join --after is its judge.
        log::warning("{}: not judged before slurmd starts: {}", seen.name,
                     seen.node.error().message);
        if (!seen.facts.lacks().empty())
            log::error("{}: {}; join --after will take it out of service", seen.name,
                       seen.facts.lacks());
        return exit_code::ok;
    }
    auto decision = decide_lack(*seen.node, seen.facts, {true, seen.live_steps});
    if (!decision) decision = decide_before(seen.node->record, seen.facts, seen.accept_weak_proof);
    if (decision->act != Act::take_out) {
        log::info("{}: slurmd may start: {}", seen.name, decision->why);
        return exit_code::ok;
    }
    if (!seen.live_steps) return out_of_service(seen.name, decision->why);
    drain_beside_jobs(seen.name, decision->why);
    return exit_code::ok;
}

}  // namespace

int join_before(const Settings& settings, const JoinOptions& options) {
    const std::string name = node_name();
    JoinWait wait(name);
    while (true) {
        const NodeFacts facts = read_node_facts(settings);
        const auto node = ask(name);
        const bool live = has_live_steps();
        const bool silent = !node && node.error().code == Errc::unreachable;
        // Neither a job that runs here nor a rebuild job that waits for this boot waits for slurmd.
        const bool at_once = live || (node && node->state.rebooting());
        if ((facts.lacks().empty() && !silent) || at_once || wait.is_over(options.wait))
            return judge_before({name, facts, node, live, settings.accept_weak_proof});
        if (node) wait.tell(*node, facts.lacks());
        wait.pause();
    }
}

int join_after(const Settings& settings, const JoinOptions& options) {
    sleep_jitter(options.jitter);
    return AfterSlurmd(settings, options).run();
}

}  // namespace cohort
