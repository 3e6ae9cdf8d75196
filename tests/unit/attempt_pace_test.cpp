// SPDX-License-Identifier: GPL-2.0-or-later
//
// How an attempt paces itself: how much it asks of the cloud, when it holds a slot, what it does
// when somebody else was faster.
#include <thread>

#include "rebootprog/cloud/slots.hpp"
#include "tests/unit/attempt_fixture.hpp"

using namespace cohort;
using namespace cohort::fake;
using namespace std::chrono_literals;

namespace {

ServerState rebuilding(const char* image) {
    auto s = active(image);
    s.status = "REBUILD";
    s.task_state = "rebuilding";
    return s;
}

// Counts what is asked of it before the POST.
struct CountingBackend : FakeBackend {
    int reads = 0, reads_before_post = -1;
    std::function<void()> at_post, at_action;
    Result<ServerState> server(const Target& target) override {
        ++reads;
        return FakeBackend::server(target);
    }
    Result<ImageState> image(const std::string& name) override {
        ++reads;
        return FakeBackend::image(name);
    }
    Result<std::string> send(Request request, const std::string& server,
                             const std::string& image) override {
        if (reads_before_post < 0) reads_before_post = reads;
        if (at_post) at_post();
        return FakeBackend::send(request, server, image);
    }
    Result<ActionState> action(const std::string& server, const std::string& request) override {
        if (at_action) at_action();
        return FakeBackend::action(server, request);
    }
};

struct CountingBench : Bench {
    CountingBackend counted;
    CountingBench() {
        counted.looks = backend.looks;
        counted.sends = backend.sends;
        counted.actions = backend.actions;
        settings.max_concurrent = 1;
    }
    AttemptContext counting() { return context_with(counted); }
    Outcome run_counted() {
        const auto c = counting();
        return run_attempt(c, "n1");
    }
};

// A slot whose holder was killed while the cloud worked on what it had asked for.
void leave_slot(const std::string& dir, const char* request, std::int64_t until) {
    auto slot = acquire_slot(dir, 1, "n9", AttemptContext::Clock::now());
    slot->note("n9", {"server-9", "rebuild", request, std::time(nullptr), until});
    slot->leave();
}

std::vector<unit::Rule> rules() {
    return {
        {"three requests before polling: server, image, POST",
         [] {
             CountingBench b;
             expect_outcome(b.run_counted(), Outcome::ok);
             unit::expect_equal(b.counted.reads_before_post, 2);
             unit::expect_equal(b.counted.reads, 2);
             unit::expect_equal(b.counted.log.size(), 1U);
         }},
        {"slurmctld does not answer for a moment: told again, then sent",
         [] {
             CountingBench b;
             b.desk.edit_errors = {{Errc::unreachable, "no answer"},
                                   {Errc::unreachable, "no answer"}};
             expect_outcome(b.run_counted(), Outcome::ok);
             unit::expect_equal(b.counted.log.size(), 1U);
             unit::expect_equal(b.desk.record.want->from, std::string("rev_0123456789abcdef"));
         }},
        {"slurmctld refuses the note: the node is out, nothing is sent",
         [] {
             CountingBench b;
             b.desk.edit_errors = {{Errc::denied, "Access denied"}};
             expect_outcome(b.run_counted(), Outcome::failed);
             unit::expect(b.counted.log.empty(), "nothing sent");
             unit::expect_contains(b.desk.out_reason, "Slurm refused to take its note");
         }},
        {"a slot is held from the POST to the action's end, not while the result is written",
         [] {
             CountingBench b;
             std::uint32_t at_post = 9, at_action = 9, at_write = 9;
             b.counted.at_post = [&] { at_post = *slots_in_use(b.dir, 1); };
             b.counted.at_action = [&] { at_action = *slots_in_use(b.dir, 1); };
             auto c = b.counting();
             int writes = 0;
             c.follower = [&](const Followed& followed, auto) {
                 return b.counted.action(followed.server, followed.request);
             };
             c.open_cohort = [&](const std::string&) {
                 ++writes;
                 unit::expect_equal(*slots_in_use(b.dir, 1), 0U);
             };
             expect_outcome(run_attempt(c, "n1"), Outcome::ok);
             at_write = *slots_in_use(b.dir, 1);
             unit::expect_equal(at_post, 1U);
             unit::expect_equal(at_action, 1U);
             unit::expect_equal(at_write, 0U);
             unit::expect_equal(writes, 1);
         }},
        {"409 because somebody else rebuilds it to the same image: adopted, one POST",
         [] {
             CountingBench b;
             b.counted.looks = {active("image-1"), rebuilding("image-2")};
             b.counted.sends = {fail(Errc::busy, "409")};
             b.counted.newest = running();
             expect_outcome(b.run_counted(), Outcome::ok);
             unit::expect_equal(b.counted.log.size(), 1U);
             unit::expect_equal(b.last().label, std::string("rev_0123456789abcdef"));
             unit::expect(b.desk.record.want->succeeded(), "its end is ours");
         }},
        {"409 because somebody else rebuilds it to another image: this node out",
         [] {
             CountingBench b;
             b.counted.looks = {active("image-1"), rebuilding("image-3")};
             b.counted.sends = {fail(Errc::busy, "409")};
             expect_outcome(b.run_counted(), Outcome::failed);
             unit::expect_contains(b.desk.out_reason, "another image");
             unit::expect_equal(b.desk.record.revision, std::string("rev_0123456789abcdef"));
         }},
        {"409 for a reboot that is under way: waited for, then sent again",
         [] {
             CountingBench b;
             auto rebooting = active("image-1");
             rebooting.task_state = "rebooting";
             b.counted.looks = {active("image-1"), rebooting, active("image-1")};
             b.counted.sends = {fail(Errc::busy, "409"), std::string("req-1")};
             expect_outcome(b.run_counted(), Outcome::ok);
             unit::expect_equal(b.counted.log.size(), 2U);
         }},
        {"a dead holder's action counts until it has ended",
         [] {
             CountingBench b;
             leave_slot(b.dir, "req-9", std::time(nullptr) + 600);
             b.counted.actions = {running(), done(true), running(), done(true)};
             const auto begin = AttemptContext::Clock::now();
             expect_outcome(b.run_counted(), Outcome::ok);
             unit::expect(AttemptContext::Clock::now() - begin >= 900ms, "waited for it");
         }},
        {"a dead holder's action that does not end keeps the slot until its own time is over",
         [] {
             CountingBench b;
             b.limit = 700ms;
             leave_slot(b.dir, "req-9", std::time(nullptr) + 600);
             b.counted.actions = {running()};
             expect_outcome(b.run_counted(), Outcome::untouched);
             unit::expect(b.counted.log.empty(), "nothing sent");
             unit::expect_contains(b.desk.out_reason, "slots are taken");
             leave_slot(b.dir, "req-9", std::time(nullptr) - 1);
             b.counted.actions = {done(true)};
             expect_outcome(b.run_counted(), Outcome::ok);
         }},
        {"a dead holder that may have asked: nova's own list decides",
         [] {
             CountingBench b;
             leave_slot(b.dir, "", std::time(nullptr) + 600);
             b.counted.newest = done(true);
             expect_outcome(b.run_counted(), Outcome::ok);
         }},
        {"the desired image changed while it waited for a slot: the node is told the new one",
         [] {
             CountingBench b;
             b.limit = 20000ms;
             std::optional<Slot> taken = std::move(*acquire_slot(b.dir, 1, "n9", {}));
             b.counted.images.emplace_back(ImageState{"image-3", "v3", "lab/v3", true, ""});
             std::thread other([&] {
                 std::this_thread::sleep_for(500ms);
                 taken.reset();
             });
             auto c = b.counting();
             c.fresh = 200ms;
             expect_outcome(run_attempt(c, "n1"), Outcome::ok);
             other.join();
             unit::expect_equal(b.desk.record.want->stamp, std::string("lab/v3"));
             unit::expect_equal(b.desk.record.want->from, std::string("rev_0123456789abcdef"));
             unit::expect_equal(b.last().image_to, std::string("image-3"));
         }},
    };
}

}  // namespace

int main() {
    return unit::run("attempt_pace", rules());
}
