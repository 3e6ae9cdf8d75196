// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/view/view_render.hpp"

#include <algorithm>
#include <ctime>

#include "tests/unit/unit.hpp"

using namespace cohort;

namespace {

constexpr std::int64_t noon = 1796040000;  // 2026-11-30 12:00 UTC

ViewNode node(const std::string& name, Step step) {
    ViewNode n;
    n.row.node = name;
    n.row.step = step;
    n.row.planned = noon - 900;
    n.row.job = 40;
    n.state = "IDLE";
    return n;
}

ViewNode done(const std::string& name, std::int64_t started, std::int64_t ended) {
    auto n = node(name, Step::done);
    n.row.started = started;
    n.row.ended = ended;
    return n;
}

ViewNode busy(const std::string& name, Outcome outcome, const char* request) {
    auto n = node(name, Step::rebuilding);
    n.row.started = noon - 20;
    Attempt attempt;
    attempt.action = "rebuild";
    attempt.outcome = outcome;
    attempt.request = request;
    attempt.ended = outcome == Outcome::ok ? noon - 5 : 0;
    n.attempt = attempt;
    return n;
}

View view(std::vector<ViewNode> nodes) {
    View v;
    v.now = noon;
    v.rollout = Rollout{};
    v.rollout->id = 3;
    v.rollout->began = noon - 900;
    v.rollout->who = "ops";
    v.rollout->reason = "kernel update";
    v.rollout->image = "v2";
    v.nodes = std::move(nodes);
    v.scope = 16;
    v.out = 4;
    v.out_limit = 4;
    v.slots = 10;
    return v;
}

View mixed() {
    auto waits = node("n4", Step::released);
    waits.row.released = noon - 60;
    waits.jobs = {{1234, "alice", noon - 600, noon + 1800}, {1235, "bob", noon - 60, noon + 60}};
    auto failed = node("n6", Step::failed);
    failed.row.why = "No valid host was found";
    failed.row.ended = noon - 30;
    failed.attempt = Attempt{};
    failed.attempt->request = "req-6";
    return view({done("n1", noon - 800, noon - 700), busy("n2", Outcome::open, "req-2"),
                 busy("n3", Outcome::ok, "req-3"), waits, node("n5", Step::held), failed,
                 node("n7", Step::planned)});
}

std::string all(const std::vector<std::string>& lines) {
    std::string text;
    for (const auto& line : lines) text += line + "\n";
    return text;
}

std::size_t widest(const std::string& text) {
    std::size_t most = 0, now = 0;
    for (const char c : text) {
        if (c == '\n')
            now = 0;
        else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80)
            most = std::max(most, ++now);
    }
    return most;
}

std::size_t lines_in(const std::string& text) {
    return static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
}

std::string what(const View& v, std::size_t i) {
    return word_of(v.nodes[i]) + ": " + what_of(v.nodes[i], v.now);
}

void show_words() {
    const auto v = mixed();
    unit::expect_equal(what(v, 0), std::string("done: in 100 s"));
    unit::expect_equal(what(v, 1), std::string("rebuilding: the cloud rebuilds it (req-2)"));
    unit::expect_equal(
        what(v, 2), std::string("booting: the cloud is done, it boots and proves itself (req-3)"));
    unit::expect_equal(what(v, 3),
                       std::string("waits: for job 1234 of alice until 12:30 and 1 more"));
    unit::expect_equal(what(v, 4), std::string("held: its turn has not come"));
    unit::expect_equal(what(v, 5), std::string("failed: No valid host was found (req-6)"));
    unit::expect_equal(what(v, 6), std::string("planned: its turn has not come"));
    auto direct = view({node("n", Step::planned), node("n", Step::released)});
    direct.nodes[0].row.direct = true;
    unit::expect_contains(what(direct, 0), "rebuilt without a job");
    unit::expect_equal(what(direct, 1), std::string("starts: Slurm starts its rebuild job"));
    direct.nodes[1].row.job = 0;
    unit::expect_contains(what(direct, 1), "Slurm reboots it as soon as it is idle");
    auto named = mixed();
    named.nodes[5].row.why = "rebuild req-6 failed";
    unit::expect_equal(what(named, 5), std::string("failed: rebuild req-6 failed"));
    unit::expect_equal(what(view({busy("n", Outcome::unsure, "")}), 0),
                       std::string("rebuilding: the request may have been taken: it is followed"));
    unit::expect_equal(what(view({busy("n", Outcome::open, "")}), 0),
                       std::string("rebuilding: the cloud is being asked"));
    unit::expect_equal(what(view({node("n", Step::failed)}), 0),
                       std::string("failed: no reason is on record"));
}

