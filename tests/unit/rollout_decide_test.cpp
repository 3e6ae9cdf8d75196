// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/rollout/rollout_decide.hpp"

#include "tests/unit/rollout_scene.hpp"

using namespace cohort;
using namespace cohort::scene;
using unit::expect;
using unit::expect_contains;
using unit::expect_equal;

namespace {

void limit_rules(std::vector<unit::Rule>& rules) {
    const auto held = [](Scene& s, int from, int to) {
        for (int i = from; i <= to; ++i) s.job(i, Step::held);
    };
    rules.push_back({"a planned node gets a job", [] {
                         Scene s(2);
                         expect_equal(s.acts(), std::string("submit:n1 submit:n2 "));
                     }});
    rules.push_back({"no second job beside one that somebody submitted by hand", [] {
                         Scene s(2);
                         s.job(1, Step::held, "pending", 0);
                         expect_equal(s.acts(), std::string("submit:n2 "));
                     }});
    rules.push_back({"no more than MaxUnavailable are released", [held] {
                         Scene s(4);
                         held(s, 1, 4);
                         expect_equal(s.slots(), std::string("release:n1 release:n2 "));
                     }});
    rules.push_back({"a percentage is of the chosen nodes, not of those to be rebuilt", [held] {
                         Scene s(8, 16);
                         s.view.rollout.max_unavailable = "25%";
                         held(s, 1, 8);
                         expect_equal(s.slots(),
                                      std::string("release:n1 release:n2 release:n3 release:n4 "));
                     }});
    rules.push_back({"MinAvailable is the stricter of the two", [held] {
                         Scene s(4);
                         s.view.rollout.min_available = "3";
                         held(s, 1, 4);
                         expect_equal(s.slots(), std::string("release:n1 "));
                     }});
    for (const char* how : {"down", "drained", "failed", "rebooting", "silent"})
        rules.push_back({fmt::format("a node that is {} counts, whoever did it", how),
                         [held, word = std::string(how)] {
                             Scene s(4, 6);
                             held(s, 1, 4);
                             auto& state = s.node(6).state;
                             if (word == "down") state.base = Base::down;
                             if (word == "drained") state.drain = true;
                             if (word == "failed") state.fail = true;
                             if (word == "rebooting") state.reboot_issued = true;
                             if (word == "silent") state.not_responding = true;
                             expect_equal(s.slots(), std::string("release:n1 "));
                         }});
    rules.push_back({"a rebuild job submitted by hand counts when it may start", [held] {
                         Scene s(3, 6);
                         held(s, 1, 3);
                         s.job(5, Step::released, "", 0);
                         expect_equal(s.slots(), std::string("release:n1 "));
                     }});
    rules.push_back({"a released job on a busy node counts: it may start at any moment", [held] {
                         Scene s(4);
                         held(s, 2, 4);
                         s.job(1, Step::released, "");
                         s.busy(1, now + 10);
                         expect_equal(s.slots(), std::string("release:n2 "));
                     }});
    rules.push_back({"a node given a slot by another rollout in the same step counts", [held] {
                         Scene s(4);
                         held(s, 1, 4);
                         Pace pace = pace_of(s.seen);
                         pace.given = {"n3"};
                         std::string text;
                         for (const auto& act : decide_rollout(s.seen, s.view, pace))
                             text += act.row.node + " ";
                         expect_equal(text, std::string("n1 "));
                     }});
    rules.push_back({"no slot for a node that is out for an administrator's reason", [held] {
                         Scene s(3);
                         held(s, 1, 3);
                         s.node(1).state.drain = true;
                         s.node(1).reason = "ECC";
                         expect_equal(s.slots(), std::string("release:n2 "));
                     }});
    rules.push_back({"an administrator's own hold is left alone", [held] {
                         Scene s(3);
                         held(s, 2, 3);
                         s.job(1, Step::held, "");
                         expect_equal(s.slots(), std::string("release:n2 release:n3 "));
                     }});
    rules.push_back({"nothing is released while the breaker is open", [held] {
                         Scene s(2);
                         held(s, 1, 2);
                         s.seen.breaker_open = true;
                         expect_equal(s.slots(), std::string());
                     }});
    rules.push_back({"MaxConcurrent and MaxPendingRebuilds hold for rollouts too", [held] {
                         Scene s(4);
                         held(s, 1, 4);
                         s.seen.max_concurrent = 1;
                         expect_equal(s.slots(), std::string("release:n1 "));
                         s.seen.max_concurrent = 9;
                         s.seen.max_pending = 1;
                         expect_equal(s.slots(), std::string("release:n1 "));
                     }});
}

void order_rules(std::vector<unit::Rule>& rules) {
    const auto three = [] {
        Scene s(3);
        for (int i = 1; i <= 3; ++i) s.job(i, Step::held);
        s.busy(1, now + 900);
        s.busy(2, now + 100);
        s.view.rollout.max_unavailable = "1";
        return s;
    };
    rules.push_back({"idle nodes first", [three] {
                         auto s = three();
                         expect_equal(s.slots(), std::string("release:n3 "));
                     }});
    rules.push_back({"then those that free soonest", [three] {
                         auto s = three();
                         s.view.rollout.max_unavailable = "2";
                         expect_equal(s.slots(), std::string("release:n3 release:n2 "));
                     }});
    rules.push_back({"order given: as they come", [three] {
                         auto s = three();
                         s.view.rollout.order = "given";
                         expect_equal(s.slots(), std::string("release:n1 "));
                     }});
    rules.push_back({"a slot is taken back from the node that stays busy longest", [] {
                         Scene s(4);
                         s.job(1, Step::released, "");
                         s.busy(1, now + 100);
                         s.job(2, Step::released, "");
                         s.busy(2, now + 900);
                         s.job(3, Step::held);
                         s.job(4, Step::held);
                         s.busy(4, now + 50);
                         expect_equal(s.slots(), std::string("back:n2 "));
                     }});
    rules.push_back({"not from one that is free in a moment", [] {
                         Scene s(2);
                         s.view.rollout.max_unavailable = "1";
                         s.job(1, Step::released, "");
                         s.busy(1, now + 20);
                         s.job(2, Step::held);
                         expect_equal(s.slots(), std::string());
                     }});
    rules.push_back({"outside its window nothing begins, and what waits is taken back", [] {
                         Scene s(3);
                         s.job(1, Step::released, "");
                         s.job(2, Step::held);
                         s.view.rollout.window = "22:00-06:00";
                         s.seen.minute_of_day = 12 * 60;
                         expect_equal(s.acts(), std::string("submit:n3 back:n1 "));
                         s.seen.minute_of_day = 23 * 60;
                         expect_equal(s.slots(), std::string("release:n2 "));
                     }});
    rules.push_back({"a window may go over midnight; a bad one is none", [] {
                         expect(*in_window("08:00-17:30", 8 * 60), "from");
                         expect(!*in_window("08:00-17:30", 17 * 60 + 30), "until");
                         expect(*in_window("22:00-06:00", 5), "after midnight");
                         expect(!*in_window("22:00-06:00", 7 * 60), "day");
                         for (const char* bad : {"", "22-06", "25:00-06:00", "1:60-2:00", "x"})
                             expect(!in_window(bad, 0).has_value(), bad);
                     }});
    rules.push_back({"canaries first; the others after their end and the soak", [] {
                         Scene s(3);
                         s.view.rollout.canary = 1;
                         s.view.rollout.soak = 60;
                         s.row(2).canary = true;
                         for (int i = 1; i <= 3; ++i) s.job(i, Step::held);
                         expect_equal(s.slots(), std::string("release:n2 "));
                         s.seen.jobs.erase(s.seen.jobs.begin() + 1);
                         s.row(2).step = Step::done;
                         s.row(2).ended = now - 30;
                         expect_equal(s.slots(), std::string());
                         s.row(2).ended = now - 60;
                         expect_equal(s.slots(), std::string("release:n1 release:n3 "));
                     }});
}

void reboot_rules(std::vector<unit::Rule>& rules) {
    const auto via = [](int nodes) {
        Scene s(nodes);
        s.view.rollout.via = "reboot";
        return s;
    };
    rules.push_back({"via reboot: no job; a slot is a reboot when the node is idle", [via] {
                         auto s = via(3);
                         s.busy(1, now + 900);
                         expect_equal(s.acts(), std::string("reboot:n2 reboot:n3 "));
                     }});
    rules.push_back({"via reboot: paused, what has not begun is taken back", [via] {
                         auto s = via(2);
                         s.view.rollout.state = RolloutState::paused;
                         s.row(1).step = s.row(2).step = Step::released;
                         s.row(1).released = s.row(2).released = now;
                         s.node(1).state.reboot_requested = s.node(1).state.drain = true;
                         s.node(2).state.reboot_issued = true;
                         expect_equal(s.acts(), std::string("row:rebuilding:n2 unreboot:n1 "));
                     }});
    rules.push_back({"via reboot: aborted, its drain is lifted", [via] {
                         auto s = via(1);
                         s.view.rollout.state = RolloutState::aborted;
                         s.row(1).step = Step::released;
                         s.row(1).released = now;
                         s.node(1).state.reboot_requested = s.node(1).state.drain = true;
                         expect_equal(s.acts(), std::string("unreboot:n1 row:cancelled:n1 "));
                     }});
    rules.push_back({"via reboot: a reboot that is asked for no more takes the node out", [via] {
                         auto s = via(1);
                         s.row(1).step = Step::released;
                         s.row(1).released = now - 16;
                         expect_equal(s.acts(), std::string("row:cancelled:n1 rollout:done "));
                     }});
    rules.push_back({"via reboot: proved and still DOWN for our reason: given back", [via] {
                         auto s = via(1);
                         s.row(1).step = Step::rebuilding;
                         s.attempt(1, Outcome::ok);
                         s.proved(1);
                         s.node(1).state.base = Base::down;
                         s.node(1).reason = "cohort: " + reboot_reason(3);
                         expect_equal(s.acts(), std::string("row:rebuilding:n1 return:n1 "));
                     }});
}

void given_back_rules(std::vector<unit::Rule>& rules) {
    rules.push_back({"proved, and out for the rollout's own reason: given back", [] {
                         Scene s(1);
                         s.row(1).step = Step::rebuilding;
                         s.row(1).direct = true;
                         s.attempt(1, Outcome::ok);
                         s.proved(1);
                         s.down(1, "cohort: rollout 3 rebuilds it");
                         expect_equal(s.acts(), std::string("row:rebuilding:n1 return:n1 "));
                         s.node(1).reason = "cohort: not healthy";
                         expect_equal(s.acts().substr(0, 14), std::string("row:failed:n1 "));
                     }});
}

void state_rules(std::vector<unit::Rule>& rules) {
    rules.push_back({"paused: what has not begun is held again", [] {
                         Scene s(3);
                         s.view.rollout.state = RolloutState::paused;
                         s.job(1, Step::released, "");
                         s.job(2, Step::rebuilding, "");
                         expect_equal(s.acts(), std::string("back:n1 "));
                     }});
    rules.push_back({"aborted: what has not begun is cancelled, the rest is followed", [] {
                         Scene s(4);
                         s.view.rollout.state = RolloutState::aborted;
                         s.job(1, Step::released, "");
                         s.job(2, Step::held);
                         s.job(3, Step::rebuilding, "");
                         expect_equal(s.acts(), std::string("cancel:n1 row:cancelled:n1 cancel:n2 "
                                                            "row:cancelled:n2 row:cancelled:n4 "));
                     }});
    rules.push_back({"more failures than the budget halt it and blame the image", [] {
                         Scene s(5);
                         s.view.rollout.failure_budget = 1;
                         s.job(5, Step::released, "");
                         for (int i = 1; i <= 2; ++i) {
                             s.row(i).step = Step::failed;
                             s.attempt(i, Outcome::ok);
                             s.down(i, "cohort: no proof");
                         }
                         expect_equal(s.acts(),
                                      std::string("rollout:halted quarantine:n2 back:n5 "));
                         s.view.rollout.forgiven = 2;
                         expect_equal(s.acts().substr(0, 7), std::string("submit:"));
                     }});
    rules.push_back({"failures of single nodes blame no image", [] {
                         Scene s(3);
                         s.view.rollout.failure_budget = 0;
                         s.row(1).step = Step::failed;
                         s.attempt(1, Outcome::failed, "locked");
                         s.down(1, "cohort: locked");
                         expect_equal(s.acts(), std::string("rollout:halted "));
                     }});
    rules.push_back({"one failed canary halts it whatever the budget", [] {
                         Scene s(3);
                         s.view.rollout.canary = 1;
                         s.row(1).canary = true;
                         s.row(1).step = Step::failed;
                         s.down(1, "cohort: locked");
                         expect_equal(s.acts(), std::string("rollout:halted "));
                     }});
    rules.push_back({"it ends when every node has ended", [] {
                         Scene s(2);
                         s.row(1).step = Step::done;
                         s.row(2).step = Step::failed;
                         s.down(2, "cohort: locked");
                         expect_equal(s.acts(), std::string("rollout:done "));
                     }});
    rules.push_back({"a node that is out for a reason of ours is rebuilt without a job", [] {
                         Scene s(2);
                         s.down(1, "cohort: no proof");
                         expect_equal(s.acts(), std::string("rebuild:n1 submit:n2 "));
                         s.seen.breaker_open = true;
                         expect_equal(s.acts(), std::string("submit:n2 "));
                     }});
}

}  // namespace

int main() {
    std::vector<unit::Rule> rules;
    limit_rules(rules);
    order_rules(rules);
    reboot_rules(rules);
    given_back_rules(rules);
    state_rules(rules);
    return unit::run("rollout_decide", std::move(rules));
}
