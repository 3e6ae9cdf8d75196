// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/rollout/rollout_decide.hpp"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include <fmt/core.h>

#include "common/rebuild_budget.hpp"
#include "common/text.hpp"
#include "rebootprog/rollout/rollout_row.hpp"

namespace cohort {
namespace {

using Kind = RolloutAct::Kind;

// A job that ends within this time keeps its slot.
constexpr std::int64_t soon_seconds = 30;

bool unavailable(const Node& node) {
    const auto& s = node.state;
    const bool serves = s.base == NodeState::Base::idle || s.base == NodeState::Base::mixed ||
                        s.base == NodeState::Base::allocated;
    return !serves || s.drain || s.fail || s.not_responding || s.rebooting() ||
           s.invalid_registration || s.maintenance;
}

class Decider {
  public:
    Decider(const Observation& seen, const RolloutView& view, Pace& pace)
        : seen_(seen),
          rollout_(view.rollout),
          rows_(view.rows),
          view_(view),
          pace_(pace),
          index_(seen) {}

    std::vector<RolloutAct> run() {
        for (auto& row : rows_) look_at(row);
        judge_failures();
        const bool active = rollout_.state == RolloutState::active;
        if (rollout_.state == RolloutState::aborted) end_aborted();
        if (active) submit_planned();
        if (active && window_open()) {
            give_slots();
        } else {
            take_back_all();
        }
        close();
        return std::move(acts_);
    }

  private:
    void add(Kind kind, const RolloutNode& row, std::string text = {},
             std::optional<MarkedJob> job = std::nullopt) {
        acts_.push_back({kind, rollout_, row, std::move(job), std::move(text)});
    }
    void tell(std::string text) { add(Kind::note_rollout, {}, std::move(text)); }

    void look_at(RolloutNode& row) {
        const Sighting sight = index_.sighting(rollout_.id, row);
        auto change = update_row(row, sight, {seen_.now, view_.verify_wait, via_reboot()});
        if (!change.changed) return;
        row = change.row;
        add(Kind::note_row, row, change.text);
        if (!change.take_out.empty()) add(Kind::take_out, row, change.take_out);
        if (change.give_back) add(Kind::give_back, row);
    }

    bool via_reboot() const { return rollout_.via == "reboot"; }

    std::int64_t count(Step step) const {
        return std::ranges::count(rows_, step, &RolloutNode::step);
    }

    // Too many failures, or one of a canary, stop the rollout and keep its image from others.
    void judge_failures() {
        if (rollout_.state != RolloutState::active && rollout_.state != RolloutState::paused)
            return;
        const std::int64_t failed = count(Step::failed) - rollout_.forgiven;
        const bool canary = rollout_.canary > 0 && failed > 0 && !canaries_passed();
        if (!canary && failed <= rollout_.failure_budget) return;
        rollout_.state = RolloutState::halted;
        rollout_.why = fmt::format(
            "{} of {} nodes failed{}: see which and why with 'scohort status'; then 'scohort "
            "rollback', or 'scohort resume'",
            count(Step::failed), rows_.size(), canary ? ", one of the first few" : "");
        tell("is halted: " + rollout_.why);
        quarantine_images();
    }

    // An image is blamed when most of the failures came after the cloud had done its part.
    void quarantine_images() {
        std::int64_t failed = 0, booted = 0;
        const RolloutNode* example = nullptr;
        for (const auto& row : rows_) {
            if (row.step != Step::failed) continue;
            ++failed;
            const auto* attempt = index_.attempt(row.node);
            if (!attempt || attempt->outcome != Outcome::ok) continue;
            ++booted;
            example = &row;
        }
        if (example && booted * 2 >= failed)
            add(Kind::quarantine, *example,
                fmt::format("{} nodes of rollout {} came back without a proof, {}: {}", booted,
                            rollout_.id, example->node, example->why));
    }

    bool canaries_passed() const {
        if (rollout_.canary == 0) return true;
        std::int64_t last = 0;
        for (const auto& row : rows_) {
            if (!row.canary || row.step == Step::cancelled) continue;
            if (row.open() || (row.step == Step::failed && rollout_.forgiven == 0)) return false;
            last = std::max(last, row.ended);
        }
        return seen_.now >= last + rollout_.soak;
    }

    bool window_open() const {
        return in_window(rollout_.window, seen_.minute_of_day).value_or(true);
    }

