// SPDX-License-Identifier: GPL-2.0-or-later
// Slots and the breaker, with several processes.
#include <csignal>
#include <cstdlib>
#include <thread>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rebootprog/cloud/breaker.hpp"
#include "rebootprog/cloud/slots.hpp"
#include "tests/unit/unit.hpp"

using namespace cohort;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

struct Folder {
    std::string path = fmt::format("/tmp/cohort-pace.{}", ::getpid());
    Folder() { ::mkdir(path.c_str(), 0700); }
    ~Folder() { (void)!std::system(("rm -rf " + path).c_str()); }
};

Result<Slot> take(const Folder& f, std::uint32_t count, milliseconds patience = milliseconds(0)) {
    return acquire_slot(f.path, count, "n1", steady_clock::now() + patience);
}

// A child that takes a slot, says so, and waits to be killed.
pid_t child_with_slot(const Folder& f, std::uint32_t count) {
    int ready[2];
    unit::expect_equal(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const auto slot = take(f, count, milliseconds(20000));
        (void)!::write(ready[1], slot ? "y" : "n", 1);
        while (true) ::pause();
    }
    char answer = 'n';
    (void)!::read(ready[0], &answer, 1);
    unit::expect_equal(answer, 'y');
    ::close(ready[0]);
    ::close(ready[1]);
    return child;
}

std::vector<unit::Rule> slot_rules() {
    return {
        {"as many as MaxConcurrent, not one more",
         [] {
             const Folder f;
             const auto a = take(f, 2), b = take(f, 2);
             unit::expect(a && b, "two");
             const auto c = take(f, 2);
             unit::expect(!c && c.error().code == Errc::busy, "no third");
             unit::expect_contains(c.error().message, "MaxConcurrent");
             unit::expect_equal(*slots_in_use(f.path, 2), 2U);
         }},
        {"a slot is free again when its owner lets it go",
         [] {
             const Folder f;
             {
                 const auto a = take(f, 1);
                 unit::expect(a.has_value(), "first");
             }
             unit::expect(take(f, 1).has_value(), "second");
             unit::expect_equal(*slots_in_use(f.path, 1), 0U);
         }},
        {"who waits gets a slot as soon as one is free",
         [] {
             const Folder f;
             auto a = take(f, 1);
             std::thread later([&] {
                 std::this_thread::sleep_for(milliseconds(200));
                 a = fail(Errc::failed, "let go");
             });
             const auto b = take(f, 1, milliseconds(20000));
             later.join();
             unit::expect(b.has_value(), "got it");
         }},
        {"each waits as long as it wants, whoever looks at the files for it",
         [] {
             const Folder f;
             auto a = take(f, 1);
             std::thread patient([&] {
                 unit::expect(take(f, 1, milliseconds(60000)).has_value(), "got it in the end");
             });
             std::this_thread::sleep_for(milliseconds(100));
             const auto begin = steady_clock::now();
             const auto c = take(f, 1, milliseconds(300));
             unit::expect(!c && c.error().code == Errc::busy, "in vain");
             unit::expect(steady_clock::now() - begin < std::chrono::seconds(30), "and in time");
             a = fail(Errc::failed, "let go");
             patient.join();
         }},
        {"kill -9 frees the slot of another process",
         [] {
             const Folder f;
             const pid_t child = child_with_slot(f, 1);
             unit::expect(!take(f, 1), "taken");
             ::kill(child, SIGKILL);
             ::waitpid(child, nullptr, 0);
             unit::expect(take(f, 1, milliseconds(20000)).has_value(), "free");
         }},
        {"a child of the owner that lives on does not keep the slot after exec",
         [] {
             const Folder f;
             pid_t sleeper = 0;
             {
                 const auto a = take(f, 1);
                 sleeper = ::fork();
                 if (sleeper == 0) {
                     ::execl("/bin/sleep", "sleep", "30", nullptr);
                     ::_exit(1);
                 }
                 // The exec has happened when the lock can be taken; until then it may be held.
             }
             unit::expect(take(f, 1, milliseconds(20000)).has_value(), "free");
             ::kill(sleeper, SIGKILL);
             ::waitpid(sleeper, nullptr, 0);
         }},
        {"many threads and a smaller number of slots: never too many at once",
         [] {
             const Folder f;
             std::atomic<int> now{0}, most{0}, done{0};
             std::vector<std::thread> threads;
             for (int t = 0; t < 12; ++t)
                 threads.emplace_back([&] {
                     const auto slot = take(f, 3, milliseconds(50000));
                     if (!slot) return;
                     const int n = ++now;
                     int seen = most;
                     while (n > seen && !most.compare_exchange_weak(seen, n)) {
                     }
                     std::this_thread::sleep_for(milliseconds(20));
                     --now;
                     ++done;
                 });
             for (auto& t : threads) t.join();
             unit::expect_equal(done.load(), 12);
             unit::expect(most <= 3, "at most three");
         }},
        {"MaxConcurrent=0 still lets one through",
         [] {
             const Folder f;
             unit::expect(take(f, 0).has_value(), "one");
         }},
        {"a state folder that cannot be used is an error at once, not a wait",
         [] {
             const auto slot =
                 acquire_slot("/proc/cohort", 1, "n1", steady_clock::now() + std::chrono::hours(1));
             unit::expect(!slot && slot.error().code != Errc::busy, "fails");
             unit::expect_contains(slot.error().message, "/proc/cohort");
         }},
        {"no slots folder yet: none in use",
         [] { unit::expect_equal(*slots_in_use("/nonexistent", 5), 0U); }},
    };
}

