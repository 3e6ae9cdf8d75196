// SPDX-License-Identifier: GPL-2.0-or-later
//
// Hooks in parallel while the picture and cohort.conf are replaced under them: for the sanitizers,
// and for the promise that every answer fits one state, old or new.
#include <atomic>
#include <thread>

#include "plugins/job_submit/hooks.hpp"
#include "plugins/job_submit/thread.hpp"
#include "tests/unit/job_submit_fixture.hpp"
#include "tests/unit/unit.hpp"

using namespace cohort;
using namespace fixture;
using std::chrono::milliseconds;
using unit::expect;
using unit::expect_equal;
using unit::Rule;

namespace {

constexpr int hook_threads = 64;
constexpr int calls_each = 50;

// Odd generations know n1..n4 and MaxConcurrent=1000, even ones only x1..x4 and a breaker.
World generation(int n) {
    auto s = snapshot();
    s.generation = static_cast<std::uint64_t>(n);
    if (n % 2 == 0)
        for (auto& known : s.nodes) known.name[0] = 'x';
    if (n % 2 == 0) s.partitions[0].nodes = {"x1", "x2", "x3", "x4"};
    Settings settings;
    settings.max_concurrent = 1000;
    settings.max_pending_rebuilds = 1000;
    World w = world(std::move(s), settings);
    w.breaker_open = n % 2 == 0;
    return w;
}

void storm() {
    Published<World> world;
    RebuildLedger ledger;
    std::atomic<int> accepted{0}, mixed{0}, steps{0};
    Hooks hooks(world, ledger, [] {});
    world.set(std::make_shared<World>(generation(1)));
    RefreshThread refresher("storm", milliseconds(0), [&] {
        const int n = ++steps;
        world.set(std::make_shared<World>(generation(n)));
        ledger.observe(Clock::time_point{}, {}, {});
        return milliseconds(1);
    });
    std::vector<std::thread> callers;
    for (int t = 0; t < hook_threads; ++t)
        callers.emplace_back([&, t] {
            for (int i = 0; i < calls_each; ++i) {
                auto job = rebuild((i % 2 ? "x" : "n") + std::to_string(1 + (t + i) % 4));
                const auto got =
                    hooks.submit_rebuild(job, Clock::time_point(std::chrono::hours(1)));
                if (!got) continue;
                ++accepted;
                // An answer of the even state is held by its breaker, one of the odd state is not.
                mixed += (job.nodes[0][0] == 'x') != (got->held == "breaker");
                Change change;
                change.job_id = 1;
                mixed += !hooks.modify(change);
                refresher.wake(milliseconds(0));
            }
        });
    for (auto& caller : callers) caller.join();
    expect(refresher.stop(milliseconds(5000)), "the thread ends");
    expect_equal(mixed.load(), 0);
    // Nothing was ever seen to end: at most one for each of the eight nodes.
    expect(accepted > 0 && accepted <= 8, std::to_string(accepted) + " accepted");
}

}  // namespace

int main() {
    return unit::run(
        "storm",
        {
            {"64 callers against a changing world: one job a node, no mixed answer", storm},
            {"a thread whose step hangs is left behind after the limit",
             [] {
                 auto go_on = std::make_shared<std::atomic<bool>>(false);
                 RefreshThread thread("hanging", milliseconds(0), [go_on] {
                     while (!*go_on) std::this_thread::sleep_for(milliseconds(5));
                     return milliseconds(1);
                 });
                 std::this_thread::sleep_for(milliseconds(30));
                 expect(!thread.stop(milliseconds(20)), "does not wait for ever");
                 *go_on = true;
             }},
            {"a rest ends when somebody asks for it",
             [] {
                 std::atomic<int> steps{0};
                 std::atomic<bool> wanted{false};
                 RefreshThread thread(
                     "asked", milliseconds(0),
                     [&steps] {
                         ++steps;
                         return milliseconds(60000);
                     },
                     [&wanted] { return wanted.exchange(false); });
                 for (int i = 0; i < 1000 && steps < 1; ++i)
                     std::this_thread::sleep_for(milliseconds(5));
                 expect_equal(steps.load(), 1);
                 wanted = true;
                 for (int i = 0; i < 1000 && steps < 2; ++i)
                     std::this_thread::sleep_for(milliseconds(5));
                 expect_equal(steps.load(), 2);
                 expect(thread.stop(milliseconds(5000)), "and ends when told");
             }},
            {"a step that throws does not end the thread",
             [] {
                 std::atomic<int> steps{0};
                 RefreshThread thread("throwing", milliseconds(0), [&steps]() -> milliseconds {
                     ++steps;
                     throw std::runtime_error("on purpose");
                 });
                 for (int i = 0; i < 1000 && steps < 2; ++i) {
                     thread.wake(milliseconds(0));
                     std::this_thread::sleep_for(milliseconds(5));
                 }
                 expect(steps >= 2, "goes on");
                 expect(thread.stop(milliseconds(5000)), "and ends when told");
             }},
        });
}
