// SPDX-License-Identifier: GPL-2.0-or-later
//
// The guard in the plugin: what the hooks write into a job, and what the thread does for it.
#include "plugins/job_submit/guard/guard_hooks.hpp"

#include <algorithm>

#include "plugins/job_submit/guard/caretaker.hpp"
#include "plugins/job_submit/guard/same_update.hpp"
#include "tests/unit/guard_world.hpp"
#include "tests/unit/unit.hpp"

using namespace cohort;
using guard::Request;
using Small = ::World;  // of the tests; the plugin's is cohort::World

namespace {

Clock::time_point now(std::chrono::hours(1));

const guard::ExpandHosts expand = [](std::string_view list) -> Result<std::vector<std::string>> {
    return text::split(list, ',');
};

// A cluster of which the thread reads and which it changes.
struct Fake final : ClusterSource {
    Small world;
    std::vector<Job> queue;
    int loads = 0, feature_writes = 0;

    explicit Fake(Small w) : world(std::move(w)) {}
    bool active() override { return true; }
    Result<ControllerConfig> config() override { return ControllerConfig{}; }
    Result<std::vector<Node>> nodes() override { return world.snapshot.nodes; }
    Result<std::vector<Partition>> partitions() override { return world.snapshot.partitions; }
    Result<std::vector<Reservation>> reservations() override { return std::vector<Reservation>{}; }
    Result<std::vector<Qos>> qos() override { return std::vector<Qos>{}; }
    Result<std::vector<Job>> jobs() override {
        ++loads;
        return queue;
    }
    Result<std::vector<Job>> jobs_of(std::uint32_t) override { return queue; }
    Result<Node> node(const std::string& name) override { return *world.snapshot.node(name); }
    Status write_features(const std::vector<std::string>& names,
                          const std::string& features) override {
        ++feature_writes;
        for (auto& node : world.snapshot.nodes)
            if (std::find(names.begin(), names.end(), node.name) != names.end())
                node.features = node.active_features = features;
        return {};
    }
    Status change_job(const guard::JobChange& change) override {
        for (auto& job : queue) {
            if (job.id_text != change.id) continue;
            if (change.features) job.features = *change.features;
            if (change.admin_comment) job.admin_comment = *change.admin_comment;
            if (change.hold) job.priority = 0;
            if (change.release) job.priority = 100;
        }
        return {};
    }
    std::shared_ptr<const Snapshot> snapshot() const {
        auto copy = std::make_shared<Snapshot>(world.snapshot);
        copy->started = now;
        return copy;
    }
};

Small mixed() {
    return Small("n1:a n2:a n3:b n4:b", "main=n1,n2,n3,n4");
}

Small uniform() {
    return Small("n1:a n2:a", "main=n1,n2");
}

Policy policy() {
    Policy p;
    p.configuration = Configuration{};
    return p;
}

Job pending(std::uint32_t id, const std::string& features = "") {
    Job job;
    job.id = id;
    job.id_text = fmt::format("{}", id);
    job.user_id = 1000;
    job.partition = "main";
    job.features = features;
    job.min_nodes = job.max_nodes = 2;
    job.priority = 100;
    job.pending = true;
    return job;
}

Request two_nodes() {
    Request request;
    request.min_nodes = request.max_nodes = 2;
    return request;
}

struct Bench {
    Fake source;
    GuardCaretaker caretaker{source, 991, [] { return now; }};
    Published<cohort::World> published;
    bool live = true;  // slurmctld has the labels among its features
    GuardHooks hooks{published, expand, [this](const auto&) { return live; }};

    explicit Bench(Small world) : source(std::move(world)) {}

    void look() { caretaker.look(source.snapshot(), policy()); }
    void publish() {
        auto next = std::make_shared<cohort::World>();
        next->policy = std::make_shared<const Policy>(policy());
        next->snapshot = source.snapshot();
        next->guard = caretaker.world();
        published.set(next);
        caretaker.published();
    }
    // Steps of half a second.
    void run(int steps) {
        for (int i = 0; i < steps; ++i) {
            look();
            caretaker.work(policy(), false);
            publish();
            now += std::chrono::milliseconds(500);
        }
    }
};

}  // namespace

