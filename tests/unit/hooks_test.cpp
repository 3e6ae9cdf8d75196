// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/job_submit/hooks.hpp"

#include "common/rebuild_mark.hpp"
#include "plugins/job_submit/hook_times.hpp"
#include "tests/unit/job_submit_fixture.hpp"
#include "tests/unit/unit.hpp"

using namespace cohort;
using namespace fixture;
using unit::expect;
using unit::expect_contains;
using unit::expect_equal;
using unit::Rule;

namespace {

const Clock::time_point taken(std::chrono::hours(1));

// The hooks over one world, as the plugin has them.
struct Plugin {
    Published<World> world;
    RebuildLedger ledger;
    int woken = 0;
    Hooks hooks{world, ledger, [this] { ++woken; }};

    explicit Plugin(World w = fixture::world()) {
        world.set(std::make_shared<World>(std::move(w)));
    }
    Result<RebuildDecision> submit(const Submission& job) {
        return hooks.submit_rebuild(job, taken + std::chrono::seconds(1));
    }
};

void refused(const Result<RebuildDecision>& got, Errc code, const std::string& words) {
    expect(!got, "refused");
    expect(got.error().code == code, "its kind: " + got.error().message);
    expect_contains(got.error().message, words);
}

void readiness_rules(std::vector<Rule>& rules) {
    rules.push_back({"without a configuration: refused with the reason", [] {
                         World w = world();
                         Policy policy;
                         policy.fault = "/etc/slurm/cohort.conf, line 3: unknown key X";
                         w.policy = std::make_shared<Policy>(policy);
                         refused(Plugin(w).submit(rebuild("n1")), Errc::denied, "line 3");
                     }});
    rules.push_back({"cold: come again", [] {
                         World w = world();
                         w.snapshot.reset();
                         refused(Plugin(w).submit(rebuild("n1")), Errc::busy, "few seconds");
                     }});
    rules.push_back({"stale: come again", [] {
                         Plugin plugin;
                         const auto got = plugin.hooks.submit_rebuild(
                             rebuild("n1"), taken + std::chrono::seconds(31));
                         refused(got, Errc::busy, "31 s ago");
                     }});
    rules.push_back(
        {"StaleAfter is the site's", [] {
             Settings settings;
             settings.stale_after = std::chrono::seconds(60);
             Plugin plugin(world(snapshot(), settings));
             expect(plugin.hooks.submit_rebuild(rebuild("n1"), taken + std::chrono::seconds(59))
                        .has_value(),
                    "accepted");
         }});
}

void decision_rules(std::vector<Rule>& rules) {
    rules.push_back({"an accepted job is marked and wakes the thread", [] {
                         Plugin plugin;
                         const auto got = plugin.submit(rebuild("n1"));
                         expect(got.has_value(), "accepted");
                         const auto mark = parse_mark(got->admin_comment);
                         expect(mark == RebuildMark{"n1", 0xffff0000, ""}, got->admin_comment);
                         expect(got->set_priority && got->priority == 0xffff0000, "on top");
                         expect_equal(got->tell + got->held, std::string());
                         expect_equal(plugin.woken, 1);
                     }});
    rules.push_back({"a second one is refused and wakes nobody", [] {
                         Plugin plugin;
                         expect(plugin.submit(rebuild("n1")).has_value(), "the first");
                         refused(plugin.submit(rebuild("n1")), Errc::busy, "n1");
                         expect_equal(plugin.woken, 1);
                     }});
    rules.push_back({"a refused job leaves no entry", [] {
                         Plugin plugin;
                         auto array = rebuild("n1");
                         array.array = true;
                         refused(plugin.submit(array), Errc::invalid, "array");
                         expect(plugin.submit(rebuild("n1")).has_value(), "the next");
                     }});
    rules.push_back({"what we hold has priority 0, and its own in the mark", [] {
                         World w = world();
                         w.breaker_open = true;
                         const auto got = Plugin(w).submit(rebuild("n1"));
                         expect(got.has_value(), "accepted");
                         expect(got->set_priority && got->priority == 0, "held");
                         expect(parse_mark(got->admin_comment) ==
                                    RebuildMark{"n1", 0xffff0000, "breaker"},
                                got->admin_comment);
                         expect_contains(got->tell, "scohort advance");
                     }});
    rules.push_back({"a hold of his own stays his", [] {
                         auto job = rebuild("n1");
                         job.priority = 0;
                         const auto got = Plugin().submit(job);
                         expect(got.has_value(), "accepted");
                         expect(!got->set_priority && got->held.empty(), "left alone");
                         expect(parse_mark(got->admin_comment) == RebuildMark{"n1", 0xffff0000, ""},
                                got->admin_comment);
                     }});
    rules.push_back({"scohort's own job carries its rollout, and the hold is ours", [] {
                         auto job = rebuild("n1");
                         job.trusted = true;
                         job.priority = 0;
                         job.admin_comment = write_ask({3, false});
                         const auto got = Plugin().submit(job);
                         expect(got.has_value(), "accepted");
                         expect(parse_mark(got->admin_comment) ==
                                    RebuildMark{"n1", 0xffff0000, "rollout", 3},
                                got->admin_comment);
                         expect(!parse_ask(got->admin_comment).has_value(), "the question is gone");
                     }});
    rules.push_back({"nobody else's can say that it belongs to a rollout", [] {
                         auto job = rebuild("n1");
                         job.trusted = false;
                         job.priority = 0;
                         job.admin_comment = write_ask({3, false});
                         const auto got = Plugin().submit(job);
                         expect(parse_mark(got->admin_comment) == RebuildMark{"n1", 0xffff0000, ""},
                                got->admin_comment);
                     }});
    rules.push_back({"a test by scohort is judged like a job and leaves nothing behind", [] {
                         Plugin plugin;
                         auto test = rebuild("n1");
                         test.trusted = true;
                         test.admin_comment = write_ask({3, true});
                         expect(plugin.submit(test).has_value(), "would be accepted");
                         expect_equal(plugin.woken, 0);
                         expect(plugin.submit(rebuild("n1")).has_value(), "the job itself");
                         refused(plugin.submit(test), Errc::busy, "n1");
                     }});
    rules.push_back({"his own admin comment is kept beside the mark", [] {
                         auto job = rebuild("n1");
                         job.admin_comment = "ticket 12";
                         const auto got = Plugin().submit(job);
                         expect_contains(got->admin_comment, "ticket 12");
                         expect(parse_mark(got->admin_comment).has_value(), "marked");
                     }});
    rules.push_back({"MaxConcurrent holds what idle nodes would start at once", [] {
                         Settings settings;
                         settings.max_concurrent = 2;
                         Plugin plugin(world(snapshot(), settings));
                         for (const char* n : {"n1", "n2"})
                             expect_equal(plugin.submit(rebuild(n))->held, std::string());
                         const auto third = plugin.submit(rebuild("n3"));
                         expect_equal(third->held, std::string("concurrent"));
                         expect_contains(third->tell, "MaxConcurrent=2");
                     }});
    rules.push_back({"RebuildLicense leaves the concurrency to Slurm", [] {
                         Settings settings;
                         settings.max_concurrent = 1;
                         settings.rebuild_license = "rebuild";
                         Plugin plugin(world(snapshot(), settings));
                         expect_equal(plugin.submit(rebuild("n1"))->held, std::string());
                         expect_equal(plugin.submit(rebuild("n2"))->held, std::string());
                     }});
}

void modify_rules(std::vector<Rule>& rules) {
    const auto rule = [&](std::string words, auto make, bool allowed) {
        rules.push_back({std::move(words), [=] {
                             Plugin plugin;
                             plugin.ledger.observe(taken, {{12, "n1", false, true}}, {0});
                             Change change;
                             change.caller = 1000;
                             change.job_id = 12;
                             make(change);
                             expect_equal(plugin.hooks.modify(change).has_value(), allowed);
                         }});
    };
    using C = Change;
    using Names = std::vector<std::string>;
    const std::string mark = write_mark("", {"n1", 1, ""});
    const std::string other = write_mark("", {"n2", 1, ""});
    rule(
        "a change that moves nothing passes", [](C&) {}, true);
    rule(
        "its own node again passes", [](C& c) { c.nodes = Names{"n1"}; }, true);
    rule(
        "another node is refused", [](C& c) { c.nodes = Names{"n2"}; }, false);
    rule(
        "no node at all is refused", [](C& c) { c.nodes = Names{}; }, false);
    rule(
        "two nodes are refused", [](C& c) { c.min_nodes = 2; }, false);
    rule(
        "root and SlurmUser may",
        [](C& c) {
            c.nodes = Names{"n2"};
            c.trusted = true;
        },
        true);
    rule(
        "other jobs are not looked at",
        [](C& c) {
            c.job_id = 13;
            c.nodes = Names{"n2"};
        },
        true);
    rule(
        "nobody makes another job one by a comment",
        [=](C& c) {
            c.job_id = 13;
            c.admin_comment = mark;
        },
        false);
    rule(
        "nor turns one into one for another node", [=](C& c) { c.admin_comment = other; }, false);
    rule(
        "its own mark may be written again", [=](C& c) { c.admin_comment = mark; }, true);
    rule(
        "another comment passes",
        [](C& c) {
            c.job_id = 13;
            c.admin_comment = "x";
        },
        true);
}

void time_rules(std::vector<Rule>& rules) {
    using std::chrono::microseconds;
    rules.push_back({"times of hooks: median and 99 % are at most a fifth too high", [] {
                         HookTimes times;
                         expect_equal(times.summary().calls, std::uint64_t{0});
                         expect(times.summary().p99_us == 0, "nothing measured");
                         for (int i = 0; i < 98; ++i) times.add(microseconds(10));
                         for (int i = 0; i < 2; ++i) times.add(microseconds(900));
                         const auto sum = times.summary();
                         expect_equal(sum.calls, std::uint64_t{100});
                         expect(sum.median_us >= 10 && sum.median_us < 12.5, "median");
                         expect(sum.p99_us >= 900 && sum.p99_us <= sum.max_us, "99 %");
                         expect(sum.max_us > 899 && sum.max_us < 901, "the longest");
                         expect(sum.seconds > 0.00277 && sum.seconds < 0.00279, "all together");
                         times.add(std::chrono::hours(10));
                         times.add(microseconds(0));
                         expect_equal(times.summary().calls, std::uint64_t{102});
                     }});
}

}  // namespace

int main() {
    std::vector<Rule> rules;
    time_rules(rules);
    readiness_rules(rules);
    decision_rules(rules);
    modify_rules(rules);
    return unit::run("hooks", rules);
}
