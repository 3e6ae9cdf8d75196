// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/job_submit/refresher.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

#include "common/file.hpp"
#include "common/log.hpp"
#include "common/look_request.hpp"
#include "common/rebuild_mark.hpp"
#include "common/snapshot_file.hpp"
#include "tests/unit/job_submit_fixture.hpp"
#include "tests/unit/unit.hpp"

using namespace cohort;
using std::chrono::milliseconds;
using unit::expect;
using unit::expect_contains;
using unit::expect_equal;
using unit::Rule;

namespace {

Clock::time_point now(std::chrono::hours(1));

// A cluster that a test changes between steps.
struct FakeCluster {
    bool is_active = true, answers = true, loses_features = false;
    Snapshot state = fixture::snapshot();
    std::vector<Job> all_jobs;
    std::vector<std::uint32_t> asked_for;  // users
    int full_loads = 0;
    int calls = 0;
    int looks = 0;  // at one node: the canary
    milliseconds takes{1};
};

class FakeSource final : public ClusterSource {
  public:
    explicit FakeSource(FakeCluster& cluster) : cluster_(cluster) {}
    bool active() override { return cluster_.is_active; }
    Result<ControllerConfig> config() override { return answer(cluster_.state.config); }
    Result<std::vector<Node>> nodes() override { return answer(cluster_.state.nodes); }
    Result<std::vector<Partition>> partitions() override {
        return answer(cluster_.state.partitions);
    }
    Result<std::vector<Reservation>> reservations() override {
        return answer(cluster_.state.reservations);
    }
    Result<std::vector<Qos>> qos() override {
        return answer(std::vector<Qos>{{"rebuild", false, false}});
    }
    bool loses_features_silently() override { return cluster_.loses_features; }
    Result<Node> node(const std::string& name) override {
        ++cluster_.looks;
        for (const auto& one : cluster_.state.nodes)
            if (one.name == name) return one;
        return fail(Errc::not_found, name);
    }
    Result<std::vector<Job>> jobs() override {
        ++cluster_.full_loads;
        return answer(cluster_.all_jobs);
    }
    Result<std::vector<Job>> jobs_of(std::uint32_t uid) override {
        cluster_.asked_for.push_back(uid);
        std::vector<Job> his;
        for (const auto& job : cluster_.all_jobs)
            if (job.user_id == uid) his.push_back(job);
        return answer(his);
    }

  private:
    template <class T>
    Result<T> answer(const T& value) {
        ++cluster_.calls;
        now += cluster_.takes;
        if (!cluster_.answers) return fail(Errc::unreachable, "no controller");
        return value;
    }
    FakeCluster& cluster_;
};

Job rebuild_job(std::uint32_t id, const std::string& node, std::uint32_t owner) {
    Job job;
    job.id = id;
    job.user_id = owner;
    job.pending = true;
    job.priority = 1;
    job.admin_comment = write_mark("", {node, 1, ""});
    return job;
}

// A refresher over a fake cluster, with cohort.conf and StateDir in a folder of their own.
struct Bench {
    std::string dir;
    FakeCluster cluster;
    Published<World> world;
    RebuildLedger ledger;
    std::unique_ptr<Refresher> refresher;

    Bench() {
        char name[] = "/tmp/refresher_test.XXXXXX";
        dir = ::mkdtemp(name);
        cluster.state.config.state_save_location = dir + "/state";
        configure("");
        restart();
    }
    ~Bench() { std::filesystem::remove_all(dir); }