int main() {
    return unit::run(
        "guard hooks",
        {
            {"features that slurmctld has just lost are not named: held, judged a moment later",
             [] {
                 Bench bench(mixed());
                 bench.run(1);
                 bench.live = false;
                 const auto answer = bench.hooks.submit(two_nodes(), {}, "", false, now);
                 unit::expect(answer.hold && !answer.refused && !answer.features, "held");
                 unit::expect(bench.hooks.take_cold_holds(), "and the thread looks for it");
                 Bench same(uniform());
                 same.run(1);
                 same.live = false;
                 unit::expect(!same.hooks.submit(two_nodes(), {}, "", false, now).hold,
                              "where nothing is to be bound it does not matter");
             }},
            {"a bound job gets its features, the mark, and one line for its user",
             [] {
                 Bench bench(mixed());
                 bench.run(1);
                 const auto answer = bench.hooks.submit(two_nodes(), {}, "site", false, now);
                 unit::expect_equal(shorten(*answer.features), std::string("[rev_a|rev_b]"));
                 unit::expect(
                     guard::parse_guard_mark(*answer.admin_comment)->now == *answer.features,
                     "mark");
                 unit::expect_contains(answer.message, "cohort main");
                 unit::expect(!answer.hold && !answer.refused, "neither held nor refused");
             }},
            {"cold: held with a mark, and found and released by the thread when warm",
             [] {
                 Bench bench(mixed());
                 bench.publish();
                 const auto answer = bench.hooks.submit(two_nodes(), {}, "", false, now);
                 unit::expect(answer.hold && bench.hooks.take_cold_holds(), "held");
                 unit::expect(!bench.hooks.take_cold_holds(), "told once");
                 auto job = pending(1);
                 job.priority = 0;
                 job.admin_comment = *answer.admin_comment;
                 bench.source.queue = {job};
                 bench.run(8);
                 unit::expect(!bench.source.queue[0].held(), "released");
                 unit::expect_equal(shorten(bench.source.queue[0].features),
                                    std::string("[rev_a|rev_b]"));
             }},
            {"a uniform cluster costs no reading of jobs, but a job held while cold is found",
             [] {
                 Bench bench(uniform());
                 bench.run(10);
                 unit::expect_equal(bench.source.loads, 0);
                 auto job = pending(1);
                 job.priority = 0;
                 guard::Mark mark;
                 mark.held = "cold";
                 job.admin_comment = guard::write_guard_mark("", mark);
                 bench.caretaker.expect_held_job();
                 bench.run(4);
                 bench.source.queue = {job};  // Slurm took two seconds to create it
                 bench.run(20);
                 unit::expect(!bench.source.queue[0].held(), "released");
                 unit::expect(bench.source.queue[0].admin_comment.empty(), "no mark left");
                 const int loads = bench.source.loads;
                 bench.run(10);
                 unit::expect_equal(bench.source.loads, loads);
             }},
            {"stale: held; off, or no configuration: nothing is done",
             [] {
                 Bench bench(mixed());
                 bench.run(1);
                 const auto late = now + std::chrono::seconds(60);
                 unit::expect(bench.hooks.submit(two_nodes(), {}, "", false, late).hold, "stale");
                 auto off = std::make_shared<cohort::World>(*bench.published.get());
                 off->guard.off = true;
                 bench.published.set(off);
                 unit::expect(!bench.hooks.submit(two_nodes(), {}, "", false, now).features, "off");
                 auto none = std::make_shared<cohort::World>();
                 none->policy = std::make_shared<const Policy>();
                 bench.published.set(none);
                 unit::expect(!bench.hooks.submit(two_nodes(), {}, "", false, now).hold,
                              "no policy");
             }},
            {"lost features are put back in one update per list",
             [] {
                 Bench bench(mixed());
                 for (auto& node : bench.source.world.snapshot.nodes)
                     node.features = node.active_features = "gpu";
                 bench.look();
                 unit::expect_equal(bench.source.feature_writes, 2);
                 unit::expect(bench.caretaker.labels_are_there(), "canary");
                 bench.look();
                 unit::expect_equal(bench.source.feature_writes, 2);
                 bench.source.world.snapshot.nodes[0].active_features = "gpu";
                 unit::expect(!bench.caretaker.labels_are_there(), "canary sees the loss");
             }},
            {"the queue is bound at SweepRate, and nothing else is done to it",
             [] {
                 Bench bench(mixed());
                 for (std::uint32_t i = 1; i <= 50; ++i) bench.source.queue.push_back(pending(i));
                 bench.run(1);
                 const auto bound = [&] {
                     return std::count_if(bench.source.queue.begin(), bench.source.queue.end(),
                                          [](const Job& job) { return !job.features.empty(); });
                 };
                 unit::expect_equal(bound(), 10);
                 bench.run(8);
                 unit::expect_equal(bound(), 50);
             }},
            {"a node is open when the hooks judge by its attempt and the queue was found bound",
             [] {
                 Bench bench(uniform());
                 bench.run(4);
                 unit::expect(bench.caretaker.open_nodes().empty(), "no attempt");
                 for (std::uint32_t i = 1; i <= 30; ++i) bench.source.queue.push_back(pending(i));
                 auto& node = bench.source.world.snapshot.nodes[0];
                 node.record.revision.clear();
                 node.record.want = Want{};
                 bench.look();
                 bench.caretaker.work(policy(), false);
                 unit::expect(bench.caretaker.open_nodes().empty(), "not published");
                 bench.run(2);
                 unit::expect(bench.caretaker.open_nodes().empty(), "half of the queue is bare");
                 bench.run(10);
                 unit::expect(std::ranges::none_of(
                                  bench.source.queue,
                                  [](const Job& j) { return j.features.empty() && !j.held(); }),
                              "bound or held");
                 unit::expect_equal(text::join(bench.caretaker.open_nodes(), ","), node.name);
                 node.record.revision = bench.source.world.snapshot.nodes[1].record.revision;
                 node.record.want.reset();
                 bench.run(1);
                 unit::expect(bench.caretaker.open_nodes().empty(), "the attempt is over");
             }},
            {"without a guard a node is open at once",
             [] {
                 Bench bench(Small("n1:- n2:- n3:-", "main=n1,n2,n3"));
                 bench.source.world.snapshot.nodes[0].record.want = Want{};
                 bench.run(2);
                 unit::expect_equal(bench.caretaker.open_nodes().size(), 1UL);
                 unit::expect_equal(bench.source.loads, 0);
             }},
            {"a change is judged with what the thread knows of the job",
             [] {
                 Bench bench(mixed());
                 bench.source.queue = {pending(7)};
                 bench.run(4);
                 guard::PlacementChange change;
                 change.features = "";
                 auto answer = bench.hooks.modify("7", change, {}, now);
                 unit::expect_equal(shorten(answer.features.value_or("")),
                                    std::string("[rev_a|rev_b]"));
                 change = {};
                 change.required = {{"n1", "n3"}};
                 unit::expect(bench.hooks.modify("7", change, {}, now).refused, "spans");
                 const auto marks = bench.hooks.take_marks();
                 unit::expect(marks.contains("7") && !marks.contains("8"), "what came of it");
                 unit::expect_equal(marks.at("7").now, *answer.features);
                 unit::expect_equal(marks.at("7").features, std::string());
                 unit::expect(bench.hooks.take_marks().empty(), "told once");
                 unit::expect(!bench.hooks.modify("7", change, {true}, now).refused, "admin");
                 unit::expect(bench.hooks.modify("8", change, {}, now).refused, "cannot tell");
                 unit::expect(!bench.hooks.modify("8", {}, {}, now).refused, "no placement");
             }},
            {"the second component of one update does not take our bound for its user's wish",
             [] {
                 Bench bench(mixed());
                 auto first = pending(30), second = pending(31);
                 first.het_id = second.het_id = 30;
                 bench.source.queue = {first, second};
                 bench.run(4);
                 SameUpdate memory;
                 const int description = 0;  // stands for Slurm's
                 guard::PlacementChange desc;
                 desc.features = "";
                 desc.prefer = "";
                 for (int component = 0; component < 2; ++component) {
                     auto change = memory.as_given(&description, "30", desc);
                     unit::expect_equal(change.features.value_or("-"), std::string());
                     const auto answer = bench.hooks.modify("30", change, {}, now);
                     unit::expect(!answer.refused && answer.features, answer.message);
                     memory.remember(&description, "30", change, answer);
                     desc.features = answer.features;  // what apply() does
                     if (answer.prefer) desc.prefer = answer.prefer;
                 }
                 for (const auto& [id, mark] : bench.hooks.take_marks())
                     unit::expect_equal(mark.features, std::string());
                 unit::expect_equal(*memory.as_given(&description, "31", desc).features,
                                    *desc.features);
                 const int other = 0;
                 unit::expect_equal(*memory.as_given(&other, "30", desc).features, *desc.features);
             }},
            {"what a tick does not show yet is remembered",
             [] {
                 Bench bench(mixed());
                 bench.source.queue = {pending(7)};
                 bench.run(4);
                 guard::PlacementChange wider, list;
                 wider.required = {{"n1"}};
                 list.min_nodes = 3;
                 unit::expect(!bench.hooks.modify("7", wider, {}, now).refused, "one node of a");
                 unit::expect(bench.hooks.modify("7", list, {}, now).refused, "three do not fit");
             }},
            {"the id of an update finds arrays, tasks and components",
             [] {
                 auto meta = pending(20), task = pending(22), first = pending(30),
                      second = pending(31);
                 meta.array_id = task.array_id = 20;
                 meta.id_text = "20_[3-9]", task.id_text = "20_2";
                 first.het_id = second.het_id = 30;
                 const JobTable table({meta, task, first, second}, now);
                 unit::expect_equal(table.find("20").size(), 2UL);
                 unit::expect_equal(table.find("20_2").size(), 1UL);
                 unit::expect_equal(table.find("20_5").size(), 2UL);
                 unit::expect_equal(table.find("30").size(), 2UL);
                 unit::expect_equal(table.find("30+1").size(), 2UL);
                 unit::expect_equal(table.find("99").size(), 0UL);
                 unit::expect_equal(table.find("").size(), 0UL);
             }},
        });
}
