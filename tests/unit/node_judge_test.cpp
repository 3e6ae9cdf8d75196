// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/node/node_judge.hpp"

#include "rebootprog/node/node_dynamic.hpp"

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

// What decide_lack says of a node in STATE that lacks its profile.
std::optional<NodeDecision> lacking(const NodeState& state, const LackView& view,
                                    const char* fault = "no profile") {
    Node node;
    node.state = state;
    NodeFacts read = facts("lab/v1", new_boot);
    read.profile_fault = fault;
    return decide_lack(node, read, view);
}

void expect_arguments(const char* conf, const char* features, const char* wanted) {
    const auto got = slurmd_arguments("rev_0123456789abcdef", conf, features);
    unit::expect(got.has_value(), conf);
    unit::expect_equal(*got, std::string(wanted));
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
            {"lift: join's own, in a published boot too",
             [] {
                 Node node;
                 node.state.drain = true;
                 node.reason = "cohort: join: vars has mode 0666";
                 unit::expect(may_lift(node, true), "mended");
                 node.reason = "cohort: leave: the node is shutting down";
                 unit::expect(!may_lift(node, true) && may_lift(node, false), "a new boot only");
             }},
            {"boot: first, of new root content, of the same",
             [] {
                 NodeRecord record;
                 const auto kind = [&] { return boot_kind(record, facts("", new_boot)); };
                 unit::expect(kind() == BootKind::first, "never seen");
                 record.root = "old";
                 unit::expect(kind() == BootKind::rebuild, "another root");
                 record.root = "new";
                 unit::expect(kind() == BootKind::plain, "the same root");
             }},
            {"lack: nothing lacks",
             [] {
                 unit::expect(!lacking({}, {true, false}, ""), "no word");
             }},
            {"lack: refused, with a reason that join lifts again",
             [] {
                 for (const bool before : {true, false}) {
                     const auto decision = lacking({}, {before, false});
                     expect_act(*decision, Act::take_out);
                     unit::expect_equal(decision->why, std::string("join: no profile"));
                 }
             }},
            {"lack: a rebuild job waits for this boot, its verify says it",
             [] {
                 NodeState state;
                 state.powering_up = true;
                 expect_act(*lacking(state, {true, false}), Act::go_on);
                 expect_act(*lacking(state, {false, false}), Act::wait);
             }},
            {"lack: a job is about to start: a drain could end it; beside a running one it does "
             "not",
             [] {
                 NodeState state;
                 state.base = NodeState::Base::allocated;
                 expect_act(*lacking(state, {false, false}), Act::wait);
                 expect_act(*lacking(state, {false, true}), Act::take_out);
                 expect_act(*lacking(state, {true, true}), Act::take_out);
             }},
            {"after: a dynamic node that was started with its revision is labelled",
             [=] {
                 Node node;
                 NodeFacts read = facts("lab/v1", new_boot);
                 node.features = "gpu,rev_0123456789abcdef";
                 unit::expect(!asks_for_label(node, read), "a node of slurm.conf is adopted");
                 node.state.dynamic = true;
                 unit::expect(asks_for_label(node, read), "by its features");
                 node.features = "gpu";
                 unit::expect(!asks_for_label(node, read), "started without");
                 read.slurmd_has_revision = true;
                 unit::expect(asks_for_label(node, read),
                              "the guard may have taken the feature off");
                 expect_act(decide_after(unlabelled, read, true, true), Act::publish);
             }},
            {"slurmd: the revision alone",
             [] { expect_arguments("", "", "-Z --conf \"Feature=rev_0123456789abcdef\""); }},
            {"slurmd: keys without a value are left out, the site's features stay",
             [] {
                 expect_arguments("CPUs=4 Gres= feature=gpu,rev_1111111111111111 Weight=", "ib,gpu",
                                  "-Z --conf \"CPUs=4 Feature=gpu,ib,rev_0123456789abcdef\"");
             }},
            {"slurmd: without a revision, and with nothing at all",
             [] {
                 unit::expect_equal(slurmd_arguments("", "Feature=a", "").value(),
                                    std::string("-Z --conf \"Feature=a\""));
                 unit::expect_equal(slurmd_arguments("", "Gres=", "").value(), std::string("-Z"));
             }},
            {"slurmd: what is no key, or would end the quotes, is refused",
             [] {
                 for (const char* conf : {"Weight", "=4", "A=\"b\"", "A=$(x)", "A=`x`", "A=1\nB=2"})
                     unit::expect(!slurmd_arguments("rev_0123456789abcdef", conf, ""), conf);
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
