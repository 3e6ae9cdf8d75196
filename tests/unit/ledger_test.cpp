// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/job_submit/ledger.hpp"

#include <atomic>
#include <thread>

#include "tests/unit/unit.hpp"

using namespace cohort;
using std::chrono::milliseconds;
using unit::expect;
using unit::expect_contains;
using unit::expect_equal;
using unit::Rule;

namespace {

RebuildLedger::Time at(int ms) {
    return RebuildLedger::Time(milliseconds(1000000 + ms));
}

RebuildLedger::Request request(const std::string& node) {
    RebuildLedger::Request r;
    r.node = node;
    r.counts_as_started = [](const std::string&) { return true; };
    return r;
}

bool admits(RebuildLedger& ledger, const std::string& node, int ms) {
    return ledger.admit(request(node), at(ms)).has_value();
}

std::string held(RebuildLedger& ledger, const RebuildLedger::Request& r, int ms = 0) {
    const auto got = ledger.admit(r, at(ms));
    expect(got.has_value(), got ? "" : got.error().message);
    return *got;
}

void second_job_rules(std::vector<Rule>& rules) {
    rules.push_back({"a second one for a node is refused before Slurm shows the first", [] {
                         RebuildLedger ledger;
                         expect(admits(ledger, "n1", 0), "the first");
                         const auto second = ledger.admit(request("n1"), at(1));
                         expect(!second && second.error().code == Errc::busy, "refused for now");
                         expect(admits(ledger, "n2", 2), "another node");
                     }});
    rules.push_back({"and afterwards, with the job's number", [] {
                         RebuildLedger ledger;
                         ledger.observe(at(0), {{12, "n1", false, true}}, {0});
                         const auto second = ledger.admit(request("n1"), at(1));
                         expect(!second && second.error().code == Errc::failed, "refused");
                         expect_contains(second.error().message, "job 12 (pending)");
                     }});
    rules.push_back({"a held job counts as well", [] {
                         RebuildLedger ledger;
                         ledger.observe(at(0), {{12, "n1", true, true}}, {0});
                         expect(!admits(ledger, "n1", 1), "refused");
                     }});
    rules.push_back({"seen and then gone: the next is accepted at once", [] {
                         RebuildLedger ledger;
                         expect(admits(ledger, "n1", 0), "the first");
                         ledger.observe(at(100), {{12, "n1", false, true}}, {0});
                         expect(!admits(ledger, "n1", 200), "while it is there");
                         ledger.observe(at(600), {}, {});
                         expect(admits(ledger, "n1", 700), "after it was cancelled");
                     }});
    rules.push_back({"a reading that began before the submission says nothing of it", [] {
                         RebuildLedger ledger;
                         expect(admits(ledger, "n1", 100), "the first");
                         ledger.observe(at(100), {}, {});
                         ledger.observe(at(50), {}, {});
                         expect(!admits(ledger, "n1", 110), "still there");
                     }});
    rules.push_back({"one that began soon after may not show it yet", [] {
                         RebuildLedger ledger;
                         expect(admits(ledger, "n1", 0), "the first");
                         ledger.observe(at(4900), {}, {});
                         expect(!admits(ledger, "n1", 4950), "still there");
                     }});
    rules.push_back({"one that began 5 s after and does not show it ends the entry", [] {
                         RebuildLedger ledger;
                         expect(admits(ledger, "n1", 0), "the first");
                         ledger.observe(at(5001), {}, {});
                         expect(admits(ledger, "n1", 5002), "failed, a test, or cancelled");
                     }});
    rules.push_back({"of 32 at once exactly one passes", [] {
                         RebuildLedger ledger;
                         std::atomic<int> accepted{0};
                         std::vector<std::thread> all;
                         for (int i = 0; i < 32; ++i)
                             all.emplace_back([&] { accepted += admits(ledger, "n1", 0); });
                         for (auto& one : all) one.join();
                         expect_equal(accepted.load(), 1);
                     }});
}

void hold_rules(std::vector<Rule>& rules) {
    rules.push_back({"the one above MaxPendingRebuilds is held, the one below is not", [] {
                         RebuildLedger ledger;
                         auto r = request("n1");
                         r.max_pending = 2;
                         expect_equal(held(ledger, r), std::string());
                         r.node = "n2";
                         expect_equal(held(ledger, r), std::string());
                         r.node = "n3";
                         expect_equal(held(ledger, r), std::string("pending"));
                         r.node = "n4";
                         expect_equal(held(ledger, r), std::string("pending"));
                     }});
    rules.push_back({"held and running jobs do not count as pending", [] {
                         RebuildLedger ledger;
                         ledger.observe(at(0), {{1, "a", true, true}, {2, "b", false, false}}, {0});
                         auto r = request("n1");
                         r.max_pending = 1;
                         expect_equal(held(ledger, r, 1), std::string());
                     }});
    rules.push_back(
        {"started jobs and those on idle nodes together reach MaxConcurrent", [] {
             RebuildLedger ledger;
             ledger.observe(at(0), {{1, "a", false, false}, {2, "idle", false, true}}, {0});
             auto r = request("n1");
             r.max_concurrent = 3;
             expect_equal(held(ledger, r, 1), std::string());
             r.node = "n2";
             expect_equal(held(ledger, r, 1), std::string("concurrent"));
         }});
    rules.push_back({"pending ones on busy nodes do not count there", [] {
                         RebuildLedger ledger;
                         ledger.observe(at(0), {{1, "busy", false, true}}, {0});
                         auto r = request("n1");
                         r.counts_as_started = [](const std::string& n) { return n != "busy"; };
                         r.max_concurrent = 1;
                         expect_equal(held(ledger, r, 1), std::string());
                     }});
    rules.push_back({"with a license Slurm counts, not we", [] {
                         RebuildLedger ledger;
                         ledger.observe(at(0), {{1, "a", false, false}}, {0});
                         auto r = request("n1");
                         r.max_concurrent.reset();
                         expect_equal(held(ledger, r, 1), std::string());
                     }});
    rules.push_back({"an open breaker holds everything", [] {
                         RebuildLedger ledger;
                         auto r = request("n1");
                         r.breaker_open = true;
                         expect_equal(held(ledger, r), std::string("breaker"));
                     }});
    rules.push_back({"the administrator's own hold is not ours and takes no place", [] {
                         RebuildLedger ledger;
                         auto r = request("n1");
                         r.breaker_open = r.held_by_submitter = true;
                         expect_equal(held(ledger, r), std::string());
                         r = request("n2");
                         r.max_pending = 1;
                         expect_equal(held(ledger, r), std::string());
                     }});
    rules.push_back({"owners of rebuild jobs are remembered, so that their jobs are read", [] {
                         RebuildLedger ledger;
                         auto r = request("n1");
                         r.owner = 42;
                         held(ledger, r);
                         ledger.observe(at(1), {}, {7});
                         expect(ledger.owners() == std::vector<std::uint32_t>{7, 42}, "both");
                     }});
}

}  // namespace

int main() {
    std::vector<Rule> rules;
    second_job_rules(rules);
    hold_rules(rules);
    return unit::run("ledger", rules);
}
