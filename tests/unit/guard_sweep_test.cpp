// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/guard/sweep.hpp"

#include "common/guard/bound.hpp"
#include "common/guard/modify.hpp"
#include "common/rebuild_mark.hpp"
#include "tests/unit/guard_world.hpp"
#include "tests/unit/unit.hpp"

using namespace cohort::guard;
using cohort::Job;
using cohort::MixedRevision;

namespace {

const ExpandHosts expand = [](std::string_view list) -> cohort::Result<std::vector<std::string>> {
    return cohort::text::split(list, ',');
};

World mixed(MixedRevision rule = MixedRevision::confine) {
    return World("n1:a:gpu n2:a n3:a:gpu n4:b:gpu n5:b:gpu n6:b", "main=n1,n2,n3,n4,n5,n6")
        .cohort("main", "n1,n2,n3,n4,n5,n6", rule);
}

World uniform() {
    return World("n1:b:gpu n2:b n3:b:gpu", "main=n1,n2,n3").cohort("main", "n1,n2,n3");
}

Job pending(std::uint32_t id, std::uint32_t nodes, const std::string& features = "") {
    Job job;
    job.id = id;
    job.id_text = fmt::format("{}", id);
    job.user_id = 1000;
    job.partition = "main";
    job.features = lengthen(features);
    job.min_nodes = job.max_nodes = nodes;
    job.priority = 100;
    job.pending = true;
    return job;
}

std::vector<JobChange> plan(const World& world, const std::vector<Job>& jobs) {
    return plan_sweep(jobs, *world.view(), expand, Owners{991, {2001}});
}

// Carries CHANGES out, as slurmctld would.
void carry_out(std::vector<Job>& jobs, const std::vector<JobChange>& changes) {
    for (const auto& change : changes)
        for (auto& job : jobs) {
            const auto component =
                fmt::format("{}+{}", job.het_id, job.het_id ? job.id - job.het_id : 0);
            if (job.id_text != change.id && component != change.id) continue;
            if (change.features) job.features = *change.features;
            if (change.prefer) job.prefer = *change.prefer;
            if (change.admin_comment) job.admin_comment = *change.admin_comment;
            if (change.hold) job.priority = 0;
            if (change.release) job.priority = 100;
        }
}

// One pass; a second one must find nothing to do.
void sweep(const World& world, std::vector<Job>& jobs, int line = __builtin_LINE()) {
    carry_out(jobs, plan(world, jobs));
    const auto again = plan(world, jobs);
    unit::expect(again.empty(), again.empty() ? "" : "not idempotent: " + again.front().why,
                 __FILE__, line);
}

void expect_features(const Job& job, const std::string& wanted, int line = __builtin_LINE()) {
    unit::expect_equal(shorten(job.features), wanted, __FILE__, line);
}

void bound_and_given_back() {
    std::vector<Job> jobs = {pending(1, 2), pending(2, 2, "gpu"), pending(3, 1)};
    jobs[1].prefer = "x";
    jobs[1].admin_comment = "from the operator";
    const auto before = jobs;
    sweep(mixed(), jobs);
    expect_features(jobs[0], "[rev_a|rev_b]");
    expect_features(jobs[1], "gpu&[rev_a|rev_b]");
    unit::expect_contains(shorten(jobs[1].prefer), "x&[rev_a|rev_b]");
    unit::expect(jobs[2].admin_comment.empty(), "a job of one node is not touched");
    sweep(uniform(), jobs);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        unit::expect_equal(jobs[i].features, before[i].features);
        unit::expect_equal(jobs[i].prefer, before[i].prefer);
        unit::expect_equal(jobs[i].admin_comment, before[i].admin_comment);
    }
}

void pins_follow_the_free_nodes() {
    std::vector<Job> jobs = {pending(1, 2, "[gpu|gpu]")};
    auto world = mixed();
    auto& nodes = world.snapshot.nodes;
    sweep(world, jobs);
    expect_features(jobs[0], "[gpu|gpu]&rev_a");
    nodes[0].state.base = cohort::NodeState::Base::allocated;
    nodes[3].state.base = cohort::NodeState::Base::allocated;
    unit::expect(plan(world, jobs).empty(), "nowhere free: it stays");
    nodes[3].state.base = cohort::NodeState::Base::idle;
    sweep(world, jobs);
    expect_features(jobs[0], "[gpu|gpu]&rev_b");
    nodes[0].state.base = cohort::NodeState::Base::idle;
    unit::expect(plan(world, jobs).empty(), "both free: no change for its own sake");
}