    void submit_planned() {
        for (auto& row : rows_) {
            if (row.step != Step::planned) continue;
            const Node* node = index_.node(row.node);
            if (!node) continue;
            if (row.direct && !(node->state.fail && node->has_our_reason())) row.direct = false;
            if (!row.direct && node->state.fail && node->has_our_reason()) row.direct = true;
            // Behind a barrier a job could never start.
            if (!row.direct && !node->record.hold.empty()) continue;
            if (!row.direct) {
                if (!via_reboot() && !index_.other_job(rollout_.id, row)) add(Kind::submit, row);
            } else if (may_begin(row) && window_open() && !seen_.breaker_open &&
                       pace_.starting < seen_.max_concurrent) {
                ++pace_.starting;
                add(Kind::rebuild, row);
            }
        }
    }

    // The canaries first; the others when they have passed.
    bool may_begin(const RolloutNode& row) const { return row.canary || canaries_passed(); }

    std::set<std::string> out_of_service() const {
        std::set<std::string> out;
        const std::set<std::string> scope(view_.scope.begin(), view_.scope.end());
        for (const auto& name : scope)
            if (const Node* node = index_.node(name); !node || unavailable(*node)) out.insert(name);
        for (const auto& marked : index_.marked())
            if ((!marked.job.pending || !marked.job.held()) && scope.contains(marked.mark.node))
                out.insert(marked.mark.node);
        for (const auto& row : rows_)
            if (row.under_way()) out.insert(row.node);
        for (const auto& name : pace_.given)
            if (scope.contains(name)) out.insert(name);
        return out;
    }

    std::size_t limit() const { return out_limit(rollout_, view_.scope.size()); }

    // It could be begun: its job is held by us (an administrator's own hold is his), or, without
    // jobs, nothing was asked for yet; on a node that is out nothing can start.
    bool may_get_slot(const RolloutNode& row) const {
        const Node* node = index_.node(row.node);
        if (!node || unavailable(*node) || !may_begin(row)) return false;
        if (via_reboot())
            return row.step == Step::planned && !row.direct && !index_.other_job(rollout_.id, row);
        const auto* job = index_.job_of(rollout_.id, row);
        return row.step == Step::held && job && job->held_by_us();
    }

    std::vector<RolloutNode*> candidates() {
        std::vector<RolloutNode*> found;
        for (auto& row : rows_)
            if (may_get_slot(row)) found.push_back(&row);
        if (rollout_.order != "free") return found;
        std::ranges::stable_sort(found, {}, [&](const RolloutNode* row) {
            return std::pair(!could_start(*index_.node(row->node)), index_.free_at(row->node));
        });
        return found;
    }

    void give_slots() {
        if (seen_.breaker_open) return;
        auto waiting = candidates();
        const std::size_t used = out_of_service().size();
        std::size_t slots = limit() > used ? limit() - used : 0;
        std::size_t wanting = 0;  // free nodes that get no slot
        for (auto* row : waiting) {
            const bool free = counts_as_started(*index_.node(row->node));
            const bool pace = pace_.pending < seen_.max_pending &&
                              (!free || pace_.starting < seen_.max_concurrent);
            if (slots == 0 || !pace) {
                if (slots == 0 && could_start(*index_.node(row->node))) ++wanting;
                continue;
            }
            --slots;
            pace_.given.insert(row->node);
            ++pace_.pending;
            if (free) ++pace_.starting;
            if (via_reboot())
                add(Kind::reboot, *row);
            else
                add(Kind::release, *row, {}, *index_.job_of(rollout_.id, *row));
        }
        take_back_busy(wanting);
    }

    // Slots of nodes that stay busy go to nodes that are free now; those that free last first. The
    // slot counts as free only once Slurm shows the job held: the next look gives it away.
    void take_back_busy(std::size_t wanted) {
        if (rollout_.order != "free") return;
        std::vector<const RolloutNode*> busy;
        for (const auto& row : rows_) {
            if (row.step != Step::released) continue;
            const Node* node = index_.node(row.node);
            if (node && has_not_begun(row) && node->state.busy() &&
                index_.free_at(row.node) > seen_.now + soon_seconds)
                busy.push_back(&row);
        }
        std::ranges::stable_sort(busy, std::greater<>(),
                                 [&](const RolloutNode* row) { return index_.free_at(row->node); });
        for (std::size_t i = 0; i < std::min(wanted, busy.size()); ++i) take_back(*busy[i]);
    }

