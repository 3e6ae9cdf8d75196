// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/rollout/rollout_row.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/slurm/hostlist.hpp"

namespace cohort {
namespace {

// A RebootProgram that was called is in the journal by then.
constexpr std::int64_t begin_grace = 60;
// A reboot that was asked for is seen on the node by then.
constexpr std::int64_t reboot_grace = 15;

bool is_out_by_us(const Node& node) {
    return (node.state.fail || node.state.drain || node.state.base == NodeState::Base::down) &&
           (node.has_our_reason() || (node.reason.empty() && !node.record.out_reason.empty()));
}

// It runs the image, by its own word and the cloud's.
bool runs_it(const Node& node, const RolloutNode& row) {
    const auto& want = node.record.want;
    return want && want->succeeded() && want->image == row.image_to &&
           !node.record.revision.empty();
}

// A node behind a barrier stays out when it has proved itself: the barrier opens it.
bool proved(const Node& node, const RolloutNode& row) {
    if (!node.record.hold.empty()) return runs_it(node, row) && !node.state.rebooting();
    return runs_it(node, row) && !is_out_by_us(node) && !node.state.rebooting() &&
           node.state.base != NodeState::Base::down && node.state.base != NodeState::Base::unknown;
}

std::string reason_of(const Node& node) {
    std::string text = node.reason.empty() ? node.record.out_reason : node.reason;
    if (is_our_reason(text)) text.erase(0, reason_prefix.size());
    return text;
}

class RowUpdate {
  public:
    RowUpdate(const RolloutNode& row, const Sighting& sight, const RowRules& rules)
        : before_(row), s_(sight), rules_(rules) {
        change_.row = row;
    }

    RowChange run() {
        if (row().step == Step::failed) {
            came_back_late();
        } else if (row().open() && s_.node) {
            if (s_.job) {
                follow_job();
            } else if (rules_.via_reboot && row().step == Step::released && !s_.attempt) {
                follow_reboot();
            } else if (row().step != Step::planned) {
                judge_without_job();
            }
        }
        return std::move(change_);
    }

  private:
    RolloutNode& row() { return change_.row; }

    void step(Step to, std::string why = {}, std::string text = {}) {
        if (row().step == to && row().why == why) return;
        change_.changed = true;
        row().step = to;
        row().why = std::move(why);
        change_.text = std::move(text);
        if (to == Step::rebuilding && row().started == 0) row().started = rules_.now;
        if (to == Step::done || to == Step::failed || to == Step::cancelled)
            row().ended = rules_.now;
    }

    void fail(const std::string& why) { step(Step::failed, why, "failed: " + why); }

    void came_back_late() {
        if (!s_.node || !s_.attempt || !proved(*s_.node, row())) return;
        step(Step::done, "", "came back late: it runs the image now");
    }

    // Somebody (Slurm, an administrator, another advance) may have moved it since we looked.
    void follow_job() {
        const Job& job = s_.job->job;
        if (row().job != job.id) {
            change_.changed = true;
            row().job = job.id;
        }
        if (job.pending && job.held()) {
            if (s_.job->held_by_us())
                step(Step::held);
            else
                step(Step::held, fmt::format("job {} is held by an administrator", job.id_text));
        } else if (job.pending) {
            if (row().released == 0) row().released = rules_.now;
            step(Step::released);
        } else {
            if (row().started == 0) row().started = job.start_time ? job.start_time : rules_.now;
            step(Step::rebuilding);
        }
    }

    void follow_reboot() {
        const auto& state = s_.node->state;
        if (state.reboot_issued) {
            step(Step::rebuilding);
        } else if (!state.reboot_requested && rules_.now > row().released + reboot_grace) {
            step(Step::cancelled, "its reboot was cancelled",
                 "is taken out of the rollout: its reboot was cancelled");
        }
    }

    void judge_without_job() {
        const Attempt* attempt = s_.attempt;
        if (!attempt) {
            judge_without_attempt();
        } else if (attempt->outcome == Outcome::open || attempt->outcome == Outcome::unsure) {
            step(Step::rebuilding, attempt->reason);
        } else if (attempt->outcome == Outcome::untouched) {
            judge_untouched(*attempt);
        } else if (proved(*s_.node, row())) {
            step(Step::done, "", "runs the image now");
        } else if (attempt->outcome == Outcome::failed) {
            fail(attempt->reason);
        } else {
            judge_unproved(*attempt);
        }
    }

    void judge_without_attempt() {
        if (row().direct || rules_.via_reboot) {
            if (rules_.now > row().started + begin_grace) again("cohort-reboot did not begin");
        } else if (s_.ended && s_.ended->cancelled) {
            step(Step::cancelled, fmt::format("job {} was cancelled", row().job),
                 "is taken out of the rollout: its job was cancelled");
        } else if (!s_.ended && !is_out_by_us(*s_.node)) {
            // Gone with slurmctld's state, or ended long ago: nothing was begun.
            again(fmt::format("job {} is gone", row().job));
        } else if (is_out_by_us(*s_.node)) {
            fail(reason_of(*s_.node));
        } else if (s_.ended && rules_.now > s_.ended->end_time + begin_grace) {
            fail(
                fmt::format("job {} ended and nothing was rebuilt: is RebootProgram=cohort-reboot "
                            "set, and did it run?",
                            row().job));
        }
    }