void an_administrators_change_wins() {
    std::vector<Job> jobs = {pending(1, 2, "gpu")};
    sweep(mixed(), jobs);
    jobs[0].features = "gpu";
    sweep(mixed(), jobs);
    expect_features(jobs[0], "gpu");
    unit::expect(parse_guard_mark(jobs[0].admin_comment)->own, "remembered");
}

void a_users_change_becomes_the_original() {
    std::vector<Job> jobs = {pending(1, 2, "gpu")};
    sweep(mixed(), jobs);
    // job_modify has bound it.
    jobs[0].features = lengthen("nvme&gpu&[rev_a|rev_b]");
    jobs[0].features = lengthen("(gpu|x)&[rev_a|rev_b]");
    sweep(mixed(), jobs);
    sweep(uniform(), jobs);
    expect_features(jobs[0], "gpu|x");
    unit::expect(jobs[0].admin_comment.empty(), "no mark left: " + jobs[0].admin_comment);
}

void a_pin_by_a_node_list_is_not_the_users() {
    std::vector<Job> jobs = {pending(1, 2, "gpu")};
    sweep(mixed(), jobs);
    // job_modify has let the list through and pinned the job.
    jobs[0].requested_nodes = "n1,n2";
    jobs[0].features = lengthen("gpu&rev_a");
    sweep(mixed(), jobs);
    expect_features(jobs[0], "gpu&rev_a");
    sweep(uniform(), jobs);
    expect_features(jobs[0], "gpu");
    unit::expect(jobs[0].admin_comment.empty(), "no mark left: " + jobs[0].admin_comment);
}

void het_components_move_together() {
    std::vector<Job> jobs = {pending(10, 1, "gpu"), pending(11, 2)};
    jobs[0].het_id = jobs[1].het_id = 10;
    const auto changes = plan(mixed(), jobs);
    unit::expect_equal(changes.size(), 2UL);
    unit::expect_equal(changes[0].id, std::string("10+0"));
    unit::expect_equal(changes[1].id, std::string("10+1"));
    sweep(mixed(), jobs);
    expect_features(jobs[0], "gpu&rev_a");
    expect_features(jobs[1], "rev_a");
    sweep(uniform(), jobs);
    expect_features(jobs[0], "gpu");
    expect_features(jobs[1], "");
}

void held_until_uniform() {
    std::vector<Job> jobs = {pending(1, 2), pending(2, 2)};
    jobs[1].priority = 0;
    sweep(mixed(MixedRevision::hold), jobs);
    unit::expect(jobs[0].held(), "held");
    unit::expect(jobs[1].admin_comment.empty(), "a user's own hold is not ours");
    sweep(uniform(), jobs);
    unit::expect(!jobs[0].held() && jobs[0].admin_comment.empty(), "released");
    unit::expect(jobs[1].held(), "the user's own hold stays");
}

void a_job_held_while_cold_is_judged_when_warm() {
    std::vector<Job> jobs = {pending(1, 2, "gpu"), pending(2, 2)};
    for (auto& job : jobs) {
        job.priority = 0;
        Mark mark;
        mark.features = mark.now = job.features;
        mark.held = "cold";
        job.admin_comment = write_guard_mark("", mark);
    }
    auto others = jobs;
    sweep(mixed(), jobs);
    expect_features(jobs[0], "gpu&[rev_a|rev_b]");
    unit::expect(!jobs[0].held() && !jobs[1].held(), "released");
    sweep(uniform(), others);
    expect_features(others[0], "gpu");
    unit::expect(!others[0].held() && others[0].admin_comment.empty(), "released as it was");
}

