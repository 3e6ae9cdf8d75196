// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/node_judge.hpp"

#include "tests/unit/unit.hpp"

using namespace cohort;
using Act = NodeDecision::Act;

namespace {

constexpr std::int64_t at = 1000, old_boot = 100, new_boot = 1005;

NodeFacts facts(const char* stamp, std::int64_t boot, const char* root = "new") {
    NodeFacts read;
    read.observed = {stamp, root, boot};
    read.boot_id = "boot-id";
    return read;
}

NodeRecord wanted(const char* result, const char* label = "") {
    NodeRecord record;
    record.revision = label;
    Want want;
    want.stamp = "lab/v2";
    want.action = "rebuild";
    want.at = at;
    want.root = "old";
    want.result = result;
    record.want = want;
    return record;
}

void expect_act(const NodeDecision& d, Act act) {
    unit::expect(d.act == act, d.why);
    unit::expect(!d.why.empty(), "says why");
}

}  // namespace

int main() {
    const NodeRecord unlabelled;
    NodeRecord labelled;
    labelled.revision = "rev_0123456789abcdef";
    return unit::run(
        "node_judge",
        {
            {"before: no attempt, slurmd starts",
             [=] {
                 expect_act(decide_before(unlabelled, facts("lab/v1", old_boot), true), Act::go_on);
             }},
            {"before: slurmd restarts while a rebuild is about to begin",
             [] {
                 expect_act(decide_before(wanted(""), facts("lab/v1", old_boot, "old"), true),
                            Act::go_on);
             }},
            {"before: proved",
             [] {
                 expect_act(decide_before(wanted(""), facts("lab/v2", new_boot), true), Act::go_on);
             }},
            {"before: action still runs and the stamp is old: slurmd starts, verify waits",
             [] {
                 expect_act(decide_before(wanted(""), facts("lab/v1", new_boot), true), Act::go_on);
             }},
            {"before: the cloud says done, the stamp is old: refused",
             [] {
                 expect_act(decide_before(wanted("ok"), facts("lab/v1", new_boot), true),
                            Act::take_out);
             }},
            {"before: the cloud says done but this is the old boot: refused",
             [] {
                 expect_act(decide_before(wanted("ok"), facts("lab/v1", old_boot), true),
                            Act::take_out);
             }},
            {"before: the last attempt failed: refused",
             [] {
                 expect_act(decide_before(wanted("failed: ERROR"), facts("lab/v2", new_boot), true),
                            Act::take_out);
             }},
            {"after: never adopted, nothing is published",
             [=] {
                 expect_act(decide_after(unlabelled, facts("lab/v1", old_boot), true), Act::go_on);
             }},
            {"after: labelled and no attempt: labelled by what runs",
             [=] {
                 expect_act(decide_after(labelled, facts("lab/v1", new_boot), true), Act::publish);
             }},
            {"after: proved, published",
             [] {
                 expect_act(decide_after(wanted(""), facts("lab/v2", new_boot), true),
                            Act::publish);
             }},
            {"after: not ended yet and the stamp is old: waits",
             [] {
                 expect_act(decide_after(wanted(""), facts("lab/v1", new_boot), true), Act::wait);
             }},
            {"after: never publishes when the last attempt failed",
             [] {
                 expect_act(decide_after(wanted("failed: x"), facts("lab/v2", new_boot), true),
                            Act::take_out);
             }},
            {"after: a plain reboot long after a success publishes again",
             [] {
                 expect_act(decide_after(wanted("ok"), facts("lab/v2", new_boot + 5000), true),
                            Act::publish);
             }},
            {"verify: proved",
             [] {
                 expect_act(decide_verify(wanted("ok"), facts("lab/v2", new_boot), true, at - 50),
                            Act::publish);
             }},
            {"verify: nobody was asked: the job ran on an untouched node",
             [=] {
                 expect_act(decide_verify(unlabelled, facts("lab/v1", old_boot), true, at - 50),
                            Act::take_out);
             }},
            {"verify: the recorded attempt is older than this job",
             [] {
                 expect_act(decide_verify(wanted("ok"), facts("lab/v2", new_boot), true, at + 50),
                            Act::take_out);
             }},
            {"verify: slurmctld restarted, the job runs on the old boot: out at once",
             [] {
                 expect_act(
                     decide_verify(wanted(""), facts("lab/v1", old_boot, "old"), true, at - 50),
                     Act::take_out);
             }},
            {"verify: the cloud lied",
             [] {
                 expect_act(
                     decide_verify(wanted("ok"), facts("lab/v1", new_boot, "old"), true, at - 50),
                     Act::take_out);
             }},
            {"lift: ours, first publication of this boot",
             [] {
                 Node node;
                 node.state.fail = true;
                 node.reason = "cohort: x";
                 unit::expect(may_lift(node, false), "lifted");
                 unit::expect(!may_lift(node, true), "slurmd restart lifts nothing");
                 node.reason = "ECC error";
                 unit::expect(!may_lift(node, false), "foreign");
                 node.reason = "";
                 node.record.out_reason = "cohort: x";
                 unit::expect(may_lift(node, false), "26.05 lost the reason");
                 node.state.fail = false;
                 unit::expect(!may_lift(node, false), "nothing to lift");
             }},
            {"lift: never what a whole cohort waits behind",
             [] {
                 Node node;
                 node.state.drain = true;
                 node.reason = "cohort: barrier 7: waits for n2";
                 unit::expect(!may_lift(node, false) && is_behind_barrier(node), "stays");
                 node.reason.clear();
                 node.record.out_reason = "cohort: barrier 7";
                 unit::expect(!may_lift(node, false), "26.05 lost the reason");
             }},
        });
}
