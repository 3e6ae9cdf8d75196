// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/rollout/advance_decide.hpp"

#include "common/rebuild_budget.hpp"
#include "tests/unit/unit.hpp"

using namespace cohort;
using Kind = AdvanceAct::Kind;

namespace {

Node node(const char* name, NodeState::Base base = NodeState::Base::idle) {
    Node n;
    n.name = name;
    n.state.base = base;
    return n;
}

Node out(const char* name, const char* reason) {
    Node n = node(name, NodeState::Base::down);
    n.state.fail = true;
    n.reason = reason;
    n.record.out_reason = reason;
    return n;
}

Attempt attempt(const char* name, Outcome outcome) {
    Attempt a;
    a.node = name;
    a.outcome = outcome;
    a.posted = 1000;
    return a;
}

Job rebuild_job(std::uint32_t id, const char* name, const char* held, bool running = false) {
    Job job;
    job.id = id;
    job.id_text = fmt::format("{}", id);
    job.pending = !running;
    job.running = running;
    job.priority = *held ? 0 : 100;
    job.admin_comment = write_mark("", {name, 100, held});
    if (running) job.nodes = name;
    return job;
}

std::string kinds(const Observation& seen) {
    std::string text;
    for (const auto& act : decide_advance(seen)) {
        const char* names[] = {"adopt", "result",  "again", "clear",
                               "back",  "release", "want",  "cancel"};
        text += fmt::format("{}:{} ", names[static_cast<int>(act.kind)],
                            act.job ? act.job->job.id_text : act.node);
    }
    return text;
}

}  // namespace

