// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/guard/modify.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/guard/bound.hpp"
#include "common/text.hpp"

namespace cohort::guard {
namespace {

Verdict refuse(Cause cause, std::vector<std::string> message) {
    Verdict verdict;
    verdict.outcome = Outcome::refuse;
    verdict.cause = cause;
    verdict.message = std::move(message);
    return verdict;
}

// A user who edits what squeue shows him sends our group back: it is still ours.
std::string without_group(const std::string& given, const std::string& present) {
    const auto now = strip_bound(present), then = strip_bound(given);
    const bool ours = now && then && now->bound == then->bound && now->bound.revisions.size() > 1;
    return ours ? then->original : given;
}

std::optional<Request> merged(const PlacementChange& change, const Job& job,
                              const ExpandHosts& expand) {
    auto mark = current_mark(job);
    if (mark && mark->own) mark.reset();
    auto request = request_of(job, mark, expand);
    if (!request) return std::nullopt;
    request->queued = false;
    if (change.partition) request->partition = *change.partition;
    if (change.reservation) request->reservation = *change.reservation;
    if (change.features)
        request->features = mark ? without_group(*change.features, job.features) : *change.features;
    if (change.prefer)
        request->prefer = mark ? without_group(*change.prefer, job.prefer) : *change.prefer;
    if (change.required) request->required = *change.required;
    if (change.excluded) request->excluded = *change.excluded;
    if (change.tasks) request->tasks = *change.tasks;
    if (change.max_nodes) request->max_nodes = *change.max_nodes;
    if (change.min_nodes) {
        request->min_nodes = *change.min_nodes;
        // NumNodes=3 sets only the least number in 22.05.
        if (!change.max_nodes && request->max_nodes != 0)
            request->max_nodes = std::max(request->max_nodes, *change.min_nodes);
    }
    return request;
}

Verdict release_of(const Job& job, const Caller& caller) {
    const auto mark = parse_guard_mark(job.admin_comment);
    if (caller.admin || !mark || mark->held.empty() || !job.held()) return {};
    return refuse(Cause::rule,
                  {"cohort: the job waits for nodes of one software revision",
                   "it is released by itself; scancel it, or choose a revision with -C"});
}

// A bound that is in place is only written again when something about it changes.
Verdict minimal(Verdict verdict, const PlacementChange& change, const Job& job) {
    if (verdict.outcome != Outcome::bind) return verdict;
    const auto features = change.features.value_or(job.features);
    const auto prefer = change.prefer.value_or(job.prefer);
    if (verdict.features == features) verdict.features.reset();
    if (verdict.prefer == prefer) verdict.prefer.reset();
    if (!verdict.features && !verdict.prefer && !verdict.partition) return {};
    return verdict;
}

bool holds_by_itself(const std::string& constraint, const Request& request) {
    const auto read = parse_constraint(constraint);
    const Holds holds = read ? holds_one_revision(*read) : Holds::no;
    return holds == Holds::pin || (holds == Holds::group && request.required.empty());
}

// A job that its user has held and releases: slurmctld may take the release and refuse a constraint
// that comes with it, so the thread binds it first.
Verdict released(Verdict verdict, const Job& job, const Request& request) {
    if (verdict.outcome != Outcome::bind) return verdict;
    if (holds_by_itself(job.features, request) &&
        (job.prefer.empty() || holds_by_itself(job.prefer, request)))
        return {};
    return refuse(Cause::cold, {"cohort: this job is not bound to one software revision yet",
                                "try again in a few seconds"});
}

}  // namespace

bool PlacementChange::empty() const {
    return !partition && !reservation && !features && !prefer && !required && !excluded &&
           !min_nodes && !max_nodes && !tasks;
}

Verdict judge_change(const PlacementChange& change, const Job* job, const Caller& caller,
                     const GuardView* view, const ExpandHosts& expand) {
    const bool release = change.empty();
    if (release) {
        if (!change.release || caller.admin) return {};
        if (job) {
            auto ours = release_of(*job, caller);
            const auto mark = current_mark(*job);
            if (ours.outcome != Outcome::pass || !job->held() || (mark && mark->own)) return ours;
        }
    }
    if (caller.admin) return {};
    if (job && !job->pending) return {};  // Slurm refuses
    if (!view || !job)
        return refuse(Cause::cold, {"cohort: the controller has not seen this job since its start",
                                    "try again in a few seconds"});
    auto request = merged(change, *job, expand);
    if (!request) return refuse(Cause::unclear, {"cohort: a node list of this job cannot be read"});
    // What its user held himself nobody has bound, or could bind: it waits in the queue from now
    // on.
    if (release) request->queued = true;
    if (job->het_id != 0) {
        // One component at a time: what its siblings are pinned to stays as it is.
        if (change.features &&
            holds_one_revision(parse_constraint(*change.features).value_or(Constraint{})) ==
                Holds::pin)
            return {};
        Request component = *request;
        component.het = true;
        const auto now = strip_bound(job->features);
        if (now && now->bound.revisions.size() == 1) {
            component.pinned = now->bound.revisions.front();
            for (const auto& cohort : view->cohorts())
                if (view->feature(component.pinned).meets(cohort.nodes))
                    component.het_choice.emplace(cohort.name, HetPart{component.pinned});
        }
        auto verdict = minimal(judge(component, caller, view), change, *job);
        return release ? released(std::move(verdict), *job, *request) : verdict;
    }
    Verdict verdict = judge(*request, caller, view);
    if (verdict.outcome == Outcome::hold) {
        // The job stays as it is: a hold here would be a surprise, and it may be running its wait.
        return refuse(verdict.cause, std::move(verdict.message));
    }
    verdict = minimal(std::move(verdict), change, *job);
    return release ? released(std::move(verdict), *job, *request) : verdict;
}

std::optional<Mark> mark_after(const PlacementChange& change, const Job& job,
                               const Verdict& verdict, const ExpandHosts& expand) {
    const auto request = merged(change, job, expand);
    if (!request) return std::nullopt;
    Mark mark = current_mark(job).value_or(Mark{});
    if (mark.own) return std::nullopt;
    mark.features = request->features;
    mark.prefer = request->prefer;
    mark.now = verdict.features.value_or(change.features.value_or(job.features));
    mark.now_prefer = verdict.prefer.value_or(change.prefer.value_or(job.prefer));
    return mark;
}

Job changed(const Job& job, const PlacementChange& change) {
    Job out = job;
    const auto take = [](auto& field, const auto& value) {
        if (value) field = *value;
    };
    take(out.partition, change.partition);
    take(out.reservation, change.reservation);
    take(out.features, change.features);
    take(out.prefer, change.prefer);
    take(out.min_nodes, change.min_nodes);
    take(out.max_nodes, change.max_nodes);
    take(out.tasks, change.tasks);
    if (change.required) out.requested_nodes = text::join(*change.required, ",");
    if (change.excluded) out.excluded_nodes = text::join(*change.excluded, ",");
    if (change.mark) out.admin_comment = write_guard_mark(job.admin_comment, *change.mark);
    return out;
}

void Overlay::add(const std::string& id, PlacementChange change, Time now) {
    if (!change.empty()) entries_[id].push_back({now, std::move(change)});
}

void Overlay::forget_before(Time began) {
    for (auto at = entries_.begin(); at != entries_.end();) {
        std::erase_if(at->second, [&](const Entry& e) { return e.at < began; });
        at = at->second.empty() ? entries_.erase(at) : std::next(at);
    }
}

Job Overlay::apply(const Job& job) const {
    const auto found = entries_.find(job.id_text);
    if (found == entries_.end()) return job;
    Job out = job;
    for (const auto& entry : found->second) out = changed(out, entry.change);
    return out;
}

}  // namespace cohort::guard
