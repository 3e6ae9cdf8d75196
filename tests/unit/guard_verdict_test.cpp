// SPDX-License-Identifier: GPL-2.0-or-later
//
// The guard's rules, one a row. The rows of "trap" are the forms that were measured to mix, or not
// to be enforced, on real slurmctld.
#include "common/guard/verdict.hpp"

#include "tests/unit/guard_world.hpp"
#include "tests/unit/unit.hpp"

using namespace cohort::guard;
using cohort::MixedRevision;

namespace {

// n1-n3 old, n4-n6 new; gpu on n1, n2 and n4; x on n1, n4; y on n2, n5.
World mixed(MixedRevision rule = MixedRevision::confine) {
    return World("n1:a:gpu,x n2:a:gpu,y n3:a n4:b:gpu,x n5:b:y n6:b", "main=n1,n2,n3,n4,n5,n6")
        .cohort("main", "n1,n2,n3,n4,n5,n6", rule);
}

World uniform() {
    return World("n1:a:gpu n2:a n3:a", "main=n1,n2,n3").cohort("main", "n1,n2,n3");
}

Request job(std::uint32_t nodes, const std::string& features = "") {
    Request request;
    request.min_nodes = request.max_nodes = nodes;
    request.features = lengthen(features);
    return request;
}

Request listed(std::uint32_t nodes, const std::string& list, const std::string& features = "") {
    Request request = job(nodes, features);
    request.required = cohort::text::split(list, ',');
    return request;
}

std::string word(const Verdict& verdict) {
    switch (verdict.outcome) {
        case Outcome::pass:
            return "pass";
        case Outcome::hold:
            return "hold";
        case Outcome::refuse:
            return "refuse";
        case Outcome::bind:
            break;
    }
    std::string out = shorten(verdict.features.value_or("(kept)"));
    if (verdict.prefer) out += " prefer " + shorten(*verdict.prefer);
    if (verdict.partition) out += " in " + *verdict.partition;
    return out;
}

void expect(const World& world, const Request& request, const std::string& wanted,
            int line = __builtin_LINE()) {
    const Verdict verdict = world.judge(request);
    unit::expect_equal(word(verdict), wanted, __FILE__, line);
    unit::expect(verdict.message.size() <= 4, "more than four lines", __FILE__, line);
    unit::expect((verdict.outcome == Outcome::pass) == verdict.message.empty(),
                 "the user is told when and only when something was done", __FILE__, line);
}

std::string lines(const Verdict& verdict) {
    return cohort::text::join(verdict.message, "\n");
}

}  // namespace