int main() {
    return unit::run(
        "advance_decide",
        {
            {"nothing to do on a quiet cluster",
             [] {
                 unit::expect_equal(kinds({.nodes = {node("n1")},
                                           .jobs = {},
                                           .latest = {attempt("n1", Outcome::ok)}}),
                                    std::string());
             }},
            {"an attempt that a process left is adopted",
             [] {
                 unit::expect_equal(kinds({.nodes = {node("n1")},
                                           .jobs = {},
                                           .latest = {attempt("n1", Outcome::open)}}),
                                    std::string("adopt:n1 "));
             }},
            {"a result that the node did not get is written again, only for the same attempt",
             [] {
                 Node n = node("n1");
                 n.record.want = Want{};
                 n.record.want->at = 1000;
                 unit::expect_equal(
                     kinds({.nodes = {n}, .jobs = {}, .latest = {attempt("n1", Outcome::ok)}}),
                     std::string("result:n1 "));
                 n.record.want->at = 2000;
                 unit::expect_equal(
                     kinds({.nodes = {n}, .jobs = {}, .latest = {attempt("n1", Outcome::ok)}}),
                     std::string());
             }},
            {"a wish that was lost with slurmctld's state is written again",
             [] {
                 Attempt a = attempt("n1", Outcome::ok);
                 a.phase = Phase::ended;
                 Node n = node("n1");
                 n.record.revision = "rev_0000000000000001";
                 Observation seen{.nodes = {n}, .jobs = {}, .latest = {a}};
                 seen.now = 1100;
                 unit::expect_equal(kinds(seen), std::string("want:n1 "));
                 seen.now = 9000;
                 unit::expect_equal(kinds(seen), std::string());
                 seen.now = 1100;
                 seen.nodes[0].record.want = Want{};
                 seen.nodes[0].record.want->at = 900;
                 seen.nodes[0].record.want->result = result_ok;
                 unit::expect_equal(kinds(seen), std::string("want:n1 "));
                 seen.nodes[0].record.want->at = 1000;
                 unit::expect_equal(kinds(seen), std::string());
             }},
            {"not on a node that was detached, nor before the request",
             [] {
                 Attempt a = attempt("n1", Outcome::ok);
                 a.phase = Phase::ended;
                 Observation seen{.nodes = {node("n1")}, .jobs = {}, .latest = {a}};
                 seen.now = 1100;
                 unit::expect_equal(kinds(seen), std::string());
                 seen.nodes[0].record.revision = "rev_0000000000000001";
                 seen.latest[0].phase = Phase::begun;
                 unit::expect_equal(kinds(seen), std::string());
             }},
            {"not of an attempt whose request the cloud refused: it took its wish back itself",
             [] {
                 Attempt a = attempt("n1", Outcome::failed);
                 a.phase = Phase::ended;
                 a.posted = 0;
                 Node n = out("n1", "cohort: nova answered 400");
                 n.record.revision = "rev_0000000000000001";
                 Observation seen{.nodes = {n}, .jobs = {}, .latest = {a}};
                 seen.now = 1100;
                 unit::expect_equal(kinds(seen), std::string());
                 n.record.want = Want{};
                 n.record.want->at = 900;
                 n.record.want->result = result_ok;
                 seen.nodes[0] = n;
                 unit::expect_equal(kinds(seen), std::string());
             }},
            {"a job that waits is cancelled when its rollout and its row have ended, not before",
             [] {
                 Job job = rebuild_job(6, "n1", "rollout");
                 job.admin_comment = write_mark("", {"n1", 100, "rollout", 3});
                 Observation seen{.nodes = {}, .jobs = {job}, .latest = {}};
                 unit::expect_equal(kinds(seen), std::string());
                 seen.over = {{3, "n2"}, {2, "n1"}};
                 unit::expect_equal(kinds(seen), std::string());
                 seen.over = {{3, "n1"}};
                 unit::expect_equal(kinds(seen), std::string("cancel:6 "));
                 seen.jobs[0].pending = false;
                 seen.jobs[0].running = true;
                 unit::expect_equal(kinds(seen), std::string());
             }},
            {"a node without a machine has a promise, which is no lost wish",
             [] {
                 Attempt a = attempt("n1", Outcome::failed);
                 a.phase = Phase::ended;
                 a.action = "create";
                 Node n = node("n1");
                 n.record.revision = "rev_0000000000000001";
                 Observation seen{.nodes = {n}, .jobs = {}, .latest = {a}};
                 seen.now = 1100;
                 unit::expect_equal(kinds(seen), std::string("want:n1 "));
                 seen.nodes[0].state.power_saving = true;
                 unit::expect_equal(kinds(seen), std::string());
                 seen.nodes[0].state.power_saving = false;
                 seen.latest[0].action = "delete";
                 unit::expect_equal(kinds(seen), std::string());
             }},
            {"a lost reason comes back",
             [] {
                 Node n = out("n1", "");
                 n.record.out_reason = "cohort: x";
                 unit::expect_equal(kinds({.nodes = {n}, .jobs = {}, .latest = {}}),
                                    std::string("again:n1 "));
             }},
            {"FAIL without DOWN is finished",
             [] {
                 Node n = out("n1", "cohort: x");
                 n.state.base = NodeState::Base::idle;
                 unit::expect_equal(kinds({.nodes = {n}, .jobs = {}, .latest = {}}),
                                    std::string("again:n1 "));
             }},
            {"a foreign FAIL is left alone",
             [] {
                 Node n = out("n1", "ECC error");
                 n.state.base = NodeState::Base::idle;
                 n.record.out_reason = "cohort: x";
                 unit::expect_equal(
                     kinds(
                         {.nodes = {n}, .jobs = {}, .latest = {attempt("n1", Outcome::untouched)}}),
                     std::string());
             }},
            {"an administrator resumed it: the note goes, he is not fought",
             [] {
                 Node n = node("n1");
                 n.record.out_reason = "cohort: x";
                 unit::expect_equal(
                     kinds({.nodes = {n}, .jobs = {}, .latest = {attempt("n1", Outcome::failed)}}),
                     std::string("clear:n1 "));
             }},
            {"an untouched node is given back once the breaker is closed and Slurm waits no more",
             [] {
                 Observation seen{.nodes = {out("n1", "cohort: cloud out of reach")},
                                  .jobs = {},
                                  .latest = {attempt("n1", Outcome::untouched)}};
                 unit::expect_equal(kinds(seen), std::string("back:n1 "));
                 seen.breaker_open = true;
                 unit::expect_equal(kinds(seen), std::string());
                 seen.breaker_open = false;
                 seen.nodes[0].state.powering_up = true;
                 unit::expect_equal(kinds(seen), std::string());
             }},
            {"a failed node is never given back",
             [] {
                 unit::expect_equal(kinds({.nodes = {out("n1", "cohort: locked")},
                                           .jobs = {},
                                           .latest = {attempt("n1", Outcome::failed)}}),
                                    std::string());
             }},
            {"held rebuild jobs are released within the budget, idle nodes first",
             [] {
                 Observation seen{
                     .nodes = {node("n1", NodeState::Base::allocated), node("n2"), node("n3")},
                     .jobs = {rebuild_job(1, "n1", "pending"), rebuild_job(2, "n2", "concurrent"),
                              rebuild_job(3, "n3", "breaker")},
                     .latest = {}};
                 seen.max_pending = 2;
                 unit::expect_equal(kinds(seen), std::string("release:2 release:3 "));
             }},
            {"no more start at once than MaxConcurrent; busy nodes wait in the queue",
             [] {
                 Observation seen{
                     .nodes = {node("n1", NodeState::Base::allocated), node("n2"), node("n3"),
                               node("n4", NodeState::Base::allocated)},
                     .jobs = {rebuild_job(1, "n1", "", true), rebuild_job(2, "n2", "concurrent"),
                              rebuild_job(4, "n4", "pending")},
                     .latest = {}};
                 seen.max_concurrent = 1;
                 unit::expect_equal(kinds(seen), std::string("release:4 "));
             }},
            {"nothing is released while the breaker is open",
             [] {
                 unit::expect_equal(kinds({.nodes = {node("n1")},
                                           .jobs = {rebuild_job(1, "n1", "breaker")},
                                           .latest = {},
                                           .breaker_open = true}),
                                    std::string());
             }},
            {"an administrator's own hold is not touched",
             [] {
                 Job job = rebuild_job(1, "n1", "");
                 job.priority = 0;
                 unit::expect_equal(kinds({.nodes = {node("n1")}, .jobs = {job}, .latest = {}}),
                                    std::string());
             }},
            {"the limit of pending jobs is a quarter of what the schedulers look at",
             [] {
                 unit::expect_equal(pending_limit(20, ""), 20U);
                 unit::expect_equal(pending_limit(200, ""), 25U);
                 unit::expect_equal(pending_limit(20, "bf_interval=5,default_queue_depth=40"), 10U);
                 unit::expect_equal(pending_limit(20, "bf_max_job_test=8"), 2U);
                 unit::expect_equal(pending_limit(20, "bf_max_job_test=1"), 1U);
             }},
        });
}
