// SPDX-License-Identifier: GPL-2.0-or-later
//
// What is seen of one node, brought into its row.
#include "rebootprog/rollout/rollout_row.hpp"

#include "tests/unit/rollout_scene.hpp"

using namespace cohort;
using namespace cohort::scene;
using unit::expect_contains;
using unit::expect_equal;

namespace {

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
             s.node(1).record.want.emplace().image = "v9";
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
    row_rules(rules);
    return unit::run("rollout_row", std::move(rules));
}