void show_counts() {
    const auto progress = progress_of(mixed());
    unit::expect_equal(progress.of(Step::done), std::size_t{1});
    unit::expect_equal(progress.of(Step::rebuilding), std::size_t{2});
    unit::expect_equal(progress.held_nodes, std::size_t{1});
    unit::expect_equal(progress.permille(), std::size_t{285});
    unit::expect_equal(progress.node_seconds, std::int64_t{100});
    // Two ended within 800 s since the first began.
    unit::expect_equal(progress.per_hour, 9.0);
    unit::expect_equal(progress_of(View{}).permille(), std::size_t{1000});
}

void show_estimate() {
    // 100 s a node; 2 lanes; 4 nodes wait: two rounds.
    std::vector<ViewNode> nodes{done("n1", noon - 300, noon - 200)};
    for (const char* name : {"n2", "n3", "n4", "n5"}) nodes.push_back(node(name, Step::held));
    auto v = view(nodes);
    v.out_limit = 2;
    unit::expect_equal(*progress_of(v).end, noon + 200);
    // A node that is busy until then moves the end.
    v.nodes[4].jobs = {{1, "alice", 0, noon + 1000}};
    unit::expect_equal(*progress_of(v).end, noon + 1100);
    // The cloud takes fewer at once than may be out.
    v.nodes[4].jobs.clear();
    v.out_limit = 4;
    v.slots = 1;
    unit::expect_equal(*progress_of(v).end, noon + 400);
    v.rollout->state = RolloutState::halted;
    unit::expect(!progress_of(v).end, "halted: none");
    v.rollout->state = RolloutState::done;
    v.rollout->ended = noon - 1;
    unit::expect_equal(*progress_of(v).end, noon - 1);
    unit::expect(!progress_of(view({node("n1", Step::held)})).end, "nothing measured: none");
}

void show_headline() {
    auto v = mixed();
    v.users_running = 12;
    const auto text = all(headline_of(v, progress_of(v)));
    unit::expect_contains(text, "Rollout 3: active, begun 11:45 by ops, to v2: kernel update");
    unit::expect_contains(text,
                          "1 of 7 nodes done, 1 failed, 2 being rebuilt, 1 waiting for their "
                          "nodes, 1 held, 1 planned");
    unit::expect_contains(text, "A node takes 100 s (median of 1); 9 nodes an hour; done in about");
    unit::expect_contains(
        text,
        "Out of service 4 of at most 4 (of 16 nodes), 1 of them kept for a rebuild job that waits; "
        "users' jobs: 12 run, 0 wait; actions of the cloud: 0 of 10");
    v.jobs_at = v.now - 8;  // by the last step of advance
    unit::expect_contains(all(headline_of(v, progress_of(v))), "12 run, 0 wait (8 s ago); actions");
    v.breaker = Breaker{noon - 60, "keystone refused to sign us in", "x"};
    v.rollout->state = RolloutState::halted;
    v.rollout->why = "3 nodes failed";
    const auto worse = all(headline_of(v, progress_of(v)));
    unit::expect_contains(worse, "THE CLOUD IS OUT OF REACH since 11:59: keystone refused");
    unit::expect_contains(worse, "halted (3 nodes failed)");
    unit::expect_contains(worse, "it stands still: scohort resume, or abort, or rollback");
    unit::expect_contains(all(headline_of(View{}, Progress{})), "no rollout yet");
}

void show_picture() {
    auto v = mixed();
    const Screen plain{100, 24, false, false};
    const auto text = picture_of(v, plain, {"12:00 n6 failed"});
    unit::expect_contains(text, "#############xxxxxxxxxxxxx=");
    unit::expect_contains(text, " 28 %");
    for (const auto& n : v.nodes) unit::expect_contains(text, "\n" + n.row.node + " ");
    unit::expect(text.find("\nn6 ") < text.find("\nn2 "), "failures come first");
    unit::expect_contains(text, "\n12:00 n6 failed");
    unit::expect(widest(text) <= 100, text);
    unit::expect(text.find('\033') == std::string::npos, "no colour");
    unit::expect_contains(picture_of(v, {100, 24, true, true}, {}),
                          "\033[1;97;41mfailed    \033[0m");
    v.nodes[5].row.why = "rebuild req-1c3ba414-3f4c-4380-ac7d-022f46beea03 failed: No valid host";
    unit::expect_contains(picture_of(v, plain, {}), "rebuild req-1c3ba414 failed: No valid host");
}

