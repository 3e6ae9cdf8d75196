// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/rollout_decide.hpp"

#include "common/text.hpp"
#include "rebootprog/rollout_row.hpp"
#include "tests/unit/unit.hpp"

using namespace cohort;
using unit::expect;
using unit::expect_contains;
using unit::expect_equal;
using Base = NodeState::Base;

namespace {

constexpr std::int64_t now = 10000;

// A rollout of some nodes in a cluster of TOTAL ones, and how it all looks.
struct Scene {
    Observation seen;
    RolloutView view;

    explicit Scene(int nodes, int total = 0) {
        seen.now = now;
        view.rollout.id = 3;
        view.rollout.max_unavailable = "2";
        for (int i = 1; i <= std::max(nodes, total); ++i) {
            Node node;
            node.name = fmt::format("n{}", i);
            node.state.base = Base::idle;
            node.record.revision = "rev_0000000000000001";
            view.scope.push_back(node.name);
            seen.nodes.push_back(node);
        }
        for (int i = 1; i <= nodes; ++i) {
            RolloutNode row;
            row.rollout = 3;
            row.node = fmt::format("n{}", i);
            row.position = i;
            row.image_from = "v1";
            row.image_to = "v2";
            view.rows.push_back(row);
        }
    }
    Node& node(int i) { return seen.nodes[static_cast<std::size_t>(i - 1)]; }
    RolloutNode& row(int i) { return view.rows[static_cast<std::size_t>(i - 1)]; }