void what_is_not_ours_stays() {
    auto running = pending(1, 2), rebuild = pending(2, 1), reboot = pending(3, 2),
         root = pending(4, 2), mine = pending(5, 2, "gpu&rev_a"), operators = pending(6, 2);
    running.pending = false, running.running = true;
    rebuild.admin_comment = cohort::write_mark("", {"n1", 5, ""});
    reboot.reboot = true;
    root.user_id = 0;
    operators.user_id = 2001;
    unit::expect(plan(mixed(), {running, rebuild, reboot, root, mine, operators}).empty(),
                 "touched");
}

// job_modify lets users change one field and keeps the other bound; it can write no mark.
void changed_by_its_user() {
    // Only prefer: the pin on the features is ours still.
    auto job = pending(1, 2, "rev_a");
    Mark mark;
    mark.now = job.features;
    job.admin_comment = write_guard_mark("", mark);
    job.prefer = lengthen("gpu&rev_a");
    std::vector<Job> jobs = {job};
    sweep(uniform(), jobs);
    expect_features(jobs[0], "");
    unit::expect(jobs[0].admin_comment.empty(), "no mark left");
    // What the hook knows of a job: with a mark that is too old, and with none.
    auto old = pending(1, 2, "[gpu|y]&rev_a"), bare = pending(2, 2, "[gpu|y]&rev_a"),
         own = pending(3, 2, "gpu&rev_a");
    old.admin_comment = job.admin_comment;
    FreshMarks fresh;
    Mark known;
    known.features = "[gpu|y]";
    known.now = old.features;
    fresh["1"] = fresh["2"] = known;
    known.features = known.now = own.features;
    fresh["3"] = known;
    const auto with_fresh = [&](const World& world) {
        carry_out(jobs, plan_sweep(jobs, *world.view(), expand, Owners{991, {}}, fresh));
    };
    jobs = {old, bare, own};
    with_fresh(mixed());
    for (std::size_t i = 0; i < 2; ++i) {
        unit::expect(parse_guard_mark(jobs[i].admin_comment)->features == "[gpu|y]",
                     "written down");
        expect_features(jobs[i], "[gpu|y]&rev_a");
    }
    sweep(uniform(), jobs);
    expect_features(jobs[0], "[gpu|y]");
    expect_features(jobs[1], "[gpu|y]");
    expect_features(jobs[2], "gpu&rev_a");  // his own choice
    jobs = {old, bare, own};
    with_fresh(uniform());
    expect_features(jobs[1], "[gpu|y]");
    expect_features(jobs[2], "gpu&rev_a");
    unit::expect(jobs[2].admin_comment.empty(), "nothing to write");
    jobs = {bare};
    carry_out(jobs, plan_restore_all(jobs, fresh));
    expect_features(jobs[0], "[gpu|y]");
    // Changed again since: nobody knows better than the text.
    jobs = {pending(1, 2, "gpu&rev_b")};
    with_fresh(uniform());
    expect_features(jobs[0], "gpu&rev_b");
}

// Killed or changed between two updates: the mark tells the user's part from ours all the same.
void a_mark_that_is_behind() {
    const auto given_back = [](const std::string& own, const std::string& now,
                               const std::string& features) {
        Job job = pending(1, 2, features);
        Mark mark;
        mark.features = lengthen(own);
        mark.now = lengthen(now);
        job.admin_comment = write_guard_mark("", mark);
        std::vector<Job> jobs = {job};
        carry_out(jobs, plan(uniform(), jobs));
        return shorten(jobs[0].features);
    };
    // Its user has changed his part, the bound beside it is ours.
    unit::expect_equal(given_back("", "rev_a", "gpu&rev_a"), std::string("gpu"));
    // Bound anew, and slurmctld ended before the mark was written.
    unit::expect_equal(given_back("gpu", "gpu&rev_a", "gpu&rev_b"), std::string("gpu"));
    unit::expect_equal(given_back("gpu", "gpu", "gpu&rev_b"), std::string("gpu"));
    // The user's own choice of a revision is not ours to take.
    unit::expect_equal(given_back("rev_a", "rev_a", "gpu&rev_a"), std::string("gpu&rev_a"));
    unit::expect_equal(given_back("gpu", "gpu&rev_a", "x&rev_b"), std::string("x&rev_b"));
}

