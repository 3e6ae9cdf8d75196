// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/view/report.hpp"

#include <ctime>
#include <fstream>

#include "tests/unit/unit.hpp"

using namespace cohort;
using Kind = ReportSpan::Kind;

namespace {

constexpr std::int64_t noon = 1796040000;  // 2026-11-30 12:00 UTC

ViewNode done(const std::string& name, std::int64_t released, std::int64_t started,
              std::int64_t acted, std::int64_t ended) {
    ViewNode n;
    n.row.node = name;
    n.row.step = Step::done;
    n.row.released = noon + released;
    n.row.started = noon + started;
    n.row.ended = noon + ended;
    n.row.job = 7;
    n.attempt = Attempt{};
    n.attempt->outcome = Outcome::ok;
    n.attempt->ended = noon + acted;
    n.state = "IDLE";
    return n;
}

ViewNode failed(const std::string& name, const char* why) {
    ViewNode n = done(name, 60, 70, 0, 90);
    n.row.step = Step::failed;
    n.row.why = why;
    n.attempt->outcome = Outcome::failed;
    n.attempt->request = "req-1";
    n.state = "DOWN+FAIL";
    return n;
}

Report sample() {
    Report r;
    r.view.now = noon + 1000;
    r.view.cluster = "lab";
    r.view.rollout = Rollout{};
    auto& rollout = *r.view.rollout;
    rollout.id = 3;
    rollout.who = "ops";
    rollout.state = RolloutState::done;
    rollout.began = noon;
    rollout.ended = noon + 200;
    r.view.nodes = {done("n1", 10, 20, 50, 80), done("n2", 90, 100, 120, 200),
                    failed("n3", "<b>No valid host</b> & \"more\"")};
    r.view.out_limit = 2;
    r.jobs = {{11, "alice", {"n1"}, noon - 100, noon + 20},
              {12, "bob", {"n2", "n3"}, noon + 5, noon + 60},
              {13, "bob", {"n1"}, noon + 90, 0}};
    r.events = {{noon, "", "ops", "begins", 3}, {noon + 90, "n3", "advance", "failed", 3}};
    return r;
}

std::string text(const std::vector<ReportSpan>& spans) {
    std::string out;
    for (const auto& span : spans)
        out += fmt::format("{}:{}-{} ", "swrbf"[static_cast<int>(span.kind)], span.from - noon,
                           span.to - noon);
    return out;
}

std::string text(const Steps& steps) {
    std::string out;
    for (const auto& [at, count] : steps) out += fmt::format("{}={} ", at - noon, count);
    return out;
}

void show_spans() {
    const auto spans = [](const ViewNode& n) { return text(spans_of(n, noon - 10, noon + 300)); };
    unit::expect_equal(spans(done("n", 10, 20, 50, 80)),
                       std::string("s:-10-10 w:10-20 r:20-50 b:50-80 s:80-300 "));
    unit::expect_equal(spans(failed("n", "")), std::string("s:-10-60 w:60-70 r:70-90 f:90-300 "));
    ViewNode waits;
    waits.row.step = Step::released;
    waits.row.released = noon + 30;
    unit::expect_equal(spans(waits), std::string("s:-10-30 w:30-300 "));
    ViewNode held;
    held.row.step = Step::held;
    // A slot that was taken back.
    held.row.released = noon + 30;
    unit::expect_equal(spans(held), std::string("s:-10-300 "));
    ViewNode busy = done("n", 10, 20, 0, 0);
    busy.row.step = Step::rebuilding;
    busy.row.ended = 0;
    busy.attempt->ended = 0;
    unit::expect_equal(spans(busy), std::string("s:-10-10 w:10-20 r:20-300 "));
    busy.attempt->ended = noon + 40;
    unit::expect_equal(spans(busy), std::string("s:-10-10 w:10-20 r:20-40 b:40-300 "));
    ViewNode never;
    never.row.step = Step::failed;
    never.row.ended = noon + 5;
    unit::expect_equal(spans(never), std::string("s:-10-5 f:5-300 "));
    // The proof was there before the cloud's action had ended.
    unit::expect_equal(spans(done("n", 10, 20, 90, 80)),
                       std::string("s:-10-10 w:10-20 r:20-80 s:80-300 "));
}

void show_time() {
    const auto time = time_of(sample());
    unit::expect_equal(time.begin, noon - 20);
    unit::expect_equal(time.end, noon + 220);
    unit::expect_equal(time.tick, std::int64_t{30});
    auto at_once = sample();
    at_once.view.now = noon + 200;
    unit::expect_equal(time_of(at_once).end, noon + 205);  // room for what the last node came to
    auto open = sample();
    open.view.rollout->state = RolloutState::active;
    open.view.rollout->ended = 0;
    unit::expect_equal(time_of(open).end, noon + 1000);
    open.view.now = noon + 40 * 86400;
    unit::expect_equal(time_of(open).tick, std::int64_t{604800});
}

void show_steps() {
    const auto r = sample();
    const auto time = time_of(r);
    unit::expect_equal(text(jobs_running(r, time)), std::string("-20=1 5=2 20=1 60=0 90=1 220=1 "));
    unit::expect_equal(text(nodes_out(r, time)),
                       std::string("-20=0 10=1 60=2 80=1 90=2 200=1 220=1 "));
    Report empty = r;
    empty.jobs.clear();
    unit::expect_equal(text(jobs_running(empty, time)), std::string("-20=0 220=0 "));
}

std::size_t count(const std::string& text, const std::string& piece) {
    std::size_t n = 0;
    for (auto at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) ++n;
    return n;
}

void show_page() {
    const auto html = html_of(sample());
    unit::expect(html.starts_with("<!DOCTYPE html>"), "doctype");
    for (const char* node : {"n1", "n2", "n3"})
        unit::expect_equal(count(html, fmt::format("data-node=\"{}\"", node)), std::size_t{1});
    unit::expect_contains(html, "&lt;b&gt;No valid host&lt;/b&gt; &amp; &quot;more&quot;");
    unit::expect(html.find("<b>No valid host") == std::string::npos, "not escaped");
    unit::expect_contains(html, "job 12 of bob on 2 nodes: 12:00:05 to 12:01:00, 55 s");
    unit::expect_contains(html, "<b>2 / 2</b><span>most out at once / allowed");
    unit::expect_contains(html, "<code>req-1</code>");
    unit::expect_contains(html, "n1 is rebuilt: 12:00:20 to 12:00:50, 30 s");
    for (const char* outside : {"http://", "https://", "<script", "@import", "url("})
        unit::expect_equal(count(html, outside), std::size_t{0});
    for (const char* tag :
         {"div", "section", "table", "details", "main", "i", "span", "em", "header"})
        unit::expect_equal(
            count(html, fmt::format("<{}>", tag)) + count(html, fmt::format("<{} ", tag)),
            count(html, fmt::format("</{}>", tag)));
    // 5 spans of n1, 5 of n2, 4 of n3; 4 bars of jobs, the one of 13 on n1 too.
    unit::expect_equal(count(html, "<i class=\"build\" style=\"left"), std::size_t{3});
    unit::expect_equal(count(html, "<i class=\"job\" style=\"left"), std::size_t{4});
}

void show_many() {
    auto r = sample();
    for (int i = 0; i < 200; ++i)
        r.view.nodes.push_back(done(fmt::format("m{}", i), i, i + 1, i + 2, i + 9));
    const auto html = html_of(r);
    unit::expect_equal(count(html, "data-node="), std::size_t{203});
    unit::expect_contains(html, "<div class=\"plot dense\">");
}

}  // namespace

int main(int argc, char** argv) {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
    if (argc > 1) std::ofstream(argv[1]) << html_of(sample());
    return unit::run(
        "report", {{"what a node did, without gaps", show_spans},
                   {"the picture's time and its marks", show_time},
                   {"curves are sums of what runs", show_steps},
                   {"every node is on the page, every text escaped, nothing is loaded", show_page},
                   {"two hundred nodes", show_many}});
}