    // Released, and neither its job nor its reboot has begun.
    bool has_not_begun(const RolloutNode& row) const {
        if (row.step != Step::released) return false;
        const auto* job = index_.job_of(rollout_.id, row);
        if (job) return job->job.pending && !job->job.held();
        const Node* node = index_.node(row.node);
        return via_reboot() && node && node->state.reboot_requested && !node->state.reboot_issued;
    }

    void take_back(RolloutNode row) {
        if (const auto* job = index_.job_of(rollout_.id, row))
            return add(Kind::take_back, row, {}, *job);
        row.step = Step::planned;
        row.released = 0;
        add(Kind::cancel_reboot, row);
    }

    void take_back_all() {
        for (const auto& row : rows_)
            if (has_not_begun(row)) take_back(row);
    }

    void end_aborted() {
        for (auto& row : rows_) {
            if (!row.open() || row.step == Step::rebuilding) continue;
            const auto* job = index_.job_of(rollout_.id, row);
            const bool reboot = !job && has_not_begun(row);
            row.step = Step::cancelled;
            row.ended = seen_.now;
            row.why = "the rollout was aborted";
            if (job) add(Kind::cancel, row, {}, *job);
            if (reboot) add(Kind::cancel_reboot, row);
            add(Kind::note_row, row);
        }
    }

    void close() {
        if (!rollout_.open()) return;
        if (std::ranges::any_of(rows_, &RolloutNode::open)) return;
        rollout_.state = RolloutState::done;
        rollout_.ended = seen_.now;
        rollout_.why = fmt::format("{} done, {} failed, {} taken out", count(Step::done),
                                   count(Step::failed), count(Step::cancelled));
        tell("has ended: " + rollout_.why);
    }

    const Observation& seen_;
    Rollout rollout_;
    std::vector<RolloutNode> rows_;
    const RolloutView& view_;
    Pace& pace_;
    SightIndex index_;
    std::vector<RolloutAct> acts_;
};

}  // namespace

bool is_unavailable(const Node& node) {
    return unavailable(node);
}

std::size_t out_limit(const Rollout& rollout, std::size_t scope) {
    const auto total = static_cast<std::uint32_t>(scope);
    const auto most = parse_amount(rollout.max_unavailable).value_or(Amount{10, true});
    const auto least = parse_amount(rollout.min_available).value_or(Amount{0, false});
    const std::uint32_t kept = std::min(total, least.of(total));
    return std::min<std::size_t>(most.of(total), total - kept);
}

Pace pace_of(const Observation& seen) {
    std::unordered_map<std::string, const Node*> nodes;
    for (const auto& node : seen.nodes) nodes[node.name] = &node;
    Pace pace;
    for (const auto& marked : marked_jobs(seen.jobs)) {
        if (marked.job.held()) continue;
        const auto node = nodes.find(marked.mark.node);
        const bool started = node != nodes.end() && counts_as_started(*node->second);
        if (marked.job.pending) ++pace.pending;
        if (!marked.job.pending || started) ++pace.starting;
    }
    return pace;
}

std::vector<RolloutAct> decide_rollout(const Observation& seen, const RolloutView& view,
                                       Pace& pace) {
    return Decider(seen, view, pace).run();
}

std::optional<Amount> parse_amount(std::string_view text) {
    const bool percent = text.ends_with('%');
    if (percent) text.remove_suffix(1);
    const auto number = text::to_number(text::trim(text));
    if (!number || *number > 1000000 || (percent && *number > 100)) return std::nullopt;
    return Amount{static_cast<std::uint32_t>(*number), percent};
}

std::optional<bool> in_window(std::string_view window, int now_minute) {
    const auto minute = [](std::string_view word) -> std::optional<int> {
        const auto parts = text::split(word, ':');
        if (parts.size() != 2) return std::nullopt;
        const auto hour = text::to_number(parts[0]), minutes = text::to_number(parts[1]);
        if (!hour || !minutes || *hour > 24 || *minutes > 59) return std::nullopt;
        return static_cast<int>(*hour * 60 + *minutes);
    };
    const auto dash = window.find('-');
    if (dash == std::string_view::npos) return std::nullopt;
    const auto from = minute(window.substr(0, dash)), to = minute(window.substr(dash + 1));
    if (!from || !to) return std::nullopt;
    if (*from <= *to) return now_minute >= *from && now_minute < *to;
    return now_minute >= *from || now_minute < *to;
}

}  // namespace cohort