// A constraint that slurmctld refuses must leave the job as it was: held, and without a mark.
void first_the_constraint() {
    JobChange change;
    change.id = "7";
    change.seen = {"gpu", "", ""};
    change.features = "rev_a";
    change.admin_comment = "mark";
    change.release = change.start_now = true;
    auto steps = steps_of(change);
    unit::expect_equal(steps.size(), std::size_t{3});
    const auto first = parse_guard_mark(steps[0].admin_comment.value_or(""));
    unit::expect(first && first->features == "gpu" && first->now == "gpu" && !steps[0].features &&
                     !steps[0].release && !steps[0].start_now,
                 "what its user gave, before anything of it is ours");
    Mark mark;
    mark.now = "rev_b";
    change.seen.admin_comment = write_guard_mark("", mark);
    steps = steps_of(change);
    unit::expect_equal(steps.size(), std::size_t{2});
    unit::expect(steps[0].features == "rev_a" && !steps[0].admin_comment && !steps[0].release &&
                     !steps[0].start_now,
                 "the constraint alone");
    unit::expect(!steps[1].features && steps[1].admin_comment == "mark" && steps[1].release &&
                     steps[1].start_now && steps[1].id == "7",
                 "then the rest");
    change.features.reset();
    unit::expect_equal(steps_of(change).size(), std::size_t{1});
}

// A plan is carried out over seconds; a job that somebody touched meanwhile waits for the next one.
void a_plan_that_is_overtaken() {
    std::vector<Job> jobs = {pending(1, 2, "gpu")};
    const auto changes = plan(mixed(), jobs);
    unit::expect(changes.size() == 1 && still_as_seen(jobs[0], changes[0]), "as planned");
    Job other = jobs[0];
    other.pending = false, other.running = true;
    unit::expect(!still_as_seen(other, changes[0]), "it started");
    other = jobs[0];
    other.features = "gpu&x";
    unit::expect(!still_as_seen(other, changes[0]), "its user changed it");
    other = jobs[0];
    Mark mark;
    mark.rounds = 1;
    other.admin_comment = write_guard_mark("", mark);
    unit::expect(!still_as_seen(other, changes[0]), "cohort-gate sent it back");
    unit::expect(!still_as_seen(pending(2, 2, "gpu"), changes[0]), "another job");
}

void the_queue_of_a_cohort_that_begins_to_roll() {
    World world("n1:a n2:a n3:a~", "main=n1,n2,n3");
    world.cohort("main", "n1,n2,n3");
    std::vector<Job> jobs(20);
    for (std::uint32_t i = 0; i < 20; ++i) jobs[i] = pending(i + 1, 2);
    sweep(world, jobs);
    for (const auto& job : jobs) expect_features(job, "rev_a");
    // The first node is back as b, then more: the same jobs may use either side.
    sweep(mixed(), jobs);
    for (const auto& job : jobs) expect_features(job, "[rev_a|rev_b]");
}

void every_trace_is_taken_off() {
    std::vector<Job> jobs = {pending(1, 2), pending(2, 2, "gpu"), pending(10, 1), pending(11, 1)};
    jobs[2].het_id = jobs[3].het_id = 10;
    const auto before = jobs;
    sweep(mixed(), jobs);
    carry_out(jobs, plan_restore_all(jobs));
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        unit::expect_equal(jobs[i].features, before[i].features);
        unit::expect_equal(jobs[i].admin_comment, before[i].admin_comment);
    }
}

// --- job_modify ---------------------------------------------------------------------------------

PlacementChange features(const std::string& text) {
    PlacementChange change;
    change.features = lengthen(text);
    return change;
}

std::string word(const Verdict& verdict) {
    if (verdict.outcome == Outcome::pass) return "pass";
    if (verdict.outcome == Outcome::refuse) return "refuse";
    return verdict.features ? shorten(*verdict.features) : "(kept)";
}

std::string change(const World& world, const Job& job, const PlacementChange& what,
                   bool admin = false) {
    return word(judge_change(what, &job, {admin}, world.view().get(), expand));
}

