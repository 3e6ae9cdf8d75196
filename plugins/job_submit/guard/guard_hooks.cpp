// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/job_submit/guard/guard_hooks.hpp"

#include <utility>

#include "common/guard/mark.hpp"
#include "common/guard/sweep.hpp"
#include "common/text.hpp"

namespace cohort {
namespace {

using guard::Outcome;

GuardAnswer answer_of(const guard::Verdict& verdict) {
    GuardAnswer answer;
    answer.refused = verdict.outcome == Outcome::refuse;
    answer.features = verdict.features;
    answer.prefer = verdict.prefer;
    answer.partition = verdict.partition;
    answer.message = text::join(verdict.message, "\n");
    answer.het_choice = verdict.het_choice;
    return answer;
}

GuardAnswer refusal(std::string message) {
    GuardAnswer answer;
    answer.refused = true;
    answer.message = std::move(message);
    return answer;
}

bool same(const GuardAnswer& a, const GuardAnswer& b) {
    return a.features == b.features && a.prefer == b.prefer;
}

}  // namespace

const guard::GuardView* GuardHooks::fresh(const World& world, Clock::time_point now) const {
    const auto* view = world.freshness(now) == Freshness::warm ? world.guard.view.get() : nullptr;
    // Where nothing is to be bound no feature is named, and a lost one harms nobody.
    if (!view || all_uniform(*view)) return view;
    return live_(view->revisions()) ? view : nullptr;
}

GuardAnswer GuardHooks::submit(const guard::Request& request, const guard::Caller& caller,
                               const std::string& admin_comment, bool held,
                               Clock::time_point now) const {
    const auto world = world_.get();
    // Without a usable cohort.conf there never was a guard to keep.
    if (world->guard.off || !world->policy || !world->policy->configuration) return {};
    const auto verdict = guard::judge(request, caller, fresh(*world, now));
    GuardAnswer answer = answer_of(verdict);
    if (verdict.outcome == Outcome::hold && held) {
        // He releases it himself; until then the sweep binds it in the queue.
        answer.message.clear();
        return answer;
    }
    if (verdict.outcome == Outcome::pass || verdict.outcome == Outcome::refuse) return answer;
    guard::Mark mark;
    mark.features = request.features;
    mark.prefer = request.prefer;
    mark.now = verdict.features.value_or(request.features);
    mark.now_prefer = verdict.prefer.value_or(request.prefer);
    if (verdict.outcome == Outcome::hold) {
        answer.hold = true;
        if (verdict.cause == guard::Cause::cold) cold_holds_ = true;
        mark.held = guard::held_word(verdict.cause);
    } else if (!verdict.features && !verdict.prefer) {
        return answer;  // only its list of partitions is shorter now
    }
    answer.admin_comment = guard::write_guard_mark(admin_comment, mark);
    return answer;
}

GuardAnswer GuardHooks::modify(const std::string& id, const guard::PlacementChange& change,
                               const guard::Caller& caller, Clock::time_point now) {
    if (caller.admin || (change.empty() && !change.release)) return {};
    const auto world = world_.get();
    if (world->guard.off || !world->policy || !world->policy->configuration) return {};
    const auto* view = fresh(*world, now);
    if (view && all_uniform(*view)) return {};
    std::vector<const Job*> jobs;
    if (world->guard.jobs) jobs = world->guard.jobs->find(id);
    if (jobs.empty()) return answer_of(guard::judge_change(change, nullptr, caller, view, expand_));
    std::optional<GuardAnswer> common;
    std::vector<std::optional<guard::Mark>> marks;
    for (const Job* job : jobs) {
        Job known;
        {
            const std::lock_guard lock(mutex_);
            overlay_.forget_before(world->guard.jobs->began());
            known = overlay_.apply(*job);
        }
        const auto verdict = guard::judge_change(change, &known, caller, view, expand_);
        auto answer = answer_of(verdict);
        if (answer.refused) return answer;
        marks.push_back(guard::mark_after(change, known, verdict, expand_));
        if (common && !same(*common, answer))
            return refusal(
                "cohort: the parts of this job need different constraints now\n"
                "update them one by one, or choose one revision with -C");
        if (!common) common = std::move(answer);
    }
    guard::PlacementChange done = change;
    if (common->features) done.features = common->features;
    if (common->prefer) done.prefer = common->prefer;
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        done.mark = marks[i];
        overlay_.add(jobs[i]->id_text, done, now);
        if (marks[i] && !change.empty()) marks_[jobs[i]->id_text] = *marks[i];
    }
    // A task of an array gets a record of its own by the change.
    if (marks.size() == 1 && marks[0] && !change.empty()) marks_[id] = *marks[0];
    return *common;
}

guard::FreshMarks GuardHooks::take_marks() {
    const std::lock_guard lock(mutex_);
    return std::exchange(marks_, {});
}

}  // namespace cohort
