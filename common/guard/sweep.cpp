// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/guard/sweep.hpp"

#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "common/guard/bound.hpp"
#include "common/rebuild_mark.hpp"

namespace cohort::guard {
namespace {

// A job of the queue as the guard sees it.
struct Known {
    const Job* job = nullptr;
    std::string id;
    std::optional<Mark> mark;  // as it should be read now
    bool changed = false;      // by somebody else, since MARK was written
};

bool concerns_us(const Job& job) {
    return job.pending && !job.reboot && !parse_mark(job.admin_comment);
}

// The revisions of a bound, so that the same group in another order is not a change.
std::vector<std::string> revisions_in(const std::string& text) {
    auto stripped = strip_bound(text);
    if (!stripped) return {};
    std::ranges::sort(stripped->bound.revisions);
    return stripped->bound.revisions;
}

// The user's part of TEXT, which is not what the mark says that it is: somebody has changed it, or
// the mark was not written any more. OWN and NOW are what the mark says of that field. A single
// revision may be the user's own choice; it is ours when it is a group or a union, when there is a
// list of nodes (which decides the revision), when it stood there before the change and was ours,
// or when it stands beside what the user gave.
std::string own_part(const std::string& text, bool node_list, const std::string& own,
                     const std::string& now) {
    const auto stripped = strip_bound(text);
    if (!stripped) return text;
    const auto revisions = revisions_in(text);
    const bool was_ours = revisions == revisions_in(now) && revisions != revisions_in(own);
    const bool ours = revisions.size() > 1 || node_list || was_ours || stripped->original == own;
    return ours ? stripped->original : text;
}

Known known(const Job& job, std::string id, const FreshMarks& fresh) {
    Known out{&job, std::move(id), parse_guard_mark(job.admin_comment), false};
    if (out.mark && out.mark->own) return out;
    const auto stands = [&](const Mark& mark) {
        return job.features == mark.now && job.prefer == mark.now_prefer;
    };
    if (const auto at = fresh.find(job.id_text); at != fresh.end() && stands(at->second)) {
        Mark mark = out.mark.value_or(Mark{});
        mark.features = at->second.features;
        mark.prefer = at->second.prefer;
        mark.now = job.features;
        mark.now_prefer = job.prefer;
        out.mark = std::move(mark);
        return out;
    }
    if (!out.mark || stands(*out.mark)) return out;
    out.changed = true;
    // The field that nobody has touched is still what the mark says.
    const bool listed = !job.requested_nodes.empty();
    if (job.features != out.mark->now)
        out.mark->features = own_part(job.features, listed, out.mark->features, out.mark->now);
    if (job.prefer != out.mark->now_prefer)
        out.mark->prefer = own_part(job.prefer, listed, out.mark->prefer, out.mark->now_prefer);
    out.mark->now = job.features;
    out.mark->now_prefer = job.prefer;
    return out;
}

bool same_bound(const std::string& a, const std::string& b) {
    if (a == b) return true;
    const auto one = strip_bound(a), two = strip_bound(b);
    return one && two && one->original == two->original && one->bound.form == two->bound.form &&
           revisions_in(a) == revisions_in(b);
}

JobChange change_of(const Known& k) {
    JobChange change;
    change.id = k.id;
    change.seen = {k.job->features, k.job->prefer, k.job->admin_comment};
    return change;
}

JobChange give_back(const Known& k) {
    JobChange change = change_of(k);
    if (k.job->features != k.mark->features) change.features = k.mark->features;
    if (k.job->prefer != k.mark->prefer) change.prefer = k.mark->prefer;
    if (auto comment = remove_guard_mark(k.job->admin_comment); comment != k.job->admin_comment)
        change.admin_comment = std::move(comment);
    change.release = (!k.mark->held.empty() && k.job->held()) || k.mark->restart;
    change.start_now = k.mark->restart;
    change.why = "can no longer span: given back as it was submitted";
    return change;
}

JobChange leave_alone(const Known& k) {
    JobChange change = change_of(k);
    Mark own;
    own.own = true;
    change.admin_comment = write_guard_mark(k.job->admin_comment, own);
    change.why = "an administrator has changed it: left alone";
    return change;
}

JobChange bind_change(const Known& k, const Verdict& verdict) {
    const Job& job = *k.job;
    JobChange change = change_of(k);
    Mark mark;
    mark.features = k.mark ? k.mark->features : job.features;
    mark.prefer = k.mark ? k.mark->prefer : job.prefer;
    mark.now = verdict.features.value_or(job.features);
    mark.now_prefer = verdict.prefer.value_or(job.prefer);
    if (same_bound(mark.now, job.features)) mark.now = job.features;
    if (same_bound(mark.now_prefer, job.prefer)) mark.now_prefer = job.prefer;
    if (mark.now != job.features) change.features = mark.now;
    if (mark.now_prefer != job.prefer) change.prefer = mark.now_prefer;
    change.start_now = k.mark && k.mark->restart;
    change.release = change.start_now || (k.mark && !k.mark->held.empty() && job.held());
    mark.rounds = k.mark ? k.mark->rounds : 0;
    if (auto comment = write_guard_mark(job.admin_comment, mark); comment != job.admin_comment)
        change.admin_comment = std::move(comment);
    change.why = "bound: " + mark.now;
    return change;
}

JobChange hold_change(const Known& k, const Verdict& verdict) {
    JobChange change = change_of(k);
    // Held by its user or an administrator: it cannot start, and the hold is not ours to undo.
    if (verdict.cause == Cause::cold || k.job->held()) return change;
    Mark mark = k.mark.value_or(Mark{});
    if (!k.mark) {
        mark.features = k.job->features;
        mark.prefer = k.job->prefer;
    }
    mark.now = k.job->features;
    mark.now_prefer = k.job->prefer;
    mark.held = held_word(verdict.cause);
    mark.restart = false;
    change.hold = true;
    change.admin_comment = write_guard_mark(k.job->admin_comment, mark);
    change.why = "held: it could span revisions and cannot be bound";
    return change;
}

JobChange change_for(const Known& k, const Verdict& verdict) {
    switch (verdict.outcome) {
        case Outcome::bind: {
            // Users cannot take a bound off: job_modify would have put it on again.
            const bool bare = k.changed && !strip_bound(k.job->features);
            return bare ? leave_alone(k) : bind_change(k, verdict);
        }
        case Outcome::hold:
        case Outcome::refuse:
            return hold_change(k, verdict);
        case Outcome::pass:
            break;
    }
    return k.mark ? give_back(k) : JobChange{};
}

// Its allocation spanned again and again although it was bound: somebody must look at it.
JobChange hold_for_good(const Known& k) {
    JobChange change = change_of(k);
    if (k.job->held()) return change;
    Mark mark = *k.mark;
    mark.held = "gate";
    mark.restart = false;
    change.hold = true;
    change.admin_comment = write_guard_mark(k.job->admin_comment, mark);
    change.why = fmt::format(
        "held: its allocation spanned revisions {} times, see cohort-gate's "
        "lines in syslog; scontrol release {} lets it try again",
        mark.rounds, k.id);
    return change;
}

class Sweep {
  public:
    Sweep(const GuardView& view, const ExpandHosts& expand, const Owners& owners)
        : view_(view), expand_(expand), owners_(owners) {}