std::vector<unit::Rule> breaker_rules() {
    return {
        {"closed at first; open, read, close",
         [] {
             const Folder f;
             unit::expect(!read_breaker(f.path), "closed");
             unit::expect(*open_breaker(f.path, {1000, "keystone\nsays no", "cohort-reboot n1"}),
                          "opened");
             const auto b = read_breaker(f.path);
             unit::expect_equal(b->opened, 1000);
             unit::expect_equal(b->reason, "keystone says no");
             unit::expect_equal(b->by, "cohort-reboot n1");
             unit::expect(*close_breaker(f.path), "closed it");
             unit::expect(!read_breaker(f.path), "closed");
             unit::expect(!*close_breaker(f.path), "was closed");
         }},
        {"the first reason is kept",
         [] {
             const Folder f;
             unit::expect(*open_breaker(f.path, {1, "first", "a"}), "opened");
             unit::expect(!*open_breaker(f.path, {2, "second", "b"}), "was open");
             unit::expect_equal(read_breaker(f.path)->reason, "first");
         }},
        {"of many that open it at once exactly one does",
         [] {
             const Folder f;
             std::atomic<int> opened{0};
             std::vector<std::thread> threads;
             for (int t = 0; t < 16; ++t)
                 threads.emplace_back([&, t] {
                     const auto mine = open_breaker(f.path, {t, fmt::format("reason {}", t), "x"});
                     if (mine && *mine) ++opened;
                 });
             for (auto& t : threads) t.join();
             unit::expect_equal(opened.load(), 1);
             const auto b = read_breaker(f.path);
             unit::expect_equal(b->reason, fmt::format("reason {}", b->opened));
         }},
        {"a file that is no JSON counts as open",
         [] {
             const Folder f;
             unit::expect(write_file(f.path + "/breaker", "", 0644).has_value(), "written");
             unit::expect(read_breaker(f.path).has_value(), "open");
         }},
        {"a folder that is not there cannot hold a breaker",
         [] {
             const Folder f;
             unit::expect(!read_breaker(f.path + "/absent"), "closed");
             unit::expect(!open_breaker(f.path + "/absent", {1, "r", "b"}), "cannot open");
         }},
    };
}

}  // namespace

int main() {
    auto all = slot_rules();
    for (auto& rule : breaker_rules()) all.push_back(std::move(rule));
    return unit::run("pace", std::move(all));
}
