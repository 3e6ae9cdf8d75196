// SPDX-License-Identifier: GPL-2.0-or-later
//
// One list per round for all followed servers, one question per action that may have ended; rounds
// come closer when an end is due.
#include "rebootprog/cloud/follower.hpp"

#include <atomic>
#include <filesystem>
#include <set>

#include <fmt/core.h>
#include <unistd.h>

#include "common/file.hpp"
#include "tests/unit/unit.hpp"

using namespace cohort;
using namespace std::chrono_literals;

namespace {

struct FakeCloud : Backend {
    std::mutex mutex;
    std::set<std::string> ended;
    std::set<std::string> hidden;  // ended, and no list shows it
    std::atomic<int> lists{0}, questions{0};
    std::optional<Error> list_error;
    std::chrono::milliseconds list_time{0};
    std::vector<std::chrono::system_clock::time_point> since;

    void end(const std::string& server) {
        const std::lock_guard lock(mutex);
        ended.insert(server);
    }
    Status probe() override { return {}; }
    Result<std::vector<ServerState>> servers() override { return fail(Errc::failed, "unused"); }
    Result<ServerState> server(const Target&) override { return fail(Errc::failed, "unused"); }
    Result<ImageState> image(const std::string&) override { return fail(Errc::failed, "unused"); }
    Result<std::string> send(Request, const std::string&, const std::string&) override {
        return fail(Errc::failed, "unused");
    }
    Result<ActionState> action(const std::string& server, const std::string& request) override {
        ++questions;
        const std::lock_guard lock(mutex);
        const bool over = ended.contains(server) || hidden.contains(server);
        return ActionState{request, over, over, "", 1};
    }
    Result<std::optional<ActionState>> newest_action(const std::string&, const std::string&,
                                                     std::int64_t) override {
        return fail(Errc::failed, "unused");
    }
    Result<std::vector<ServerState>> changed_since(
        std::chrono::system_clock::time_point when) override {
        ++lists;
        std::this_thread::sleep_for(list_time);
        const std::lock_guard lock(mutex);
        since.push_back(when);
        if (list_error) return tl::unexpected(*list_error);
        std::vector<ServerState> all;
        for (int i = 0; i < 20; ++i) {
            ServerState s;
            s.id = fmt::format("s{}", i);
            s.status = ended.contains(s.id) ? "ACTIVE" : "REBUILD";
            s.task_state = ended.contains(s.id) ? "" : "rebuild_spawning";
            all.push_back(s);
        }
        return all;
    }
};

// COUNT servers followed at once; they end together after TIME.
void follow(FakeCloud& cloud, int count, std::chrono::milliseconds time) {
    UsualTimes usual;
    Follower follower(cloud, usual, 50ms);
    std::vector<std::thread> threads;
    std::atomic<int> good{0};
    for (int i = 0; i < count; ++i)
        threads.emplace_back([&, i] {
            const auto state = follower.wait({fmt::format("s{}", i), "req", "rebuild"},
                                             Follower::Clock::now() + std::chrono::seconds(20));
            if (state && state->finished && state->request == "req") ++good;
        });
    std::this_thread::sleep_for(time);
    for (int i = 0; i < count; ++i) cloud.end(fmt::format("s{}", i));
    for (auto& thread : threads) thread.join();
    unit::expect_equal(good.load(), count);
}

std::vector<unit::Rule> pace_rules() {
    return {
        {"nothing is known: always the same pace",
         [] { unit::expect_equal(until_next_look(7s, {}, 1s).count(), 1000); }},
        {"long before its end: the same pace",
         [] { unit::expect_equal(until_next_look(10s, 90s, 1s).count(), 1000); }},
        {"no later than the first moment at which its end is due",
         [] { unit::expect_equal(until_next_look(4000ms, 5000ms, 1s).count(), 375); }},
        {"when its end is due: a sixteenth of its time",
         [] {
             unit::expect_equal(until_next_look(5s, 5s, 1s).count(), 312);
             unit::expect_equal(until_next_look(100s, 100s, 1s).count(), 1000);
         }},
        {"never finer than a fifth of a second",
         [] {
             unit::expect_equal(until_next_look(0s, 10ms, 1s).count(), 200);
             unit::expect_equal(until_next_look(1s, 1s, 1s).count(), 200);
             unit::expect_equal(until_next_look(860ms, 1s, 1s).count(), 200);
         }},
        {"late: the usual says nothing any more",
         [] { unit::expect_equal(until_next_look(7s, 5s, 1s).count(), 1000); }},
        {"learned: the first as it is, each later one for a quarter, other actions apart",
         [] {
             UsualTimes usual;
             unit::expect(!usual.of("rebuild"), "nothing yet");
             usual.learn("rebuild", 4s);
             usual.learn("rebuild", 8s);
             unit::expect_equal(usual.of("rebuild")->count(), 5000);
             unit::expect(!usual.of("reboot"), "another");
         }},
        {"kept for the next process; what is no time is as if it were absent",
         [] {
             const std::string dir = fmt::format("/tmp/cohort-usual.{}", ::getpid());
             UsualTimes(dir).learn("hard reboot", 3s);
             unit::expect_equal(UsualTimes(dir).of("hard reboot")->count(), 3000);
             for (const char* text : {"", "-5", "0", "12x", "99999999999999999999"}) {
                 unit::expect(write_file(dir + "/usual/rebuild", text, 0600).has_value(),
                              "written");
                 unit::expect(!UsualTimes(dir).of("rebuild"), text);
             }
             std::filesystem::remove_all(dir);
         }},
    };
}

std::vector<unit::Rule> rules() {
    return {
        {"many servers: one list per round, one question per server at its end",
         [] {
             FakeCloud cloud;
             follow(cloud, 20, 500ms);
             unit::expect(cloud.lists >= 3 && cloud.lists <= 14,
                          fmt::format("{} lists in 10 rounds", cloud.lists.load()));
             unit::expect(cloud.questions <= 22,
                          fmt::format("{} questions", cloud.questions.load()));
         }},
        {"each round's list begins where the last one that answered began",
         [] {
             FakeCloud cloud;
             const auto begin = std::chrono::system_clock::now();
             follow(cloud, 5, 400ms);
             unit::expect(cloud.since.front() < begin, "also what came before the first");
             unit::expect(cloud.since.back() > begin, "then only what is new");
         }},
        {"one server: no list, one question per round",
         [] {
             FakeCloud cloud;
             follow(cloud, 1, 300ms);
             unit::expect_equal(cloud.lists.load(), 0);
             unit::expect(cloud.questions >= 2 && cloud.questions <= 9, "once per round");
         }},
        {"an end that is due is noticed long before the next full round",
         [] {
             FakeCloud cloud;
             UsualTimes usual;
             usual.learn("rebuild", 1s);
             Follower follower(cloud, usual, 30s);
             std::thread later([&] {
                 std::this_thread::sleep_for(950ms);
                 for (const char* server : {"s1", "s2"}) cloud.end(server);
             });
             std::thread other([&] {
                 (void)follower.wait({"s2", "req", "rebuild"}, Follower::Clock::now() + 60s);
             });
             const auto begin = Follower::Clock::now();
             const auto state = follower.wait({"s1", "req", "rebuild"}, begin + 60s);
             unit::expect(state && state->finished, "ended");
             unit::expect(Follower::Clock::now() - begin < 20s, "not at the 30 s of a round");
             later.join();
             other.join();
         }},
        {"a list that takes long is not asked for again at once",
         [] {
             FakeCloud cloud;
             cloud.list_time = 200ms;
             UsualTimes usual;
             usual.learn("rebuild", 1s);
             Follower follower(cloud, usual, 5s);
             std::thread other([&] {
                 (void)follower.wait({"s2", "req", "rebuild"}, Follower::Clock::now() + 2s);
             });
             (void)follower.wait({"s1", "req", "rebuild"}, Follower::Clock::now() + 2s);
             other.join();
             unit::expect(cloud.lists >= 1 && cloud.lists <= 3,
                          fmt::format("{} lists of 200 ms in 2 s", cloud.lists.load()));
         }},
        {"a cloud that gives no list: each is asked about",
         [] {
             FakeCloud cloud;
             cloud.list_error = Error{Errc::denied, "403"};
             follow(cloud, 4, 300ms);
             unit::expect_equal(cloud.lists.load(), 1);
         }},
        {"the time is over: what is known then",
         [] {
             FakeCloud cloud;
             UsualTimes usual;
             Follower follower(cloud, usual, 20ms);
             const auto begin = Follower::Clock::now();
             const auto state = follower.wait({"s1", "req", "rebuild"}, begin + 200ms);
             unit::expect(state && !state->finished, "not finished");
             unit::expect(Follower::Clock::now() - begin >= 190ms, "waited");
         }},
    };
}

}  // namespace

int main() {
    auto all = pace_rules();
    for (auto& rule : rules()) all.push_back(std::move(rule));
    return unit::run("follower", all);
}
