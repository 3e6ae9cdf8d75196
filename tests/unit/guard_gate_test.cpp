// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/guard/gate.hpp"

#include "common/rebuild_mark.hpp"
#include "tests/unit/guard_world.hpp"
#include "tests/unit/unit.hpp"

using namespace cohort::guard;
using cohort::Job;
using cohort::MixedRevision;
using unit::expect;
using unit::expect_contains;
using Act = GateDecision::Act;

namespace {

World mixed(MixedRevision rule = MixedRevision::confine) {
    World world("n1:a:gpu n2:a:gpu n3:b:gpu n4:b:gpu n5:-", "main=n1,n2,n3,n4,n5 other=n5");
    world.cohort("main", "n1,n2,n3,n4", rule);
    return world;
}

Job batch() {
    Job job;
    job.id = 7;
    job.id_text = "7";
    job.user_id = 5001;
    job.features = "gpu";
    job.batch = job.requeue = true;
    job.configuring = job.running = true;
    return job;
}

using Nodes = std::vector<std::string>;

GateDecision decide(const Job& job, const Nodes& nodes, const World& world = mixed(),
                    bool start_anyway = true) {
    return decide_gate(job, nodes, *world.view(), Owners{991, {2001}}, start_anyway);
}

void starts(const GateDecision& decision) {
    expect(decision.act == Act::start && !decision.admin_comment, "starts: " + decision.why);
}

void start_rules(std::vector<unit::Rule>& rules) {
    rules.push_back({"one revision", [] { starts(decide(batch(), {"n1", "n2"})); }});
    rules.push_back({"nodes of no cohort", [] { starts(decide(batch(), {"n1", "n5"})); }});
    // A reboot that is asked for or under way, and DOWN, leave the disk as it is. A rebuild
    // withdraws the label before anything is asked of the cloud, and a node that has booted onto
    // something else is judged by itself before it is given back: the label alone says what a job
    // would find.
    rules.push_back(
        {"a node's label counts while it reboots or is DOWN: nothing else has been "
         "asked of it",
         [] {
             const auto told = [](const char* other, void (*change)(cohort::NodeState&)) {
                 World world = mixed();
                 for (auto& node : world.snapshot.nodes)
                     if (node.name == other) change(node.state);
                 return decide(batch(), {"n1", other}, world);
             };
             for (auto* change :
                  {+[](cohort::NodeState& s) { s.reboot_requested = true; },
                   +[](cohort::NodeState& s) { s.reboot_issued = true; },
                   +[](cohort::NodeState& s) { s.base = cohort::NodeState::Base::down; }}) {
                 starts(told("n2", change));
                 expect(told("n3", change).act == Act::requeue, "another revision");
             }
         }});
    rules.push_back({"MixedRevision=off", [] {
                         starts(decide(batch(), {"n1", "n3"}, mixed(MixedRevision::off)));
                     }});
    rules.push_back({"a cohort that was never adopted", [] {
                         World world("n1:a n2:- n3:- n4:-", "main=n1,n2,n3,n4");
                         world.cohort("main", "n1,n2,n3,n4");
                         starts(decide(batch(), {"n1", "n2"}, world));
                     }});
    rules.push_back(
        {"an administrator's, unless GuardAdmins", [] {
             World world = mixed();
             for (const std::uint32_t uid : {0u, 991u, 2001u}) {
                 Job job = batch();
                 job.user_id = uid;
                 starts(decide(job, {"n1", "n3"}, world));
             }
             world.cohorts[0].rule.admins = true;
             Job job = batch();
             job.user_id = 0;
             expect(decide(job, {"n1", "n3"}, world).act == Act::requeue, "GuardAdmins");
         }});
    rules.push_back({"an administrator took the bound off", [] {
                         Job job = batch();
                         Mark mark;
                         mark.own = true;
                         job.admin_comment = write_guard_mark("", mark);
                         starts(decide(job, {"n1", "n3"}));
                     }});
    rules.push_back({"a rebuild job", [] {
                         Job job = batch();
                         job.admin_comment = cohort::write_mark("", {"n1", 5, ""});
                         starts(decide(job, {"n1", "n3"}));
                     }});
}

void stop_rules(std::vector<unit::Rule>& rules) {
    rules.push_back({"two revisions: back into the queue, and counted", [] {
                         Job job = batch();
                         job.admin_comment = "site's words";
                         auto decision = decide(job, {"n1", "n3"});
                         expect(decision.act == Act::requeue, "requeued");
                         expect_contains(shorten(decision.why),
                                         "cohort main (rev_a: n1; rev_b: n3)");
                         job.admin_comment = *decision.admin_comment;
                         auto mark = parse_guard_mark(job.admin_comment);
                         expect(mark && mark->rounds == 1 && mark->restart, "first round");
                         expect(mark->features == "gpu" && mark->now == "gpu", "as it was");
                         decision = decide(job, {"n1", "n3"});
                         mark = parse_guard_mark(*decision.admin_comment);
                         expect(mark && mark->rounds == 2, "second round");
                         expect_contains(*decision.admin_comment, "site's words");
                     }});
    rules.push_back({"a node without a label counts as another revision", [] {
                         World world("n1:a n2:a n3:~ n4:b", "main=n1,n2,n3,n4");
                         world.cohort("main", "n1,n2,n3,n4");
                         const auto decision = decide(batch(), {"n1", "n3"}, world);
                         expect(decision.act == Act::requeue, "requeued");
                         expect_contains(decision.why, "without a revision: n3");
                     }});
    rules.push_back({"no requeue: allow starts it and says so, cancel ends it", [] {
                         Job job = batch();
                         job.requeue = false;
                         auto decision = decide(job, {"n1", "n3"}, mixed(), true);
                         expect(decision.act == Act::start, "starts");
                         expect_contains(decision.why, "GateNoRequeue=allow");
                         decision = decide(job, {"n1", "n3"}, mixed(), false);
                         expect(decision.act == Act::kill, "ended");
                     }});
    rules.push_back({"srun and salloc are ended and told", [] {
                         Job job = batch();
                         job.batch = false;
                         const auto decision = decide(job, {"n1", "n3"});
                         expect(decision.act == Act::kill && !decision.admin_comment, "ended");
                         expect_contains(shorten(decision.told[0]),
                                         "two software revisions (rev_a: n1; rev_b: n3)");
                     }});
}

// After the requeue: the plugin's thread.
void sweep_rules(std::vector<unit::Rule>& rules) {
    const auto sweep = [](Job job, const World& world) {
        job.pending = true, job.running = job.configuring = false;
        job.min_nodes = 2;
        job.priority = 100;
        const auto expand = [](std::string_view list) -> cohort::Result<Nodes> {
            return cohort::text::split(list, ',');
        };
        return plan_sweep({job}, *world.view(), expand, Owners{991, {}});
    };
    rules.push_back({"sweep: it is bound and starts at once", [sweep] {
                         Job job = batch();
                         job.admin_comment = *decide(job, {"n1", "n3"}).admin_comment;
                         auto changes = sweep(job, mixed());
                         expect(changes.size() == 1, "one change");
                         expect_contains(shorten(changes[0].features.value_or("")), "gpu&[rev_");
                         expect(changes[0].start_now && changes[0].release, "starts now");
                         job.features = *changes[0].features;
                         job.admin_comment = *changes[0].admin_comment;
                         expect(parse_guard_mark(job.admin_comment)->rounds == 1, "still counted");
                         expect(sweep(job, mixed()).empty(), "once");
                     }});
    rules.push_back({"sweep: after three rounds it is held, and stays so", [sweep] {
                         Job job = batch();
                         for (int i = 0; i < 3; ++i)
                             job.admin_comment = *decide(job, {"n1", "n3"}).admin_comment;
                         const auto changes = sweep(job, mixed());
                         expect(changes.size() == 1 && changes[0].hold, "held");
                         job.admin_comment = *changes[0].admin_comment;
                         expect(parse_guard_mark(job.admin_comment)->held == "gate", "by the gate");
                         World world = mixed();
                         Job held = job;
                         held.priority = 0;
                         const auto expand = [](std::string_view list) -> cohort::Result<Nodes> {
                             return cohort::text::split(list, ',');
                         };
                         held.pending = true, held.running = held.configuring = false;
                         held.min_nodes = 2;
                         expect(plan_sweep({held}, *world.view(), expand, Owners{991, {}}).empty(),
                                "not let go by us");
                     }});
    rules.push_back({"sweep: uniform again: given back and started", [sweep] {
                         Job job = batch();
                         job.admin_comment = *decide(job, {"n1", "n3"}).admin_comment;
                         World world("n1:b n2:b n3:b n4:b", "main=n1,n2,n3,n4");
                         world.cohort("main", "n1,n2,n3,n4");
                         const auto changes = sweep(job, world);
                         expect(changes.size() == 1 && changes[0].start_now, "starts now");
                         expect(changes[0].admin_comment->empty(), "no mark left");
                     }});
}

void file_rules(std::vector<unit::Rule>& rules) {
    const auto told = [](const Nodes& nodes) {
        cohort::SnapshotFile file;
        file.nodes = {{"n1", "IDLE", "rev_a", false}, {"n2", "IDLE", "rev_a", false},
                      {"n3", "IDLE", "rev_b", false}, {"n4", "IDLE", "", true},
                      {"n5", "IDLE", "", false},      {"n6", "IDLE", "", false}};
        return plainly_uniform(file, nodes);
    };
    rules.push_back({"the plugin's file: one label, or none at all", [told] {
                         expect(told({"n1", "n2"}) && told({"n5", "n6"}), "uniform");
                     }});
    rules.push_back({"the plugin's file: different, withdrawn or unknown: look closer", [told] {
                         expect(!told({"n1", "n3"}) && !told({"n1", "n5"}) && !told({"n1", "n4"}) &&
                                    !told({"n4", "n5"}) && !told({"n1", "n9"}),
                                "look closer");
                     }});
}

}  // namespace

int main() {
    std::vector<unit::Rule> rules;
    start_rules(rules);
    stop_rules(rules);
    sweep_rules(rules);
    file_rules(rules);
    return unit::run("cohort-gate", rules);
}
