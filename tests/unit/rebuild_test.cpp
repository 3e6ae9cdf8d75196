// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/job_submit/rebuild.hpp"

#include "common/rebuild_budget.hpp"
#include "tests/unit/job_submit_fixture.hpp"
#include "tests/unit/unit.hpp"

using namespace cohort;
using namespace fixture;
using unit::expect;
using unit::expect_contains;
using unit::expect_equal;
using unit::Rule;

namespace {

Policy only(std::vector<std::uint32_t> uids) {
    Policy policy;
    policy.configuration = Configuration{};
    policy.configuration->site.rebuild_users = {"somebody"};
    policy.rebuild_uids = std::move(uids);
    return policy;
}

Submission of(std::uint32_t caller, bool trusted = false) {
    Submission job = rebuild("n1");
    job.caller = caller;
    job.trusted = trusted;
    return job;
}

void allow_rules(std::vector<Rule>& rules) {
    const auto rule = [&](std::string words, Submission job, Policy policy, bool allowed) {
        rules.push_back({std::move(words), [=] {
                             const auto got = allow_rebuild(job, policy);
                             expect_equal(got.has_value(), allowed);
                             if (!allowed) expect(got.error().code == Errc::denied, "denied");
                         }});
    };
    Policy open;
    open.configuration = Configuration{};
    rule("without RebuildUsers every Administrator may", of(1000), open, true);
    rule("an Administrator in RebuildUsers may", of(1000), only({7, 1000}), true);
    rule("an Administrator not in RebuildUsers may not", of(1000), only({7}), false);
    rule("RebuildUsers of which no name is known lets no Administrator in", of(1000), only({}),
         false);
    rule("root and SlurmUser may always", of(0, true), only({7}), true);
}

void gate_rules(std::vector<Rule>& rules) {
    const auto rule = [&](std::string words, auto change, std::string complaint) {
        rules.push_back({std::move(words), [=] {
                             Submission job = rebuild("n1");
                             change(job);
                             const auto got = one_node(job, *world().snapshot);
                             if (complaint.empty()) {
                                 expect(got.has_value(), "passes");
                                 expect_equal(*got, std::string("n1"));
                                 return;
                             }
                             expect(!got, "refused");
                             expect_contains(got.error().message, complaint);
                             if (got.error().code == Errc::invalid)
                                 expect_contains(got.error().message, "scohort rebuild -w NODE");
                         }});
    };
    rule(
        "one known node passes", [](Submission&) {}, "");
    rule(
        "the same node named twice is one",
        [](Submission& j) {
            j.nodes = {"n1", "n1"};
        },
        "");
    rule(
        "-N1 beside the node passes", [](Submission& j) { j.min_nodes = 1; }, "");
    rule(
        "no node is refused", [](Submission& j) { j.nodes.clear(); }, "must name its node");
    rule(
        "two nodes are refused",
        [](Submission& j) {
            j.nodes = {"n1", "n2"};
        },
        "exactly one");
    rule(
        "-N2 with one name is refused", [](Submission& j) { j.min_nodes = 2; }, "exactly one");
    rule(
        "an array is refused", [](Submission& j) { j.array = true; }, "array");
    rule(
        "a het component is refused", [](Submission& j) { j.het = true; }, "heterogeneous");
    rule(
        "an unknown node is named", [](Submission& j) { j.nodes = {"n9"}; }, "no node n9");
}

RebuildPlan plan(const Submission& job, const World& w) {
    auto got = plan_rebuild(job, job.nodes[0], w.policy->configuration->site, w);
    expect(got.has_value(), got ? "" : got.error().message);
    return *got;
}

std::string notes(const RebuildPlan& p) {
    std::string all;
    for (const auto& note : p.notes) all += note + "\n";
    return all;
}

void field_rules(std::vector<Rule>& rules) {
    rules.push_back({"what is unset gets the shipped defaults", [] {
                         const auto p = plan(rebuild("n1"), world());
                         expect_equal(p.priority, 0xffff0000U);
                         expect_equal(p.time_limit_minutes.value_or(0), 30U);
                         expect(p.no_requeue, "no requeue");
                         expect_equal(p.qos + p.partition + p.licenses + notes(p), std::string());
                     }});
    rules.push_back({"what the administrator gave stays", [] {
                         Settings settings;
                         settings.rebuild_qos = "rebuild";
                         settings.rebuild_partition = "main";
                         auto job = rebuild("n1");
                         job.priority = 77;
                         job.time_limit_minutes = 5;
                         job.requeue_given = true;
                         job.qos = "mine";
                         job.partition = "main";
                         const auto p = plan(job, world(snapshot(), settings));
                         expect_equal(p.priority, 77U);
                         expect(!p.time_limit_minutes && !p.no_requeue, "left alone");
                         expect_equal(p.qos + p.partition, std::string());
                     }});
    rules.push_back({"his own hold keeps the priority for the release", [] {
                         auto job = rebuild("n1");
                         job.priority = 0;
                         expect(job.held_by_submitter(), "held by him");
                         expect_equal(plan(job, world()).priority, 0xffff0000U);
                     }});
    rules.push_back({"a time limit never passes the partition's", [] {
                         auto s = snapshot();
                         s.partitions[0].max_time_minutes = 10;
                         const auto p = plan(rebuild("n1"), world(s));
                         expect_equal(p.time_limit_minutes.value_or(0), 10U);
                     }});
    rules.push_back({"RebuildTime is rounded up to minutes", [] {
                         Settings settings;
                         settings.rebuild_time = std::chrono::seconds(61);
                         const auto p = plan(rebuild("n1"), world(snapshot(), settings));
                         expect_equal(p.time_limit_minutes.value_or(0), 2U);
                     }});
    rules.push_back({"RebuildLicense is added to what was asked for", [] {
                         Settings settings;
                         settings.rebuild_license = "rebuild:1";
                         auto job = rebuild("n1");
                         expect_equal(plan(job, world(snapshot(), settings)).licenses,
                                      std::string("rebuild:1"));
                         job.licenses = "x:2";
                         expect_equal(plan(job, world(snapshot(), settings)).licenses,
                                      std::string("x:2,rebuild:1"));
                     }});
}

struct PartitionCase {
    std::string words;
    std::vector<Partition> partitions;  // beside main (default, tier 1)
    std::string wanted;                 // RebuildPartition
    bool preemption;
    std::string chosen;  // "" = left unset
    std::string note;
};

void partition_rules(std::vector<Rule>& rules) {
    const std::vector<std::string> all = {"n1", "n2", "n3", "n4"};
    auto low = partition("low", all, 1), off = partition("quiet", all, 1);
    off.preempts = false;
    auto down = partition("admin", all, 1);
    down.up = false;
    const std::vector<PartitionCase> cases = {
        {"RebuildPartition is set when it holds the node",
         {partition("admin", all, 5)},
         "admin",
         false,
         "admin",
         ""},
        {"one that does not hold the node is not",
         {partition("admin", {"n2"}, 5)},
         "admin",
         false,
         "",
         "does not hold n1"},
        {"an unknown one is not", {}, "admin", false, "", "no such partition"},
        {"one that is DOWN is not", {down}, "admin", false, "", "not UP"},
        {"one of a higher tier that could preempt is not",
         {partition("admin", all, 5)},
         "admin",
         true,
         "",
         "preempt running jobs of partition main"},
        {"a higher tier over other nodes only preempts nobody here",
         {partition("admin", {"n1"}, 1)},
         "admin",
         true,
         "admin",
         ""},
        {"without RebuildPartition the default stays",
         {partition("admin", all, 5)},
         "",
         true,
         "",
         ""},
    };
    for (const auto& c : cases)
        rules.push_back({c.words, [c] {
                             auto s = snapshot();
                             s.config.preempt_type = "preempt/partition_prio";
                             s.config.preemption = c.preemption;
                             for (const auto& p : c.partitions) s.partitions.push_back(p);
                             Settings settings;
                             settings.rebuild_partition = c.wanted;
                             const auto p = plan(rebuild("n1"), world(s, settings));
                             expect_equal(p.partition, c.chosen);
                             expect_contains(notes(p), c.note);
                         }});
    rules.push_back(
        {"a default partition that could preempt gives way to the best that cannot", [=] {
             auto s = snapshot();
             s.config.preempt_type = "preempt/partition_prio";
             s.config.preemption = true;
             s.partitions[0].priority_tier = 10;
             s.partitions.push_back(partition("low", all, 2));
             s.partitions.push_back(partition("lowest", {"n2"}, 1));
             expect_equal(plan(rebuild("n1"), world(s)).partition, std::string("low"));
         }});
    rules.push_back({"a lower tier with PreemptMode=OFF is no victim", [=] {
                         auto s = snapshot();
                         s.config.preempt_type = "preempt/partition_prio";
                         s.config.preemption = true;
                         s.partitions[0].priority_tier = 10;
                         s.partitions.push_back(off);
                         expect_equal(plan(rebuild("n1"), world(s)).partition, std::string());
                     }});
    rules.push_back({"a default partition without the node gives way to one with it", [=] {
                         auto s = snapshot();
                         s.partitions[0].nodes = {"n2"};
                         s.partitions.push_back(partition("gpu", {"n1"}, 1));
                         expect_equal(plan(rebuild("n1"), world(s)).partition, std::string("gpu"));
                     }});
    rules.push_back({"a node in no partition is refused", [] {
                         auto s = snapshot();
                         s.partitions[0].nodes = {"n2"};
                         const auto w = world(s);
                         const auto got = plan_rebuild(rebuild("n1"), "n1", Settings{}, w);
                         expect(!got, "refused");
                         expect_contains(got.error().message, "in no partition");
                     }});
}

struct QosCase {
    std::string words;
    std::optional<std::vector<Qos>> known;
    std::string preempt_type;
    bool within_everywhere;
    std::string qos;         // what is set
    std::uint32_t priority;  // what is set
};

void qos_rules(std::vector<Rule>& rules) {
    const std::uint32_t top = 0xffff0000;
    const std::vector<QosCase> cases = {
        {"RebuildQos is set where QOS do not preempt", {}, "preempt/none", false, "rebuild", top},
        {"and with preempt/qos when it is known not to preempt",
         {{{"rebuild", false, false}}},
         "preempt/qos",
         false,
         "rebuild",
         top},
        {"not when it preempts", {{{"rebuild", true, false}}}, "preempt/qos", false, "", top},
        {"not when Slurm does not know it",
         {{{"normal", false, false}}},
         "preempt/qos",
         false,
         "",
         top},
        {"not when nothing is known, and no priority either", {}, "preempt/qos", false, "", 0},
        {"PreemptMode=WITHIN: no priority that would preempt",
         {{{"rebuild", false, false}}},
         "preempt/qos",
         true,
         "rebuild",
         0},
        {"WITHIN in another QOS does not matter to a RebuildQos without it",
         {{{"rebuild", false, false}, {"normal", false, true}}},
         "preempt/qos",
         false,
         "rebuild",
         top},
        {"WITHIN in its own QOS: no priority",
         {{{"rebuild", false, true}}},
         "preempt/qos",
         false,
         "rebuild",
         0},
    };
    for (const auto& c : cases)
        rules.push_back({c.words, [c] {
                             auto s = snapshot();
                             s.config.preempt_type = c.preempt_type;
                             s.config.preemption = true;
                             s.config.preempt_within = c.within_everywhere;
                             Settings settings;
                             settings.rebuild_qos = "rebuild";
                             auto w = world(s, settings);
                             w.qos = c.known;
                             const auto p = plan(rebuild("n1"), w);
                             expect_equal(p.qos, c.qos);
                             expect_equal(p.priority, c.priority);
                             expect_equal(p.notes.empty(), c.qos == "rebuild" && c.priority != 0);
                         }});
}

void limit_rules(std::vector<Rule>& rules) {
    struct Case {
        std::string words, parameters;
        std::uint32_t setting, limit;
    };
    const std::vector<Case> cases = {
        {"the shipped limit holds with Slurm's defaults", "", 20, 20},
        {"at most a quarter of default_queue_depth", "", 80, 25},
        {"a small default_queue_depth lowers it", "default_queue_depth=16", 20, 4},
        {"a small bf_max_job_test lowers it", "bf_interval=2,bf_max_job_test=40", 20, 10},
        {"never below one", "default_queue_depth=1", 20, 1},
        {"what is no number is Slurm's to complain of", "default_queue_depth=x", 20, 20},
    };
    for (const auto& c : cases)
        rules.push_back(
            {c.words, [c] {
                 Settings settings;
                 settings.max_pending_rebuilds = c.setting;
                 expect_equal(pending_limit(settings.max_pending_rebuilds, c.parameters), c.limit);
             }});
    rules.push_back({"only an idle node that takes jobs could start one", [] {
                         Node n = node("n1");
                         expect(could_start(n), "idle");
                         n.state.drain = true;
                         expect(!could_start(n), "drained");
                         n = node("n1", NodeState::Base::mixed);
                         expect(!could_start(n), "a rebuild job is exclusive");
                         n = node("n1", NodeState::Base::down);
                         expect(!could_start(n), "down");
                     }});
    rules.push_back({"what counts against MaxConcurrent", [] {
                         Node n = node("n1");
                         expect(counts_as_started(n), "idle");
                         n.state.not_responding = true;
                         expect(counts_as_started(n), "idle, a ping was missed");
                         n = node("n1");
                         n.state.power_saving = true;
                         expect(counts_as_started(n), "idle, powered down");
                         n = node("n1", NodeState::Base::unknown);
                         expect(counts_as_started(n), "not registered yet");
                         n = node("n1", NodeState::Base::allocated);
                         expect(!counts_as_started(n), "a user's job runs");
                         n.state.powering_up = true;
                         expect(counts_as_started(n), "a rebuild job has it since");
                         n = node("n1");
                         n.state.drain = true;
                         expect(!counts_as_started(n), "drained");
                         n = node("n1", NodeState::Base::down);
                         expect(!counts_as_started(n), "down");
                     }});
}

}  // namespace

int main() {
    std::vector<Rule> rules;
    allow_rules(rules);
    gate_rules(rules);
    field_rules(rules);
    partition_rules(rules);
    qos_rules(rules);
    limit_rules(rules);
    return unit::run("rebuild", rules);
}