int main() {
    return unit::run(
        "guard verdict",
        {
            {"no features: a group of the revisions present now",
             [] { expect(mixed(), job(2), "[rev_a|rev_b]"); }},
            {"AND only: F&[..]",
             [] {
                 auto request = job(2, "gpu&x");
                 request.min_nodes = 1;
                 expect(mixed(), request, "gpu&x&[rev_a|rev_b]");
             }},
            {"AND only over both revisions",
             [] { expect(mixed(), job(2, "gpu"), "gpu&[rev_a|rev_b]"); }},
            {"trap: an OR without brackets mixes: (F)&[..]",
             [] { expect(mixed(), job(2, "x|y"), "(x|y)&[rev_a|rev_b]"); }},
            {"trap: brackets of the user's own take a pin",
             [] { expect(mixed(), job(2, "[gpu|y]"), "[gpu|y]&rev_a"); }},
            {"trap: the group is not enforced against a node list: a pin",
             [] { expect(mixed(), listed(2, "n4,n5"), "rev_b"); }},
            {"trap: a node list that spans is refused",
             [] {
                 const auto verdict = mixed().judge(listed(2, "n1,n4"));
                 unit::expect(verdict.outcome == Outcome::refuse, word(verdict));
                 unit::expect(verdict.cause == Cause::node_list, "cause");
                 unit::expect_contains(lines(verdict), "n1,n4");
             }},
            {"a node list that is shorter than the job: the others are pinned with it",
             [] { expect(mixed(), listed(2, "n4", "y|x"), "(y|x)&rev_b"); }},
            {"trap: the user's own group with a node list is not enforced either",
             [] { expect(mixed(), listed(2, "n1", "[rev_a|rev_b]"), "[rev_a|rev_b]&rev_a"); }},
            {"trap: --prefer replaces the features: it gets the same bound",
             [] {
                 auto request = job(2, "x|y");
                 request.prefer = "gpu";
                 expect(mixed(), request, "(x|y)&[rev_a|rev_b] prefer gpu&[rev_a|rev_b]");
                 request.features = "";
                 request.prefer = "x|y";
                 expect(mixed(), request, "[rev_a|rev_b] prefer (x|y)&[rev_a|rev_b]");
             }},
            {"a preference that no single revision can meet is left out: Slurm refuses the job "
             "with it",
             [] {
                 auto request = job(2, "gpu");
                 request.prefer = "x";  // n1 is old, n4 new
                 expect(mixed(), request, "gpu&[rev_a|rev_b] prefer [rev_a|rev_b]");
                 request.prefer = "x&y";  // nowhere: Slurm's own refusal
                 expect(mixed(), request, "gpu&[rev_a|rev_b] prefer x&y&[rev_a|rev_b]");
             }},
            {"brackets in --prefer: both are pinned to one revision",
             [] {
                 auto request = job(2, "gpu");
                 request.prefer = "[x|y]";
                 expect(mixed(), request, "gpu&rev_a prefer [x|y]&rev_a");
             }},
            {"a features bound alone does not help when --prefer is free",
             [] {
                 auto request = job(2, "gpu&[rev_a|rev_b]");
                 request.prefer = "x";
                 expect(mixed(), request, "gpu&[rev_a|rev_b]&rev_a prefer rev_a");
                 request.prefer = "gpu";
                 expect(mixed(), request, "gpu&[rev_a|rev_b]&rev_a prefer gpu&rev_a");
             }},
            {"trap: counts are refused, with the way out",
             [] {
                 const auto verdict = mixed().judge(job(3, "gpu*2"));
                 unit::expect(verdict.outcome == Outcome::refuse && verdict.cause == Cause::counts,
                              word(verdict));
                 unit::expect_contains(shorten(lines(verdict)), "-C rev_a");
             }},
            {"trap: counts that add up to the job carry the revision in each term",
             [] { expect(mixed(), job(2, "[x*1&y*1]"), "[(x&rev_a)*1&(y&rev_a)*1]"); }},
            {"trap: a pin or a group beside counts is not enforced by every version: refused",
             [] {
                 for (const std::string features :
                      {"[x*1&y*1]&rev_b", "rev_b&[x*1&y*1]", "gpu*2&[rev_a|rev_b]",
                       "[x*1&y*1]&[rev_a|rev_b]"}) {
                     const auto verdict = mixed().judge(job(2, features));
                     unit::expect(verdict.outcome == Outcome::refuse, features + word(verdict));
                 }
             }},
            {"trap: rev_b&x|y is (rev_b&x)|y",
             [] { expect(mixed(), job(2, "rev_b&x|y"), "(rev_b&x|y)&[rev_b|rev_a]"); }},
            {"what the user pinned himself passes",
             [] {
                 expect(mixed(), job(2, "gpu&rev_b"), "pass");
                 expect(mixed(), job(2, "[rev_a|rev_b]"), "pass");
                 expect(mixed(MixedRevision::block), job(2, "rev_a"), "pass");
                 expect(mixed(MixedRevision::hold), job(2, "rev_a"), "pass");
             }},
            {"one revision present: nothing is added", [] { expect(uniform(), job(2), "pass"); }},
            {"one revision among the candidates: nothing is added",
             [] {
                 auto request = job(2);
                 request.excluded = {"n4", "n5", "n6"};
                 expect(mixed(), request, "pass");
                 auto world = mixed();
                 world.snapshot.reservations.push_back({"r", {"n1", "n2"}, 0, 0});
                 auto reserved = job(2);
                 reserved.reservation = "r";
                 expect(world, reserved, "pass");
                 world.snapshot.reservations[0].flex = true;
                 expect(world, reserved, "[rev_a|rev_b]");
             }},
            {"a job of one node passes at once",
             [] {
                 expect(mixed(), job(1), "pass");
                 Request tasks;
                 tasks.tasks = 1, tasks.cpus = tasks.cpus_per_task = 3;
                 expect(mixed(), tasks, "pass");
             }},
            {"what could get a second node is not a job of one node",
             [] {
                 Request tasks;
                 tasks.tasks = 4;
                 expect(mixed(), tasks, "[rev_a|rev_b]");
                 Request gpus;
                 gpus.job_wide_gres = true;
                 expect(mixed(), gpus, "[rev_a|rev_b]");
                 Request cpus;
                 cpus.cpus = 6;
                 expect(mixed(), cpus, "[rev_a|rev_b]");
                 auto range = job(1);
                 range.max_nodes = 4;
                 expect(mixed(), range, "[rev_a|rev_b]");
             }},
            {"GuardSingleNode: it is kept off nodes without a revision too",
             [] {
                 auto world = mixed();
                 world.cohorts[0].rule.single_node = true;
                 expect(world, job(1), "[rev_a|rev_b]");
             }},
            {"a node that reboots or is DOWN counts by its label: its disk stays what it is until "
             "a "
             "rebuild withdraws that",
             [] {
                 for (auto* change :
                      {+[](cohort::NodeState& s) { s.reboot_requested = true; },
                       +[](cohort::NodeState& s) { s.reboot_issued = true; },
                       +[](cohort::NodeState& s) { s.base = cohort::NodeState::Base::down; }}) {
                     auto same = uniform();
                     change(same.snapshot.nodes[2].state);
                     expect(same, job(2), "pass");
                     auto other = mixed();
                     for (const std::size_t n : {3, 4, 5}) change(other.snapshot.nodes[n].state);
                     // They may be back before the job starts.
                     expect(other, job(2), "[rev_a|rev_b]");
                     expect(other, listed(2, "n1,n4"), "refuse");
                 }
             }},
            {"a withdrawn node takes no part: the others are bound although they are of one "
             "revision",
             [] {
                 World world("n1:a n2:a n3:~", "main=n1,n2,n3");
                 world.cohort("main", "n1,n2,n3");
                 expect(world, job(2), "rev_a");
                 expect(world, listed(2, "n1,n3"), "refuse");
             }},
            {"an attempt that is announced binds already: the first label may change at any moment",
             [] {
                 World world("n1:a n2:a n3:a~", "main=n1,n2,n3");
                 world.cohort("main", "n1,n2,n3");
                 expect(world, job(2), "rev_a");
             }},
            {"a cohort that was never adopted is not guarded",
             [] {
                 World world("n1:- n2:- n3:-", "main=n1,n2,n3");
                 world.cohort("main", "n1,n2,n3");
                 expect(world, job(2), "pass");
                 World first_by_hand("n1:b n2:- n3:-", "main=n1,n2,n3");
                 first_by_hand.cohort("main", "n1,n2,n3");
                 expect(first_by_hand, job(2), "pass");
                 World half_by_hand("n1:- n2:- n3:b", "main=n1,n2,n3");
                 half_by_hand.snapshot.nodes[0].record.want.emplace();
                 half_by_hand.cohort("main", "n1,n2,n3");
                 expect(half_by_hand, job(2), "pass");
             }},
            {"larger than every set of one revision: refused, with the counts and the way out",
             [] {
                 const auto verdict = mixed().judge(job(4));
                 unit::expect(verdict.outcome == Outcome::refuse && verdict.cause == Cause::size,
                              word(verdict));
                 unit::expect_contains(shorten(lines(verdict)), "rev_a: 3 nodes, rev_b: 3 nodes");
                 unit::expect_contains(lines(verdict), "at most 3 nodes");
             }},
            {"too many CPUs for every set of one revision is too large as well",
             [] {
                 Request request;
                 request.tasks = 13, request.cpus = 13;
                 expect(mixed(), request, "refuse");
                 request.overcommit = true;
                 expect(mixed(), request, "[rev_a|rev_b]");
             }},
            {"hold: it waits until all is of one revision",
             [] { expect(mixed(MixedRevision::hold), job(2), "hold"); }},
            {"hold: what no nodes of any revision could take is left to Slurm, which refuses it",
             [] {
                 const auto world = mixed(MixedRevision::hold);
                 expect(world, job(6), "hold");
                 expect(world, job(7), "pass");
                 expect(world, job(2, "gpu"), "hold");
                 expect(world, job(6, "gpu"), "pass");
                 expect(world, listed(2, "n1", "gpu"), "hold");
                 expect(world, listed(2, "n3", "gpu"), "pass");
                 auto cpus = job(2);
                 cpus.tasks = cpus.cpus = 1000;
                 expect(world, cpus, "pass");
                 expect(world, job(6, "gpu*7"), "hold");  // counts: Slurm's to judge
                 auto waiting = job(7);  // in the queue, where Slurm refuses no longer
                 waiting.queued = true;
                 expect(world, waiting, "hold");
             }},
            {"block: what could span is refused",
             [] { expect(mixed(MixedRevision::block), job(2), "refuse"); }},
            {"off: nothing is done", [] { expect(mixed(MixedRevision::off), job(2), "pass"); }},
            {"overlapping cohorts: the strictest rule",
             [] {
                 auto world = mixed();
                 world.cohort("half", "n3,n4", MixedRevision::block);
                 expect(world, job(2), "refuse");
                 auto away = job(2);
                 away.excluded = {"n3"};
                 expect(world, away, "[rev_b|rev_a]");
             }},
            {"administrators pass, unless GuardAdmins",
             [] {
                 auto world = mixed();
                 unit::expect_equal(word(world.judge(job(2), true)), std::string("pass"));
                 world.cohorts[0].rule.admins = true;
                 unit::expect_equal(word(world.judge(job(2), true)), std::string("[rev_a|rev_b]"));
             }},
            {"cold: one-node jobs pass, others are held, nobody is refused",
             [] {
                 unit::expect(judge(job(1), {}, nullptr).outcome == Outcome::pass, "one node");
                 const auto verdict = judge(job(9), {}, nullptr);
                 unit::expect(verdict.outcome == Outcome::hold && verdict.cause == Cause::cold,
                              "held");
             }},
            {"a revision that slurmctld has just lost is not named: it would refuse the job",
             [] {
                 auto world = mixed();
                 for (auto& node : world.snapshot.nodes) node.active_features = "gpu";
                 const auto verdict = world.judge(job(2));
                 unit::expect(verdict.outcome == Outcome::hold && verdict.cause == Cause::cold,
                              word(verdict));
             }},
            {"without a partition the default one is meant",
             [] {
                 World world("n1:a n2:a n3:b n4:b", "main=n1,n2 other=n1,n2,n3,n4");
                 world.cohort("c", "n1,n2,n3,n4");
                 expect(world, job(2), "pass");
                 auto other = job(2);
                 other.partition = "other";
                 expect(world, other, "[rev_a|rev_b]");
             }},
            {"a list of partitions: one of them that can span is enough",
             [] {
                 World world("n1:a n2:a n3:b n4:b", "main=n1,n2 other=n1,n2,n3,n4");
                 world.cohort("c", "n1,n2,n3,n4");
                 auto request = job(2);
                 request.partition = "main,other";
                 expect(world, request, "[rev_a|rev_b]");
             }},
            {"a list of partitions: what fits in one that cannot span goes there",
             [] {
                 World world("n1:a n2:b n3:- n4:-", "main=n1,n2 other=n3,n4");
                 world.cohort("c", "n1,n2");
                 auto request = job(2);
                 request.partition = "main,other";
                 expect(world, request, "(kept) in other");
             }},
            {"several cohorts: a job larger than each gets one revision of each",
             [] {
                 World world("n1:a n2:a n3:b n4:b n5:c n6:c", "all=n1,n2,n3,n4,n5,n6");
                 world.cohort("cpu", "n1,n2,n3,n4").cohort("big", "n5,n6");
                 expect(world, job(2), "[rev_a|rev_b|rev_c]");
                 expect(world, job(4), "(rev_a|rev_c)");
                 expect(world, job(5), "refuse");
             }},
            {"a het component is pinned, the next ones to the same revision",
             [] {
                 auto request = job(1, "gpu");
                 request.het = true;
                 const auto world = mixed();
                 const auto first = world.judge(request);
                 unit::expect_equal(word(first), std::string("gpu&rev_a"));
                 request.het_choice = first.het_choice;
                 request.features = "y";
                 unit::expect_equal(word(world.judge(request)), std::string("y&rev_a"));
                 request.features = "";
                 request.excluded = {"n1", "n2", "n3"};
                 const auto verdict = world.judge(request);
                 unit::expect(
                     verdict.outcome == Outcome::refuse && verdict.cause == Cause::component,
                     word(verdict));
             }},
            {"het components that need more nodes together than one revision has",
             [] {
                 const auto world = mixed();
                 auto request = job(2);
                 request.het = true;
                 const auto first = world.judge(request);
                 unit::expect_equal(word(first), std::string("rev_a"));
                 request.het_choice = first.het_choice;
                 request.min_nodes = request.max_nodes = 1;
                 unit::expect_equal(word(world.judge(request)), std::string("rev_a"));
                 request.min_nodes = request.max_nodes = 2;
                 const auto verdict = world.judge(request);
                 unit::expect_equal(word(verdict), std::string("refuse"));
                 unit::expect_contains(verdict.message[1], "more nodes together than it has");
                 request.queued = true;
                 unit::expect(world.judge(request).outcome == Outcome::bind, "a queued one waits");
             }},
            {"het components of one partition each, which are of different revisions",
             [] {
                 World world("n1:a n2:a n3:b n4:b", "p=n1,n2 q=n3,n4");
                 world.cohort("c", "n1,n2,n3,n4");
                 auto request = job(2);
                 request.het = true;
                 const auto first = world.judge(request);
                 unit::expect_equal(word(first), std::string("rev_a"));
                 request.het_choice = first.het_choice;
                 request.partition = "q";
                 unit::expect_equal(word(world.judge(request)), std::string("refuse"));
             }},
            {"a het component may have most of its nodes outside of a small cohort that it touches",
             [] {
                 World world("n1:a n2:a n3:b n4:b", "all=n1,n2,n3,n4 old=n1,n2 mixed=n2,n3");
                 world.cohort("all", "n1,n2,n3,n4").cohort("mixed", "n2,n3");
                 auto request = job(2);
                 request.het = true;
                 request.partition = "old";
                 const auto first = world.judge(request);
                 unit::expect_equal(word(first), std::string("rev_a"));
                 request.het_choice = first.het_choice;
                 request.min_nodes = request.max_nodes = 1;
                 unit::expect_equal(word(world.judge(request)), std::string("refuse"));
             }},
            {"what Slurm refuses by itself is left to it",
             [] {
                 auto request = job(2);
                 request.partition = "nowhere";
                 expect(mixed(), request, "pass");
                 request.partition = "";
                 request.reservation = "nowhere";
                 expect(mixed(), request, "pass");
             }},
            {"a node list with names outside of the partition, or that nobody knows, is Slurm's to "
             "refuse",
             [] {
                 World world("n1:a n2:a n3:b n4:b", "all=n1,n2,n3,n4 old=n1,n2 new=n3,n4");
                 world.cohort("c", "n1,n2,n3,n4");
                 for (const std::string partition : {"old", "old,new"})
                     for (const std::string nodes : {"n3", "n1,n3", "n99", "n1,n99"}) {
                         auto request = listed(2, nodes);
                         request.partition = partition;
                         expect(world, request, "pass");
                     }
                 expect(world, listed(1, "n99"), "pass");
                 expect(world, listed(2, "n1,n99"), "rev_a");
             }},
            {"a constraint that cannot be read is refused when it could span",
             [] {
                 expect(mixed(), job(2, "((x|y)&gpu)"), "refuse");
                 expect(uniform(), job(2, "((x|y)&gpu)"), "pass");
             }},
            {"a queued job is never refused: bound or held",
             [] {
                 auto request = job(4);
                 request.queued = true;
                 expect(mixed(), request, "[rev_a|rev_b]");
                 auto spans = listed(2, "n1,n4");
                 spans.queued = true;
                 expect(mixed(), spans, "hold");
                 auto counts = job(3, "gpu*2");
                 counts.queued = true;
                 expect(mixed(), counts, "hold");
             }},
            {"an empty cluster and an empty request: Slurm's to answer",
             [] { (void)World("", "").judge(Request{}); }},
        });
}