    // Nothing was sent: as soon as advance has given it back it is begun anew.
    void judge_untouched(const Attempt& attempt) {
        if (is_out_by_us(*s_.node) && !row().direct)
            step(Step::rebuilding, "untouched: " + attempt.reason);
        else
            again(attempt.reason);
    }

    void again(const std::string& why) {
        step(Step::planned, why, "is begun anew: " + why);
        row().job = 0;
        row().submitted = row().released = row().started = 0;
        if (s_.attempt) row().after_attempt = s_.attempt->id;
    }

    // The cloud has done its part. A node that was out before keeps its old reason until it boots.
    void judge_unproved(const Attempt& attempt) {
        const Node& node = *s_.node;
        const std::string reason = reason_of(node);
        const auto& want = node.record.want;
        const bool told = want && want->at >= attempt.posted;
        const bool old = !told || reason == direct_reason(row().rollout) ||
                         reason == reboot_reason(row().rollout) || reason == lost_wish_reason ||
                         reason.find(unsure_words) != std::string::npos ||
                         (!node.record.hold.empty() && reason == hold_reason(node.record.hold));
        if (told && old && is_out_by_us(node) && runs_it(node, row()) && !node.state.rebooting()) {
            // It came back DOWN from `scontrol reboot`, or our re-asserting met join's RESUME.
            change_.changed = change_.give_back = true;
        } else if (is_out_by_us(node) && !old) {
            fail(reason);
        } else if (rules_.now > attempt.ended + rules_.verify_wait) {
            const std::string why = is_in_service(node)
                                        ? "it came back and never proved what it runs"
                                        : "it never came back: " + node.state.text();
            change_.take_out = why;
            fail(why);
        } else {
            step(Step::rebuilding, "waits for the node's own proof");
        }
    }

    static bool is_in_service(const Node& node) {
        return !node.state.fail && node.state.base != NodeState::Base::down &&
               node.state.base != NodeState::Base::unknown && !node.state.not_responding;
    }

    const RolloutNode& before_;
    const Sighting& s_;
    const RowRules& rules_;
    RowChange change_;
};

}  // namespace

SightIndex::SightIndex(const Observation& seen) : marked_(marked_jobs(seen.jobs)) {
    for (const auto& node : seen.nodes) nodes_[node.name] = &node;
    for (const auto& attempt : seen.latest) attempts_[attempt.node] = &attempt;
    for (const auto& marked : marked_) by_node_[marked.mark.node].push_back(&marked);
    for (const auto& job : seen.jobs) {
        if (!job.active()) ended_[job.id] = &job;
        if (!job.running || job.nodes.empty()) continue;
        const auto names = slurm::expand_hosts(job.nodes);
        if (!names) continue;
        for (const auto& name : *names) {
            auto& end = free_at_[name];
            end = std::max(end, job.end_time);
        }
    }
}

const Node* SightIndex::node(const std::string& name) const {
    const auto at = nodes_.find(name);
    return at == nodes_.end() ? nullptr : at->second;
}

const Attempt* SightIndex::attempt(const std::string& name) const {
    const auto at = attempts_.find(name);
    return at == attempts_.end() ? nullptr : at->second;
}

std::int64_t SightIndex::free_at(const std::string& name) const {
    const auto at = free_at_.find(name);
    return at == free_at_.end() ? 0 : at->second;
}

const MarkedJob* SightIndex::job_of(std::int64_t rollout, const RolloutNode& row) const {
    const auto at = by_node_.find(row.node);
    if (at == by_node_.end()) return nullptr;
    // By the mark, not by the number alone: the number may not have reached the journal.
    const auto found = std::ranges::find(at->second, rollout,
                                         [](const MarkedJob* job) { return job->mark.rollout; });
    return found == at->second.end() ? nullptr : *found;
}

bool SightIndex::other_job(std::int64_t rollout, const RolloutNode& row) const {
    const auto at = by_node_.find(row.node);
    return at != by_node_.end() && std::ranges::any_of(at->second, [&](const MarkedJob* job) {
               return job->mark.rollout != rollout;
           });
}

Sighting SightIndex::sighting(std::int64_t rollout, const RolloutNode& row) const {
    Sighting sight{node(row.node), job_of(rollout, row), nullptr, nullptr};
    if (const auto at = ended_.find(row.job); row.job != 0 && at != ended_.end())
        sight.ended = at->second;
    const Attempt* latest = attempt(row.node);
    if (latest && latest->id > row.after_attempt) sight.attempt = latest;
    return sight;
}

RowChange update_row(const RolloutNode& row, const Sighting& sight, const RowRules& rules) {
    return RowUpdate(row, sight, rules).run();
}

std::string direct_reason(std::int64_t rollout) {
    return fmt::format("rollout {} rebuilds it", rollout);
}

std::string reboot_reason(std::int64_t rollout) {
    return fmt::format("rollout {} rebuilds it when it is idle", rollout);
}

}  // namespace cohort