void show_sizes() {
    std::vector<ViewNode> nodes;
    for (int i = 0; i < 200; ++i)
        nodes.push_back(node(fmt::format("node{:03}", i), i < 50 ? Step::done : Step::held));
    nodes[77] = mixed().nodes[5];
    nodes[77].row.node = "node077";
    const auto v = view(nodes);
    const auto text = picture_of(v, {80, 24, false, false}, {"a", "b"});
    unit::expect_contains(text, "\n" + std::string(50, '+') + std::string(27, 'h') + "xhh\n");
    unit::expect_contains(text, "x 1 failed");
    unit::expect_contains(text, "\nnode077 failed");
    unit::expect_contains(text, "more nodes: scohort status");
    for (const std::size_t width : {20U, 40U, 80U, 237U})
        for (const std::size_t height : {1U, 5U, 10U, 24U, 70U, 300U}) {
            const auto picture = picture_of(v, {width, height, false, true}, {"news", "more news"});
            unit::expect(lines_in(picture) <= height,
                         fmt::format("{} lines in {}", lines_in(picture), height));
            unit::expect(widest(picture) <= width || width < 20,
                         fmt::format("{} columns in {}", widest(picture), width));
        }
    std::vector<ViewNode> many(10000, node("n", Step::held));
    many[5003].row.step = Step::failed;
    const auto large = picture_of(view(many), {80, 24, false, false}, {});
    unit::expect_contains(large, "(a cell is 21 nodes)");
    unit::expect_contains(large, "hxh");
    unit::expect(lines_in(large) <= 24, "24 lines");
    unit::expect_contains(picture_of(View{}, {80, 24, false, false}, {}), "no rollout yet");
}

void show_changes() {
    const auto before = mixed();
    auto now = before;
    now.nodes[1].attempt->outcome = Outcome::ok;
    now.rollout->state = RolloutState::paused;
    now.breaker = Breaker{1, "503", "x"};
    const auto lines = changes_between(before, now);
    unit::expect_equal(lines.size(), std::size_t{3});
    unit::expect_contains(lines[0], "Rollout 3: paused");
    unit::expect_contains(lines[1], "out of reach: 503");
    unit::expect_contains(lines[2], "n2 booting: the cloud is done");
    unit::expect(changes_between(now, now).empty(), "none");
    unit::expect_equal(changes_between(View{}, before).size(), std::size_t{8});
    unit::expect_contains(all(changes_between(now, before)), "the cloud answers again");
}

void show_metrics() {
    const auto text = metrics_of(mixed());
    unit::expect_contains(text, "# TYPE cohort_rollout_nodes gauge\n");
    unit::expect_contains(text, "cohort_rollout_nodes{step=\"rebuilding\"} 2\n");
    unit::expect_contains(text, "cohort_rollout_state{state=\"active\"} 1\n");
    unit::expect_contains(text, "cohort_rollout_state{state=\"halted\"} 0\n");
    unit::expect_contains(text, "cohort_nodes_out_of_service_limit 4\n");
    unit::expect_contains(text, "cohort_breaker_open 0\n");
    unit::expect_contains(text, fmt::format("cohort_metrics_written_seconds {}\n", noon));
    unit::expect_contains(metrics_of(View{}), "cohort_rollout_id 0\n");
    unit::expect(metrics_of(View{}).find("cohort_hook") == std::string::npos, "not known");
    View measured;
    measured.hooks = HookSummary{90, 0.004, 24.6, 49.2, 81.3};
    unit::expect_contains(metrics_of(measured), "cohort_hook_calls 90\n");
    unit::expect_contains(metrics_of(measured),
                          "cohort_hook_seconds{quantile=\"0.99\"} 0.0000492\n");
}

void show_table() {
    const auto table = table_of(mixed());
    unit::expect_equal(table.rows.size(), std::size_t{7});
    unit::expect_equal(table.rows[3][1], std::string("waits"));
    unit::expect_equal(table.rows[3][2], std::string("11:59"));
    unit::expect_equal(table.rows[3][4], std::string("40"));
}

void show_times() {
    unit::expect_equal(clock_of(0, noon), std::string("-"));
    unit::expect_equal(clock_of(noon - 60, noon), std::string("11:59"));
    unit::expect_equal(clock_of(noon - 86400, noon), std::string("Sun 12:00"));
    unit::expect_equal(clock_of(noon - 864000, noon), std::string("2026-11-20 12:00"));
    unit::expect_equal(exact_clock_of(noon, noon), std::string("12:00:00"));
    unit::expect_equal(exact_clock_of(noon - 86400, noon), std::string("2026-11-29 12:00:00"));
    unit::expect_equal(span_of(119), std::string("119 s"));
    unit::expect_equal(span_of(-3), std::string("0 s"));
    unit::expect_equal(span_of(3600), std::string("60 min"));
    unit::expect_equal(span_of(7500), std::string("2 h 5 min"));
    unit::expect_equal(span_of(200000), std::string("2 d 7 h"));
}

}  // namespace

int main() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
    return unit::run("view", {{"each node says what it waits for, or why it failed", show_words},
                              {"counts, rate and the median", show_counts},
                              {"the end is estimated by lanes and busy nodes", show_estimate},
                              {"the headline", show_headline},
                              {"the picture shows failures first", show_picture},
                              {"the picture fits every screen", show_sizes},
                              {"lines in a pipe: only what changed", show_changes},
                              {"metrics", show_metrics},
                              {"the table", show_table},
                              {"times for people", show_times}});
}