    void one(const Known& k) {
        if (k.mark && k.mark->restart && k.mark->rounds >= most_gate_rounds) {
            add(hold_for_good(k));
            return;
        }
        auto verdict = judged(k, {});
        if (!verdict) return;
        const bool for_good = k.mark && k.mark->held == "gate" && k.job->held();
        if (!for_good || verdict->outcome == Outcome::pass) add(change_for(k, *verdict));
    }

    // All components or none: half a bound does not keep a het job together.
    void het(const std::vector<Known>& components) {
        HetChoice choice;
        std::vector<JobChange> changes;
        for (const auto& k : components) {
            auto verdict = judged(k, choice, true);
            if (!verdict) return;
            choice = verdict->het_choice;
            if (verdict->outcome == Outcome::hold || verdict->outcome == Outcome::refuse) {
                add(hold_change(components.front(), *verdict));
                return;
            }
            changes.push_back(change_for(k, *verdict));
        }
        for (auto& change : changes) add(std::move(change));
    }

    std::vector<JobChange> take() { return std::move(changes_); }

  private:
    std::optional<Verdict> judged(const Known& k, HetChoice choice, bool het = false) const {
        if (k.mark && k.mark->own) return std::nullopt;
        auto request = request_of(*k.job, k.mark, expand_);
        if (!request) return std::nullopt;
        request->het = het;
        request->het_choice = std::move(choice);
        if (const auto now = strip_bound(k.job->features);
            k.mark && now && now->bound.revisions.size() == 1)
            request->pinned = now->bound.revisions.front();
        return judge(*request, {owners_.is_admin(k.job->user_id)}, &view_);
    }

    void add(JobChange change) {
        if (!change.empty()) changes_.push_back(std::move(change));
    }