Job bound_job() {
    std::vector<Job> jobs = {pending(1, 2, "gpu")};
    carry_out(jobs, plan(mixed(), jobs));
    return jobs[0];
}

void features_are_bound_as_at_submission() {
    unit::expect_equal(change(mixed(), pending(1, 2), features("gpu")),
                       std::string("gpu&[rev_a|rev_b]"));
    unit::expect_equal(change(mixed(), bound_job(), features("")), std::string("[rev_a|rev_b]"));
    unit::expect_equal(change(mixed(), bound_job(), features("rev_b")), std::string("pass"));
    unit::expect_equal(change(uniform(), pending(1, 2), features("gpu")), std::string("pass"));
    unit::expect_equal(change(mixed(), pending(1, 1), features("gpu")), std::string("pass"));
}

void other_placement_fields_are_judged_with_the_rest_of_the_job() {
    PlacementChange nodes;
    nodes.min_nodes = 3;
    unit::expect_equal(change(mixed(), pending(1, 1), nodes), std::string("[rev_a|rev_b]"));
    unit::expect_equal(change(mixed(), bound_job(), nodes), std::string("refuse"));
    PlacementChange list;
    list.required = {{"n1", "n4"}};
    unit::expect_equal(change(mixed(), bound_job(), list), std::string("refuse"));
    list.required = {{"n1", "n3"}};
    unit::expect_equal(change(mixed(), bound_job(), list), std::string("gpu&rev_a"));
    PlacementChange prefer;
    prefer.prefer = "gpu";
    const auto verdict = judge_change(prefer, std::make_unique<Job>(bound_job()).get(), {},
                                      mixed().view().get(), expand);
    unit::expect_equal(shorten(verdict.prefer.value_or("")), std::string("gpu&[rev_a|rev_b]"));
    auto world = mixed();
    world.snapshot.partitions.push_back({"small", {"n1", "n2"}, false});
    auto small = pending(1, 2);
    small.partition = "small";
    unit::expect_equal(change(world, small, {}), std::string("pass"));
    PlacementChange partition;
    partition.partition = "main";
    unit::expect_equal(change(world, small, partition), std::string("[rev_a|rev_b]"));
}

void what_is_no_placement_passes() {
    PlacementChange release;
    release.release = true;
    unit::expect_equal(change(mixed(), pending(1, 2), release), std::string("pass"));
    unit::expect(judge_change({}, nullptr, {}, nullptr, expand).outcome == Outcome::pass, "cold");
    auto held = pending(1, 2);
    held.priority = 0;
    Mark mark;
    mark.held = "rule";
    held.admin_comment = write_guard_mark("", mark);
    unit::expect_equal(change(mixed(), held, release), std::string("refuse"));
    unit::expect_equal(change(mixed(), held, release, true), std::string("pass"));
}

void what_its_user_held_is_judged_when_he_releases_it() {
    PlacementChange release;
    release.release = true;
    auto job = pending(1, 2, "gpu*1");  // taken unseen while slurmctld had just started
    job.priority = 0;
    unit::expect_equal(change(mixed(), job, release), std::string("refuse"));
    unit::expect_equal(change(mixed(), job, release, true), std::string("pass"));
    job.features = "gpu";  // the thread has not come to it
    unit::expect_equal(change(mixed(), job, release), std::string("refuse"));
    auto bound = bound_job();
    bound.priority = 0;
    unit::expect_equal(change(mixed(), bound, release), std::string("pass"));
    unit::expect_equal(change(mixed(MixedRevision::hold), job, release), std::string("refuse"));
    auto single = pending(1, 1);
    single.priority = 0;
    unit::expect_equal(change(mixed(), single, release), std::string("pass"));
    unit::expect_equal(word(judge_change(release, &job, {}, nullptr, expand)),
                       std::string("refuse"));
    unit::expect_equal(word(judge_change(release, nullptr, {}, nullptr, expand)),
                       std::string("refuse"));
    unit::expect_equal(word(judge_change(release, nullptr, {}, mixed().view().get(), expand)),
                       std::string("refuse"));
}

