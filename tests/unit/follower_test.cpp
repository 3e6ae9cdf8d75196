// SPDX-License-Identifier: GPL-2.0-or-later
//
// One list per round for all followed servers, one question per action that may have ended.
#include "rebootprog/follower.hpp"

#include <atomic>
#include <set>

#include <fmt/core.h>

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
    Follower follower(cloud, 50ms);
    std::vector<std::thread> threads;
    std::atomic<int> good{0};
    for (int i = 0; i < count; ++i)
        threads.emplace_back([&, i] {
            const auto state = follower.wait(fmt::format("s{}", i), "req",
                                             Follower::Clock::now() + std::chrono::seconds(20));
            if (state && state->finished && state->request == "req") ++good;
        });
    std::this_thread::sleep_for(time);
    for (int i = 0; i < count; ++i) cloud.end(fmt::format("s{}", i));
    for (auto& thread : threads) thread.join();
    unit::expect_equal(good.load(), count);
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
             Follower follower(cloud, 20ms);
             const auto begin = Follower::Clock::now();
             const auto state = follower.wait("s1", "req", begin + 200ms);
             unit::expect(state && !state->finished, "not finished");
             unit::expect(Follower::Clock::now() - begin >= 190ms, "waited");
         }},
    };
}

}  // namespace

int main() {
    return unit::run("follower", rules());
}