    // The rebuild job of node I: held, or it may start, or runs.
    Job& job(int i, Step step, const char* held = "rollout", std::int64_t rollout = 3) {
        Job job;
        job.id = static_cast<std::uint32_t>(100 + i);
        job.id_text = fmt::format("{}", job.id);
        job.pending = step != Step::rebuilding;
        job.running = !job.pending;
        job.priority = step == Step::held ? 0 : 100;
        job.admin_comment = write_mark("", {fmt::format("n{}", i), 100, held, rollout});
        if (job.running) job.nodes = fmt::format("n{}", i);
        if (rollout == 3) {
            row(i).step = step;
            row(i).job = job.id;
            row(i).submitted = row(i).released = row(i).started = 1;
        }
        seen.jobs.push_back(job);
        return seen.jobs.back();
    }
    void busy(int i, std::int64_t until) {
        node(i).state.base = Base::allocated;
        Job user;
        user.id = static_cast<std::uint32_t>(500 + i);
        user.running = true;
        user.nodes = fmt::format("n{}", i);
        user.end_time = until;
        seen.jobs.push_back(user);
    }
    void down(int i, const char* reason) {
        node(i).state.base = Base::down;
        node(i).state.fail = true;
        node(i).reason = node(i).record.out_reason = reason;
    }
    void attempt(int i, Outcome outcome, const char* reason = "") {
        Attempt a;
        a.id = i;
        a.node = fmt::format("n{}", i);
        a.outcome = outcome;
        a.reason = reason;
        a.ended = now;
        seen.latest.push_back(a);
    }
    // Node I knows what it is to become.
    void told(int i) {
        Want want;
        want.image = "v2";
        node(i).record.want = want;
        node(i).record.revision.clear();
    }
    // Node I has proved that it runs v2.
    void proved(int i) {
        Want want;
        want.image = "v2";
        want.result = result_ok;
        node(i).record.want = want;
    }
    std::string acts() {
        static const char* const names[] = {"row",    "rollout", "quarantine", "out",
                                            "submit", "rebuild", "release",    "back",
                                            "cancel", "reboot",  "unreboot",   "return"};
        Pace pace = pace_of(seen);
        std::string text;
        for (const auto& act : decide_rollout(seen, view, pace)) {
            text += names[static_cast<int>(act.kind)];
            if (act.kind == RolloutAct::Kind::note_row)
                text += fmt::format(":{}", name_of(act.row.step));
            if (act.kind == RolloutAct::Kind::note_rollout)
                text += fmt::format(":{}", name_of(act.rollout.state));
            text += act.row.node.empty() ? " " : ":" + act.row.node + " ";
        }
        return text;
    }
    // Only what is given and taken.
    std::string slots() {
        std::string text;
        for (const auto& word : text::split(acts(), ' '))
            if (word.starts_with("release") || word.starts_with("back")) text += word + " ";
        return text;
    }
};

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

// How node 1's row looks after one look at SCENE.
std::string row_after(Scene& s) {
    const SightIndex index(s.seen);
    const auto change = update_row(s.row(1), index.sighting(3, s.row(1)), {now, 600});
    return fmt::format("{}{}{}", name_of(change.row.step), change.row.why.empty() ? "" : ": ",
                       change.row.why);
}

Scene ended(Outcome outcome, const char* reason = "") {
    Scene s(1);
    s.row(1).step = Step::rebuilding;
    s.row(1).job = 101;
    s.row(1).started = now - 100;
    s.attempt(1, outcome, reason);
    return s;
}

void row_rules(std::vector<unit::Rule>& rules) {
    rules.push_back({"a job is found by its mark when the journal does not know it", [] {
                         Scene s(1);
                         s.job(1, Step::released, "");
                         s.row(1).step = Step::planned;
                         s.row(1).job = 0;
                         expect_equal(row_after(s), std::string("released"));
                     }});
    rules.push_back({"proved: done", [] {
                         auto s = ended(Outcome::ok);
                         s.proved(1);
                         expect_equal(row_after(s), std::string("done"));
                     }});
    rules.push_back({"not while its job still runs", [] {
                         auto s = ended(Outcome::ok);
                         s.proved(1);
                         s.job(1, Step::rebuilding, "");
                         expect_equal(row_after(s), std::string("rebuilding"));
                     }});
    rules.push_back({"drained by an administrator after its proof: done, and his drain stays", [] {
                         auto s = ended(Outcome::ok);
                         s.proved(1);
                         s.node(1).state.drain = true;
                         s.node(1).reason = "ECC";
                         expect_equal(row_after(s), std::string("done"));
                     }});
    rules.push_back({"an image that the rollout did not want is no proof", [] {
                         auto s = ended(Outcome::ok);
                         s.proved(1);
                         s.node(1).record.want->image = "v9";
                         expect_contains(row_after(s), "waits for the node's own proof");
                     }});
    rules.push_back({"out of service for a reason of ours: failed, with that reason", [] {
                         auto s = ended(Outcome::ok);
                         s.told(1);
                         s.down(1, "cohort: this boot is v1");
                         expect_equal(row_after(s), std::string("failed: this boot is v1"));
                     }});
    rules.push_back({"judged by an older wish, which slurmctld came back with: no failure", [] {
                         auto s = ended(Outcome::ok);
                         s.proved(1);
                         s.seen.latest[0].posted = now - 50;
                         s.node(1).record.want->at = now - 900;
                         s.down(1, "cohort: image matches but the node runs v2, wanted v1");
                         expect_contains(row_after(s), "waits for the node's own proof");
                         s.node(1).record.want->at = now - 50;
                         expect_contains(row_after(s), "failed: image matches");
                         s.down(1,
                                (std::string("cohort: ") + std::string(lost_wish_reason)).c_str());
                         s.node(1).record.want->image = "v9";
                         expect_contains(row_after(s), "waits for the node's own proof");
                     }});
    rules.push_back(
        {"out while nobody knew how the action ended, and it ended well: given back", [] {
             auto s = ended(Outcome::ok);
             s.node(1).record.want->image = "v9";
             s.down(1, "cohort: rebuild req-1 may still be under way: not in Slurm's time");
             expect_contains(row_after(s), "waits for the node's own proof");
             s.proved(1);
             expect_contains(s.acts(), "return:n1");
         }});
    rules.push_back({"never back within VerifyWait: failed", [] {
                         auto s = ended(Outcome::ok);
                         s.seen.latest[0].ended = now - 601;
                         s.node(1).state.base = Base::down;
                         s.node(1).reason = "Not responding";
                         expect_contains(row_after(s), "failed: it never came back");
                     }});
    rules.push_back({"back without a proof after VerifyWait: failed", [] {
                         auto s = ended(Outcome::ok);
                         s.seen.latest[0].ended = now - 601;
                         s.node(1).record.revision.clear();
                         expect_contains(row_after(s), "failed: it came back and never proved");
                     }});
    rules.push_back({"an attempt that failed: failed", [] {
                         auto s = ended(Outcome::failed, "locked");
                         expect_equal(row_after(s), std::string("failed: locked"));
                     }});
    rules.push_back({"an attempt that may be under way is followed", [] {
                         auto s = ended(Outcome::unsure, "time");
                         expect_equal(row_after(s), std::string("rebuilding: time"));
                     }});
    rules.push_back({"handed back untouched: begun anew once it is back", [] {
                         auto s = ended(Outcome::untouched, "cloud");
                         s.down(1, "cohort: untouched");
                         expect_contains(row_after(s), "rebuilding: untouched");
                         s.node(1) = Scene(1).node(1);
                         expect_equal(row_after(s), std::string("planned: cloud"));
                     }});
    rules.push_back({"an attempt before this try says nothing", [] {
                         auto s = ended(Outcome::failed, "locked");
                         s.row(1).after_attempt = 1;
                         expect_equal(row_after(s), std::string("planned: job 101 is gone"));
                     }});
    rules.push_back({"its job was cancelled: taken out", [] {
                         Scene s(1);
                         auto& job = s.job(1, Step::held);
                         job.pending = false;
                         job.cancelled = true;
                         expect_equal(row_after(s),
                                      std::string("cancelled: job 101 was cancelled"));
                     }});
    rules.push_back({"its job ended and nobody rebuilt it: failed", [] {
                         Scene s(1);
                         auto& job = s.job(1, Step::rebuilding, "");
                         job.running = false;
                         job.end_time = now - 61;
                         expect_contains(row_after(s), "RebootProgram");
                     }});
    rules.push_back({"it came back late: done after all", [] {
                         auto s = ended(Outcome::ok);
                         s.row(1).step = Step::failed;
                         s.proved(1);
                         expect_equal(row_after(s), std::string("done"));
                     }});
    rules.push_back({"rebuilt while out of service: the old reason is no new failure", [] {
                         auto s = ended(Outcome::ok);
                         s.told(1);
                         s.row(1).direct = true;
                         s.down(1, "cohort: rollout 3 rebuilds it");
                         expect_contains(row_after(s), "waits for the node's own proof");
                         s.down(1, "cohort: this boot is v1");
                         expect_equal(row_after(s), std::string("failed: this boot is v1"));
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
    row_rules(rules);
    return unit::run("rollout_decide", std::move(rules));
}