void what_cannot_be_told_is_refused() {
    unit::expect(judge_change(features("gpu"), nullptr, {}, mixed().view().get(), expand).outcome ==
                     Outcome::refuse,
                 "unknown job");
    unit::expect_equal(word(judge_change(features("gpu"), nullptr, {true}, nullptr, expand)),
                       std::string("pass"));
}

void a_text_from_squeue_is_still_ours() {
    const auto job = bound_job();
    auto edited = features("(gpu|x)&[rev_a|rev_b]");
    const auto verdict = judge_change(edited, &job, {}, mixed().view().get(), expand);
    unit::expect_equal(word(verdict), std::string("pass"));
}

void the_overlay_knows_what_a_tick_does_not() {
    using std::chrono::seconds;
    Overlay overlay;
    const Overlay::Time start{};
    PlacementChange nodes;
    nodes.min_nodes = nodes.max_nodes = 3;
    overlay.add("1", nodes, start + seconds(5));
    unit::expect_equal(overlay.apply(pending(1, 2)).min_nodes, 3U);
    unit::expect_equal(overlay.apply(pending(2, 2)).min_nodes, 2U);
    overlay.forget_before(start + seconds(5));
    unit::expect_equal(overlay.apply(pending(1, 2)).min_nodes, 3U);
    overlay.forget_before(start + seconds(6));
    unit::expect_equal(overlay.apply(pending(1, 2)).min_nodes, 2U);
}

void marks_are_read_back() {
    Mark mark;
    mark.features = "gpu", mark.now = "gpu&rev_a", mark.held = "size";
    for (const char* comment : {"", "words", "{\"site\":1}"}) {
        const auto text = write_guard_mark(comment, mark);
        unit::expect(*parse_guard_mark(text) == mark, text);
        unit::expect_equal(remove_guard_mark(text), std::string(comment));
    }
    unit::expect(!parse_guard_mark(cohort::write_mark("", {"n1", 5, ""})), "a rebuild mark");
    unit::expect(!cohort::parse_mark(write_guard_mark("", mark)), "not a rebuild mark");
}

}  // namespace

int main() {
    return unit::run(
        "guard sweep and modify",
        {
            {"bound when it could span, given back letter by letter when uniform",
             bound_and_given_back},
            {"a pin stays unless another revision is free first", pins_follow_the_free_nodes},
            {"an administrator's own change wins", an_administrators_change_wins},
            {"a pin that a node list has brought is given back",
             a_pin_by_a_node_list_is_not_the_users},
            {"a user's own change is what is given back", a_users_change_becomes_the_original},
            {"the components of a het job move together", het_components_move_together},
            {"hold: held until uniform; holds of others stay", held_until_uniform},
            {"a job that was held while cold", a_job_held_while_cold_is_judged_when_warm},
            {"running, rebuild, reboot, root's, operators' and self-pinned jobs stay",
             what_is_not_ours_stays},
            {"20 pending jobs when a cohort begins to roll",
             the_queue_of_a_cohort_that_begins_to_roll},
            {"a job that its user has changed gets back what he gave", changed_by_its_user},
            {"no mark and no release before the constraint stands", first_the_constraint},
            {"a mark that is behind its job", a_mark_that_is_behind},
            {"a job that changed since the plan", a_plan_that_is_overtaken},
            {"detach: every trace is taken off", every_trace_is_taken_off},
            {"modify: features are bound as at submission", features_are_bound_as_at_submission},
            {"modify: nodes, list, prefer and partition are judged with the rest of the job",
             other_placement_fields_are_judged_with_the_rest_of_the_job},
            {"a job that its user held is judged when he releases it",
             what_its_user_held_is_judged_when_he_releases_it},
            {"modify: what is no placement passes, but our hold stays",
             what_is_no_placement_passes},
            {"modify: what cannot be told is refused, but not for administrators",
             what_cannot_be_told_is_refused},
            {"modify: a constraint copied from squeue", a_text_from_squeue_is_still_ours},
            {"modify: changes of the last tick", the_overlay_knows_what_a_tick_does_not},
            {"marks are read back, and the comment with them", marks_are_read_back},
        });
}