    void restart() {
        refresher =
            std::make_unique<Refresher>(std::make_unique<FakeSource>(cluster), dir + "/cohort.conf",
                                        500, world, ledger, [] { return now; });
        world.set(std::make_shared<World>());
        refresher->start();
    }
    void configure(const std::string& text) {
        std::filesystem::remove_all(dir + "/cohort.conf");
        expect(write_file(dir + "/cohort.conf", text, 0644).has_value(), "written");
    }
    void step(int seconds = 3) {
        now += std::chrono::seconds(seconds);
        refresher->step();
    }
    Freshness freshness() const { return world.get()->freshness(now); }
    const Settings& settings() const { return world.get()->policy->configuration->site; }
    std::string state(const std::string& file) const { return dir + "/state-cohort/" + file; }
};

std::vector<std::string> heard;
void hear(log::Level, std::string_view line) {
    if (line.find("the guard is off") != std::string_view::npos) heard.emplace_back(line);
}

void notice_rules(std::vector<Rule>& rules) {
    rules.push_back({"a cohort that was never adopted is named once an hour", [] {
                         Bench b;
                         heard.clear();
                         log::set_sink(hear);
                         b.step();
                         b.step();
                         expect_equal(heard.size(), std::size_t{1});
                         expect_contains(heard[0], "off for main: its nodes carry no labels");
                         b.step(3601);
                         expect_equal(heard.size(), std::size_t{2});
                         b.configure("MixedRevision=off\n");
                         b.step(3601);
                         log::set_sink(nullptr);
                         expect_equal(heard.size(), std::size_t{2});
                     }});
}

void reading_rules(std::vector<Rule>& rules) {
    rules.push_back({"cold before the first reading, warm after it", [] {
                         Bench b;
                         expect(b.freshness() == Freshness::cold, "cold");
                         expect(b.world.get()->policy->configuration.has_value(), "configured");
                         b.step();
                         expect(b.freshness() == Freshness::warm, "warm");
                         expect_equal(b.world.get()->snapshot->nodes.size(), 4U);
                         expect(b.world.get()->snapshot->node("n3") != nullptr, "indexed");
                     }});
    rules.push_back(
        {"a controller that does not answer leaves the last picture, which grows stale", [] {
             Bench b;
             b.step();
             b.cluster.answers = false;
             b.step(20);
             expect(b.freshness() == Freshness::warm, "still warm");
             b.step(20);
             expect(b.freshness() == Freshness::stale, "stale");
             b.cluster.answers = true;
             b.step();
             expect(b.freshness() == Freshness::warm, "warm again");
         }});
    rules.push_back({"a change of the cluster is in the next picture, of a higher generation", [] {
                         Bench b;
                         b.step();
                         const auto before = b.world.get()->snapshot;
                         b.cluster.state.nodes.push_back(fixture::node("n5"));
                         b.step();
                         expect(b.world.get()->snapshot->node("n5") != nullptr, "seen");
                         expect(b.world.get()->snapshot->generation > before->generation, "newer");
                         expect(before->node("n5") == nullptr, "a reader's picture stays");
                     }});
    rules.push_back({"Refresh longer than StaleAfter does not make it stale", [] {
                         Bench b;
                         b.configure("Refresh=10min\nStaleAfter=9s\n");
                         b.step();
                         now += std::chrono::seconds(3);
                         expect(b.refresher->step() <= milliseconds(3000), "reads in time");
                     }});
    rules.push_back({"a slow controller is asked less often: one percent of its time", [] {
                         Bench b;
                         b.cluster.takes = milliseconds(20);  // each of several calls
                         b.step();
                         b.step();
                         const auto generation = [&b] {
                             return b.world.get()->snapshot->generation;
                         };
                         const auto first = generation();
                         b.step(4);
                         expect_equal(generation(), first);
                         b.step(11);
                         expect(generation() > first, "read again before it grows stale");
                     }});
    rules.push_back({"but one slow answer is not the size of the cluster", [] {
                         Bench b;
                         b.step();
                         b.cluster.takes = milliseconds(500);
                         b.step();
                         b.cluster.takes = milliseconds(1);
                         const auto generation = b.world.get()->snapshot->generation;
                         b.step();
                         expect_equal(b.world.get()->snapshot->generation, generation + 1);
                     }});
    rules.push_back({"a standby reads nothing and writes nothing", [] {
                         Bench b;
                         b.cluster.is_active = false;
                         b.step();
                         expect_equal(b.cluster.calls, 0);
                         expect(b.freshness() == Freshness::cold, "cold");
                         expect(!std::filesystem::exists(b.dir + "/state-cohort"), "nothing there");
                         b.cluster.is_active = true;
                         b.step();
                         expect(b.freshness() == Freshness::warm, "warm after the takeover");
                     }});
    rules.push_back({"the QOS are asked for only where they preempt", [] {
                         Bench b;
                         b.step();
                         expect(!b.world.get()->qos, "not asked");
                         b.cluster.state.config.preempt_type = "preempt/qos";
                         b.step();
                         expect(b.world.get()->qos.has_value(), "asked");
                     }});
    rules.push_back({"the breaker is a file in StateDir", [] {
                         Bench b;
                         b.step();
                         expect(!b.world.get()->breaker_open, "closed");
                         expect(write_file(b.state("breaker"), "x", 0644).has_value(), "opened");
                         b.step();
                         expect(b.world.get()->breaker_open, "open");
                     }});
}

void job_rules(std::vector<Rule>& rules) {
    rules.push_back(
        {"the first reading finds rebuild jobs of anybody; later only their owners' "
         "jobs are read",
         [] {
             Bench b;
             b.configure("RebuildUsers=77\n");
             b.restart();
             b.cluster.all_jobs = {rebuild_job(12, "n1", 1234)};
             b.step();
             expect(b.ledger.find(12).has_value(), "found");
             b.cluster.asked_for.clear();
             b.step();
             expect_equal(b.cluster.full_loads, 1);
             expect(b.cluster.asked_for == std::vector<std::uint32_t>{0, 77, 500, 1234},
                    "root, RebuildUsers, SlurmUser, the owner");
         }});
    rules.push_back({"no picture before the jobs are known", [] {
                         Bench b;
                         b.cluster.all_jobs = {rebuild_job(12, "n1", 0)};
                         b.step();
                         expect_equal(b.world.get()->snapshot->rebuild_jobs.size(), 1U);
                     }});
    rules.push_back({"jobs without a mark, and jobs that ended, are none", [] {
                         Bench b;
                         auto ended = rebuild_job(12, "n1", 0);
                         ended.pending = false;
                         auto other = rebuild_job(13, "n2", 0);
                         other.admin_comment = "{\"cohort\":\"rebuild\"}";
                         b.cluster.all_jobs = {ended, other};
                         b.step();
                         expect(b.ledger.empty(), "nothing");
                     }});
    rules.push_back({"while rebuild jobs exist they are read twice a second", [] {
                         Bench b;
                         b.cluster.all_jobs = {rebuild_job(12, "n1", 0)};
                         b.step();
                         now += milliseconds(500);
                         expect(b.refresher->step() <= Refresher::jobs_interval, "soon again");
                         b.cluster.all_jobs.clear();
                         now += milliseconds(500);
                         b.refresher->step();
                         expect(b.ledger.empty(), "gone within a second");
                     }});
    rules.push_back(
        {"nor more often where the canary is looked at in between [22.05]", [] {
             Bench b;
             b.cluster.loses_features = true;
             auto& node = b.cluster.state.nodes[0];
             node.record.revision = node.features = node.active_features = "rev_0123456789abcdef";
             b.cluster.all_jobs = {rebuild_job(12, "n2", 0)};
             b.step();
             b.step();
             b.cluster.asked_for.clear();
             b.cluster.looks = 0;
             for (int i = 0; i < 100; ++i) {
                 now += milliseconds(50);
                 expect(b.refresher->step() <= Refresher::canary_interval, "soon");
             }
             const auto reads = std::ranges::count(b.cluster.asked_for, 0U);
             expect(reads >= 8 && reads <= 12, fmt::format("{} readings in 5 s", reads));
             expect(b.cluster.looks > 60, fmt::format("{} looks", b.cluster.looks));
             RebuildLedger::Request request;
             request.node = "n3";
             request.counts_as_started = [](const std::string&) { return false; };
             b.cluster.asked_for.clear();
             expect(b.ledger.admit(request, now).has_value(), "let in");
             now += milliseconds(50);
             b.refresher->step();
             expect_equal(b.cluster.asked_for.size(), std::size_t{2});
         }});
    rules.push_back({"the canary costs a walk over all nodes: half as often from ten thousand", [] {
                         Bench b;
                         b.cluster.loses_features = true;
                         auto& nodes = b.cluster.state.nodes;
                         for (auto& node : nodes)
                             node.record.revision = node.features = node.active_features =
                                 "rev_0123456789abcdef";
                         b.step();
                         expect_equal(b.refresher->step().count(), 50);
                         nodes.resize(20000, nodes[0]);
                         for (std::size_t i = 0; i < nodes.size(); ++i)
                             nodes[i].name = fmt::format("c{}", i);
                         now += std::chrono::seconds(60);
                         b.step();
                         expect_equal(b.refresher->step().count(), 100);
                     }});
}

void config_rules(std::vector<Rule>& rules) {
    rules.push_back({"a changed cohort.conf is read at the next step", [] {
                         Bench b;
                         b.step();
                         b.configure("MaxConcurrent=3\n");
                         b.step();
                         expect_equal(b.settings().max_concurrent, 3U);
                     }});
    rules.push_back({"a good one is kept beside Slurm's state", [] {
                         Bench b;
                         b.configure("MaxConcurrent=3\n");
                         b.step();
                         expect_equal(*read_file(b.state("cohort.conf.good"), 1000),
                                      std::string("MaxConcurrent=3\n"));
                     }});
    rules.push_back(
        {"and in StateDir when that is elsewhere", [] {
             Bench b;
             b.configure("StateDir=" + b.dir + "/mine\n");
             b.step();
             expect(read_file(b.dir + "/mine/cohort.conf.good", 1000).has_value(), "there");
             expect(read_file(b.state("cohort.conf.good"), 1000).has_value(), "and there");
         }});
    using Break = std::function<void(const Bench&)>;
    const std::vector<std::pair<std::string, Break>> ways = {
        {"missing", [](const Bench& b) { std::filesystem::remove(b.dir + "/cohort.conf"); }},
        {"truncated",
         [](const Bench& b) {
             expect(
                 write_file(b.dir + "/cohort.conf", "MaxConcurrent=3\nMaxConc", 0644).has_value(),
                 "");
         }},
        {"with an unknown key",
         [](const Bench& b) {
             expect(write_file(b.dir + "/cohort.conf", "MaxConcurent=3\n", 0644).has_value(), "");
         }},
        {"a directory",
         [](const Bench& b) {
             std::filesystem::remove(b.dir + "/cohort.conf");
             std::filesystem::create_directory(b.dir + "/cohort.conf");
         }},
    };
    for (const auto& [words, break_it] : ways) {
        rules.push_back({words + ", while running: the last good one stays, with the fault", [=] {
                             Bench b;
                             b.configure("MaxConcurrent=3\n");
                             b.step();
                             break_it(b);
                             b.step();
                             expect_equal(b.settings().max_concurrent, 3U);
                             expect_contains(b.world.get()->policy->fault, "cohort.conf");
                             expect_equal(*read_file(b.state("cohort.conf.good"), 1000),
                                          std::string("MaxConcurrent=3\n"));
                             b.configure("MaxConcurrent=4\n");
                             b.step();
                             expect_equal(b.settings().max_concurrent, 4U);
                             expect_equal(b.world.get()->policy->fault, std::string());
                         }});
        rules.push_back({words + ", at the start: the good copy is used", [=] {
                             Bench b;
                             b.configure("MaxConcurrent=3\n");
                             b.step();
                             break_it(b);
                             b.restart();
                             expect(!b.world.get()->policy->configuration, "not known yet");
                             b.step();
                             expect_equal(b.settings().max_concurrent, 3U);
                             expect_contains(b.world.get()->policy->fault, "cohort.conf");
                         }});
        rules.push_back({words + ", at the start, without a copy: no configuration", [=] {
                             Bench b;
                             break_it(b);
                             b.restart();
                             b.step();
                             expect(!b.world.get()->policy->configuration, "none");
                             expect_contains(b.world.get()->policy->fault, "cohort.conf");
                             expect(b.freshness() == Freshness::warm, "the rest goes on");
                             b.configure("");
                             b.step();
                             expect(b.world.get()->policy->configuration.has_value(), "mended");
                         }});
    }
}

void file_rules(std::vector<Rule>& rules) {
    rules.push_back(
        {"who asks for a look gets a newer snapshot.json, though nothing has changed", [] {
             Bench b;
             b.cluster.takes = milliseconds(30);  // ten thousand nodes: read every 10 s
             b.step();
             b.step(60);
             const auto started = [&] {
                 return parse_snapshot(*read_file(b.state("snapshot.json"), 10000), "f")
                     ->header.started;
             };
             const double first = started();
             const auto pictures = [&] { return b.world.get()->snapshot->generation; };
             const auto before = pictures();
             b.step(4);
             expect(!b.refresher->asked() && pictures() == before, "at rest");
             expect(ask_for_a_look(b.dir + "/state-cohort").has_value(), "touched");
             expect(b.refresher->asked(), "seen");
             b.step(0);
             expect(pictures() == before + 1 && !b.refresher->asked(), "read at once");
             expect(started() > first, "and told");
             expect(ask_for_a_look(b.dir + "/state-cohort").has_value(), "touched again");
             b.step(1);
             expect_equal(pictures(), before + 1);
             b.step(3);
             expect_equal(pictures(), before + 2);
         }});
    rules.push_back({"snapshot.json tells programs what the hooks see", [] {
                         Bench b;
                         b.cluster.state.nodes[0].record.revision = "rev_0123456789abcdef";
                         b.cluster.state.nodes[1].record.want = Want{};
                         b.cluster.state.nodes[1].state.drain = true;
                         b.cluster.all_jobs = {rebuild_job(12, "n\"1", 0)};
                         b.step();
                         const auto file =
                             parse_snapshot(*read_file(b.state("snapshot.json"), 10000), "file");
                         expect(file.has_value(), file ? "" : file.error().message);
                         expect_equal(file->header.generation, 1U);
                         expect_equal(file->header.configuration, b.dir + "/cohort.conf");
                         expect(file->header.written >= file->header.started, "in this order");
                         expect_equal(file->nodes.size(), 4U);
                         expect_equal(file->nodes[0].revision, std::string("rev_0123456789abcdef"));
                         expect(file->nodes[1].withdrawn && !file->nodes[0].withdrawn, "withdrawn");
                         expect_equal(file->nodes[1].state, std::string("IDLE+DRAIN"));
                         expect_equal(file->rebuild_jobs.size(), 1U);
                         expect_equal(file->rebuild_jobs[0].node, std::string("n\"1"));
                         expect(file->rebuild_jobs[0].pending, "pending");
                     }});
    rules.push_back({"it is written again when something changed, else every ten seconds", [] {
                         Bench b;
                         b.step();
                         const auto generation = [&] {
                             return parse_snapshot(*read_file(b.state("snapshot.json"), 10000), "f")
                                 ->header.generation;
                         };
                         expect_equal(generation(), 1U);
                         b.step();
                         expect_equal(generation(), 1U);
                         b.cluster.state.nodes[0].state.drain = true;
                         b.step();
                         expect_equal(generation(), 3U);
                         b.step(11);
                         expect_equal(generation(), 4U);
                     }});
    rules.push_back({"a StateDir that cannot be written stops nothing", [] {
                         Bench b;
                         expect(write_file(b.dir + "/state-cohort", "in the way", 0644).has_value(),
                                "");
                         b.step();
                         expect(b.freshness() == Freshness::warm, "warm");
                     }});
    rules.push_back({"what is no snapshot is refused", [] {
                         expect(!parse_snapshot("{}", "x"), "empty");
                         expect(!parse_snapshot("", "x"), "nothing");
                         expect(!parse_snapshot("{\"generation\":1,\"nodes\":{}}", "x"), "wrong");
                     }});
}

}  // namespace

int main() {
    std::vector<Rule> rules;
    reading_rules(rules);
    notice_rules(rules);
    job_rules(rules);
    config_rules(rules);
    file_rules(rules);
    return unit::run("refresher", rules);
}