    const GuardView& view_;
    const ExpandHosts& expand_;
    const Owners& owners_;
    std::vector<JobChange> changes_;
};

// Components of het jobs in order, by leader.
std::map<std::uint32_t, std::vector<Known>> het_jobs(const std::vector<Job>& jobs,
                                                     const FreshMarks& fresh) {
    std::map<std::uint32_t, std::vector<const Job*>> by_leader;
    for (const auto& job : jobs)
        if (job.het_id != 0 && concerns_us(job)) by_leader[job.het_id].push_back(&job);
    std::map<std::uint32_t, std::vector<Known>> out;
    for (auto& [leader, components] : by_leader) {
        std::ranges::sort(components, {}, &Job::id);
        // "12+1": an update of the bare leader would change every component.
        for (std::size_t i = 0; i < components.size(); ++i)
            out[leader].push_back(known(*components[i], fmt::format("{}+{}", leader, i), fresh));
    }
    return out;
}

}  // namespace

std::string held_word(Cause cause) {
    switch (cause) {
        case Cause::rule:
            return "rule";
        case Cause::size:
            return "size";
        case Cause::cold:
            return "cold";
        default:
            return "span";
    }
}

std::vector<JobChange> steps_of(const JobChange& change) {
    JobChange constraint = change, rest = change;
    constraint.admin_comment.reset();
    constraint.hold = constraint.release = constraint.start_now = false;
    rest.features.reset();
    rest.prefer.reset();
    if (constraint.empty() || rest.empty()) return {change};
    std::vector<JobChange> steps;
    if (change.admin_comment && !parse_guard_mark(change.seen.admin_comment)) {
        // What its user gave, before anything else of the job is ours: slurmctld may end between
        // the steps.
        JobChange first = change;
        first.features.reset();
        first.prefer.reset();
        first.hold = first.release = first.start_now = false;
        Mark mark;
        mark.features = mark.now = change.seen.features;
        mark.prefer = mark.now_prefer = change.seen.prefer;
        first.admin_comment = write_guard_mark(change.seen.admin_comment, mark);
        steps.push_back(std::move(first));
    }
    steps.push_back(std::move(constraint));
    steps.push_back(std::move(rest));
    return steps;
}

bool still_as_seen(const Job& job, const JobChange& change) {
    const bool same_record =
        job.id_text == change.id ||
        (job.het_id != 0 && fmt::format("{}+{}", job.het_id, job.id - job.het_id) == change.id);
    return same_record && job.pending &&
           JobChange::Seen{job.features, job.prefer, job.admin_comment} == change.seen;
}

std::optional<Mark> current_mark(const Job& job) {
    return known(job, {}, {}).mark;
}

std::optional<Request> request_of(const Job& job, const std::optional<Mark>& mark,
                                  const ExpandHosts& expand) {
    Request request;
    request.partition = job.partition;
    request.reservation = job.reservation;
    request.features = mark ? mark->features : job.features;
    request.prefer = mark ? mark->prefer : job.prefer;
    request.min_nodes = job.min_nodes;
    request.max_nodes = job.max_nodes;
    request.tasks = job.tasks;
    request.cpus = job.cpus;
    request.cpus_per_task = job.cpus_per_task;
    request.job_wide_gres = job.job_wide_gres;
    request.queued = true;
    auto required = expand(job.requested_nodes), excluded = expand(job.excluded_nodes);
    if (!required || !excluded) return std::nullopt;
    request.required = std::move(*required);
    request.excluded = std::move(*excluded);
    return request;
}

std::vector<JobChange> plan_sweep(const std::vector<Job>& jobs, const GuardView& view,
                                  const ExpandHosts& expand, const Owners& owners,
                                  const FreshMarks& fresh) {
    Sweep sweep(view, expand, owners);
    for (const auto& job : jobs)
        if (job.het_id == 0 && concerns_us(job)) sweep.one(known(job, job.id_text, fresh));
    for (const auto& [leader, components] : het_jobs(jobs, fresh)) sweep.het(components);
    return sweep.take();
}

std::vector<JobChange> plan_restore_all(const std::vector<Job>& jobs, const FreshMarks& fresh) {
    std::vector<JobChange> changes;
    const auto restore = [&](const Known& k) {
        if (!k.mark) return;
        JobChange change = give_back(k);
        if (k.mark->own) change.features.reset(), change.prefer.reset();
        change.why = "the guard is taken off";
        if (!change.empty()) changes.push_back(std::move(change));
    };
    for (const auto& job : jobs)
        if (job.het_id == 0 && concerns_us(job)) restore(known(job, job.id_text, fresh));
    for (const auto& [leader, components] : het_jobs(jobs, fresh))
        for (const auto& k : components) restore(k);
    return changes;
}

}  // namespace cohort::guard
