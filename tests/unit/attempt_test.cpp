// SPDX-License-Identifier: GPL-2.0-or-later
//
// The engine's order of acts and its fault classes, against fakes that record what was asked of
// them.
#include "common/log.hpp"
#include "common/snapshot_file.hpp"
#include "rebootprog/reboot/choke_point.hpp"
#include "rebootprog/rollout/rollout_journal.hpp"
#include "tests/unit/attempt_fixture.hpp"

using namespace cohort;
using namespace cohort::fake;
using namespace std::chrono_literals;

int main() {
    return unit::run(
        "attempt",
        {
            {"a rebuild: label withdrawn and wish written before the POST, result after the end",
             [] {
                 Bench b;
                 expect_outcome(b.run(), Outcome::ok);
                 unit::expect_equal(b.sent(), std::string("rebuild "));
                 const auto& first = b.desk.writes.front();
                 unit::expect(first.withdrawn() && first.want->pending(), "withdrawn first");
                 unit::expect_equal(first.want->stamp, std::string("lab/v2"));
                 unit::expect_equal(first.want->from, std::string("rev_0123456789abcdef"));
                 unit::expect_equal(first.want->root, std::string("0123456789abcdef"));
                 unit::expect(b.desk.record.want->succeeded(), "result written");
                 unit::expect_equal(b.desk.record.want->request, std::string("req-1"));
                 unit::expect_equal(b.desk.out_reason, std::string());
                 unit::expect_equal(b.last().label, std::string("rev_0123456789abcdef"));
             }},
            {"nothing is asked of the cloud before the queue is bound, and that after the wish",
             [] {
                 Bench b;
                 auto c = b.context();
                 int calls = 0;
                 c.open_cohort = [&](const std::string& node) {
                     ++calls;
                     unit::expect_equal(node, std::string("n1"));
                     unit::expect(b.desk.record.withdrawn(), "withdrawn");
                     unit::expect_equal(b.sent(), std::string());
                 };
                 expect_outcome(run_attempt(c, "n1"), Outcome::ok);
                 unit::expect_equal(calls, 1);
             }},
            {"the choke point believes only a picture from after the wish, of a plugin that lives",
             [] {
                 Bench b;
                 const auto look = [&](double since, double at) {
                     return look_at_gate(b.dir, b.settings, "n1", since, at);
                 };
                 unit::expect(look(0, 0) == Gate::no_plugin, "no file");
                 const auto write = [&](std::vector<std::string> open) {
                     SnapshotHeader header;
                     header.generation = 1;
                     header.started = 1000;
                     header.written = 1001;
                     header.open_nodes = std::move(open);
                     std::ofstream(b.dir + "/snapshot.json")
                         << render_snapshot(header, render_snapshot_body({}, {}));
                 };
                 write({});
                 unit::expect(look(999, 1002) == Gate::not_yet, "not bound");
                 write({"n10", "n1"});
                 unit::expect(look(999, 1002) == Gate::open, "bound");
                 unit::expect(look(1000.5, 1002) == Gate::not_yet, "from before the wish");
                 unit::expect(look(999, 1100) == Gate::no_plugin, "nobody writes");
             }},
            {"already on the image: soft reboot",
             [] {
                 Bench b;
                 b.backend.looks = {active("image-2")};
                 expect_outcome(b.run(), Outcome::ok);
                 unit::expect_equal(b.sent(), std::string("soft "));
                 unit::expect_equal(b.desk.record.want->action, std::string("reboot"));
             }},
            {"a boot volume is rebuilt only when allowed, and asked for as such",
             [] {
                 Bench b;
                 auto s = active("");
                 s.volume_backed = true;
                 b.backend.looks = {s};
                 expect_outcome(b.run(), Outcome::failed);
                 unit::expect_equal(b.sent(), std::string());
                 b.settings.allow_volume_rebuild = true;
                 expect_outcome(b.run(), Outcome::ok);
                 unit::expect_equal(b.sent(), std::string("rebuild-volume "));
             }},
            {"a soft reboot that does not end becomes a hard one",
             [] {
                 Bench b;
                 b.settings.soft_reboot_time = 0s;
                 b.backend.looks = {active("image-2")};
                 b.backend.actions = {running(), running(), done(true)};
                 expect_outcome(b.run(), Outcome::ok);
                 unit::expect_equal(b.sent(), std::string("soft hard "));
             }},
            {"ERROR at the end: node out with the fault's words, result failed",
             [] {
                 Bench b;
                 b.backend.actions = {done(false, "No valid host")};
                 expect_outcome(b.run(), Outcome::failed);
                 unit::expect_contains(b.desk.out_reason, "No valid host");
                 unit::expect(b.desk.record.want->has_failed(), "failed");
                 unit::expect(b.desk.record.revision.empty(), "stays withdrawn");
             }},
            {"locked: node out at once, nothing sent, label kept",
             [] {
                 Bench b;
                 auto s = active("image-1");
                 s.locked = true;
                 b.backend.looks = {s};
                 expect_outcome(b.run(), Outcome::failed);
                 unit::expect_equal(b.sent(), std::string());
                 unit::expect_contains(b.desk.out_reason, "locked");
                 unit::expect(!b.desk.record.revision.empty(), "label kept: nothing was withdrawn");
             }},
            {"an image in quarantine, asked for by hand: node out, nothing sent, label kept",
             [] {
                 Bench b;
                 RolloutJournal rollouts(*b.journal);
                 unit::expect(rollouts.quarantine({"image-2", 1, 3, "2 nodes failed"}).has_value(),
                              "kept");
                 expect_outcome(b.run(), Outcome::failed);
                 unit::expect_equal(b.sent(), std::string());
                 unit::expect_contains(b.desk.out_reason,
                                       "image v2 is in quarantine: 2 nodes failed");
                 unit::expect(!b.desk.record.revision.empty(), "nothing was withdrawn");
                 unit::expect(rollouts.lift_quarantine("image-2").has_value(), "lifted");
                 expect_outcome(b.run(), Outcome::ok);
             }},
            {"unknown server: node out",
             [] {
                 Bench b;
                 b.backend.looks = {fail(Errc::not_found, "no server 111")};
                 expect_outcome(b.run(), Outcome::failed);
                 unit::expect_contains(b.desk.out_reason, "no server 111");
             }},
            {"no desired image: node out, the file is named",
             [] {
                 Bench b;
                 unlink((b.dir + "/n1.yml").c_str());
                 expect_outcome(b.run(), Outcome::failed);
                 unit::expect_contains(b.desk.out_reason, b.dir);
             }},
            {"the cloud is out of reach for a while: retried, the breaker told once it happens",
             [] {
                 Bench b;
                 b.backend.looks = {fail(Errc::unreachable, "401"), fail(Errc::unreachable, "401"),
                                    active("image-1")};
                 expect_outcome(b.run(), Outcome::ok);
                 unit::expect(b.cloud_faults >= 1, "told");
             }},
            {"out of reach to the deadline: untouched, label kept, node out as untouched",
             [] {
                 Bench b;
                 b.limit = 60ms;
                 b.backend.looks = {fail(Errc::unreachable, "401 from keystone")};
                 expect_outcome(b.run(), Outcome::untouched);
                 unit::expect_equal(b.sent(), std::string());
                 unit::expect_contains(b.desk.out_reason, "node untouched");
                 unit::expect_equal(b.desk.record.revision, std::string("rev_0123456789abcdef"));
                 unit::expect(!b.desk.record.want, "no wish");
             }},
            {"an absent or inactive image is the cloud's fault, not the node's",
             [] {
                 Bench b;
                 b.limit = 60ms;
                 b.backend.images.front() =
                     ImageState{"image-2", "v2", "", false, "image v2 is deactivated"};
                 expect_outcome(b.run(), Outcome::untouched);
                 unit::expect(b.cloud_faults >= 1, "told");
             }},
            {"the POST certainly not taken, to the deadline: the label comes back",
             [] {
                 Bench b;
                 b.limit = 100ms;
                 b.backend.sends = {fail(Errc::unreachable, "503")};
                 expect_outcome(b.run(), Outcome::untouched);
                 unit::expect_equal(b.desk.record.revision, std::string("rev_0123456789abcdef"));
                 unit::expect(!b.desk.record.want, "wish removed");
             }},
            {"the POST refused in words (400, 403, locked since the look): sent once, node out "
             "with "
             "nova's words, the label comes back",
             [] {
                 for (const auto& [code, words] :
                      {std::pair{Errc::invalid, "nova answered 400: Image x is not active"},
                       std::pair{Errc::denied, "nova answered 403: Policy"},
                       std::pair{Errc::denied, "nova answered 409: Instance x is locked"}}) {
                     Bench b;
                     b.backend.sends = {fail(code, words), std::string("req-1")};
                     expect_outcome(b.run(), Outcome::failed);
                     unit::expect_equal(b.sent(), std::string("rebuild "));
                     unit::expect_contains(b.desk.out_reason, words);
                     unit::expect_equal(b.last().reason, b.desk.out_reason);
                     unit::expect_equal(b.desk.record.revision,
                                        std::string("rev_0123456789abcdef"));
                     unit::expect(!b.desk.record.want, "wish removed");
                     unit::expect_equal(b.last().posted, 0);  // no wish that advance would miss
                 }
             }},
            {"busy, and locked when it is looked at again: the label comes back and no wish is "
             "missed",
             [] {
                 Bench b;
                 auto s = active("image-1");
                 s.locked = true;
                 b.backend.looks = {active("image-1"), s};
                 b.backend.sends = {fail(Errc::busy, "409")};
                 expect_outcome(b.run(), Outcome::failed);
                 unit::expect_equal(b.sent(), std::string("rebuild "));
                 unit::expect_equal(b.desk.record.revision, std::string("rev_0123456789abcdef"));
                 unit::expect_equal(b.last().posted, 0);
             }},
            {"the POST refused, after an attempt that withdrew the label: stays withdrawn",
             [] {
                 Bench b;
                 b.desk.record.revision.clear();
                 b.desk.record.want = Want{};
                 b.desk.record.want->from = "rev_0123456789abcdef";
                 b.desk.record.want->result = "failed: No valid host";
                 b.backend.sends = {fail(Errc::invalid, "nova answered 400: no")};
                 expect_outcome(b.run(), Outcome::failed);
                 unit::expect(b.desk.record.withdrawn(), "still withdrawn");
                 unit::expect(b.desk.record.want->has_failed(), "this one failed too");
                 unit::expect_equal(b.desk.record.want->from, std::string("rev_0123456789abcdef"));
             }},
            {"the POST refused because the server is gone, or failed in an unknown way: stays "
             "withdrawn",
             [] {
                 for (const Errc code : {Errc::not_found, Errc::failed}) {
                     Bench b;
                     b.backend.sends = {fail(code, "no words")};
                     expect_outcome(b.run(), Outcome::failed);
                     unit::expect_equal(b.sent(), std::string("rebuild "));
                     unit::expect(b.desk.record.withdrawn(), "withdrawn");
                 }
             }},
            {"Unlock=yes: unlocked, then rebuilt; a server that cannot be unlocked is asked all "
             "the "
             "same, with a warning",
             [] {
                 static std::string warned;
                 log::set_sink([](log::Level level, std::string_view text) {
                     if (level == log::Level::warning) warned += text;
                 });
                 const std::string why = "nova answered 403: an administrator's lock";
                 for (const bool fails : {false, true}) {
                     Bench b;
                     b.settings.unlock = true;
                     auto s = active("image-1");
                     s.locked = true;
                     b.backend.looks = {s};
                     b.backend.sends = {std::string("req-0"), std::string("req-1")};
                     if (fails) b.backend.sends.front() = fail(Errc::denied, why);
                     expect_outcome(b.run(), Outcome::ok);
                     unit::expect_equal(b.sent(), std::string("unlock rebuild "));
                     unit::expect_equal(b.last().request, std::string("req-1"));
                     unit::expect_equal(warned.find(why) != std::string::npos, fails);
                 }
             }},
            {"the POST may have been taken: never sent again, found and followed",
             [] {
                 Bench b;
                 b.backend.sends = {fail(Errc::unsure, "connection lost")};
                 b.backend.newest = running();
                 expect_outcome(b.run(), Outcome::ok);
                 unit::expect_equal(b.sent(), std::string("rebuild "));
             }},
            {"the POST may have been taken and nothing shows: unsure, never given back",
             [] {
                 Bench b;
                 b.limit = 60ms;
                 b.backend.sends = {fail(Errc::unsure, "connection lost")};
                 expect_outcome(b.run(), Outcome::unsure);
                 unit::expect(b.desk.record.withdrawn(), "stays withdrawn");
                 unit::expect_contains(b.desk.out_reason, "may still be under way");
             }},
            {"an action that does not end in Slurm's time: unsure, node out",
             [] {
                 Bench b;
                 b.limit = 60ms;
                 b.backend.actions = {running()};
                 expect_outcome(b.run(), Outcome::unsure);
                 unit::expect(b.last().phase == Phase::following, "still to be followed");
             }},
            {"already rebuilding to the image: adopted, nothing sent",
             [] {
                 Bench b;
                 auto s = active("image-2");
                 s.task_state = "rebuilding";
                 b.backend.looks = {s};
                 b.backend.newest = running();
                 expect_outcome(b.run(), Outcome::ok);
                 unit::expect_equal(b.sent(), std::string());
             }},
            {"a rebuilt server that stays SHUTOFF is started",
             [] {
                 Bench b;
                 auto off = active("image-1");
                 off.status = "SHUTOFF";
                 b.backend.looks = {off};
                 expect_outcome(b.run(), Outcome::ok);
                 unit::expect_equal(b.sent(), std::string("rebuild start "));
             }},
            {"left behind before anything was sent: given back as untouched",
             [] {
                 Bench b;
                 Attempt a;
                 a.node = "n1";
                 a.began = 100;
                 a.label = "rev_0123456789abcdef";
                 a.id = *b.journal->begin(a);
                 b.desk.record.revision.clear();
                 b.desk.record.want = Want{};
                 b.desk.record.want->at = 150;
                 const auto c = b.context();
                 expect_outcome(adopt_attempt(c, a), Outcome::untouched);
                 unit::expect_equal(b.desk.record.revision, std::string("rev_0123456789abcdef"));
             }},
            {"left behind after the POST: its action is found and its end written",
             [] {
                 Bench b;
                 Attempt a;
                 a.node = "n1";
                 a.server = "server-1";
                 a.action = "rebuild";
                 a.began = a.posted = 100;
                 a.phase = Phase::posting;
                 a.id = *b.journal->begin(a);
                 b.desk.record.want = Want{};
                 b.desk.record.want->at = 100;
                 b.backend.newest = running();
                 b.backend.actions = {done(true)};
                 const auto c = b.context();
                 expect_outcome(adopt_attempt(c, a), Outcome::ok);
                 unit::expect(b.desk.record.want->succeeded(), "written");
                 expect_outcome(b.last().outcome, Outcome::ok);
             }},
            {"left behind, action still runs: looked at again later",
             [] {
                 Bench b;
                 Attempt a;
                 a.node = "n1";
                 a.request = "req-1";
                 a.phase = Phase::following;
                 a.id = *b.journal->begin(a);
                 b.backend.actions = {running()};
                 const auto c = b.context();
                 expect_outcome(adopt_attempt(c, a), Outcome::open);
             }},
            {"the journal keeps what it was told and names the newest per node",
             [] {
                 Bench b;
                 b.run();
                 Attempt a;
                 a.node = "n1";
                 a.reason = "second 'quoted'";
                 a.id = *b.journal->begin(a);
                 auto again = Journal::open(b.dir);
                 unit::expect_equal(again->latest_attempt("n1")->value().reason,
                                    std::string("second 'quoted'"));
                 unit::expect_equal(again->open_attempts()->size(), 1U);
                 unit::expect(again->note("n1", "me", "x").has_value(), "note");
                 unit::expect_equal(again->events(10)->front().text, std::string("x"));
             }},
        });
}
