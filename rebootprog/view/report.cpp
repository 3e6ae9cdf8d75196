// SPDX-License-Identifier: GPL-2.0-or-later
//
// The values behind the page: spans, steps, the axis.
#include "rebootprog/view/report.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace cohort {
namespace {

using Kind = ReportSpan::Kind;

constexpr std::int64_t least_margin = 20;
constexpr std::int64_t most_ticks = 12;

class Spans {
  public:
    Spans(std::int64_t begin, std::int64_t end) : at_(begin), end_(end) {}

    // What was so until TO; a time that is not later than the last one adds nothing.
    void until(std::int64_t to, Kind kind) {
        to = std::min(to, end_);
        if (to <= at_) return;
        if (!spans_.empty() && spans_.back().kind == kind)
            spans_.back().to = to;
        else
            spans_.push_back({kind, at_, to});
        at_ = to;
    }
    std::vector<ReportSpan> rest(Kind kind) {
        until(end_, kind);
        return std::move(spans_);
    }

  private:
    std::int64_t at_, end_;
    std::vector<ReportSpan> spans_;
};

// +1 and -1 at their times, summed up from BEGIN to END.
Steps sum(const std::map<std::int64_t, std::int64_t>& changes, const ReportTime& time) {
    Steps steps;
    std::int64_t now = 0;
    for (const auto& [at, change] : changes) {
        if (change == 0) continue;
        now += change;
        const std::int64_t shown = std::clamp(at, time.begin, time.end);
        const auto count = static_cast<std::size_t>(std::max<std::int64_t>(0, now));
        if (!steps.empty() && steps.back().first == shown)
            steps.back().second = count;
        else
            steps.emplace_back(shown, count);
    }
    if (steps.empty() || steps.front().first > time.begin)
        steps.insert(steps.begin(), {time.begin, 0});
    steps.emplace_back(time.end, steps.back().second);
    return steps;
}

}  // namespace

std::vector<ReportSpan> spans_of(const ViewNode& node, std::int64_t begin, std::int64_t end) {
    const auto& row = node.row;
    Spans spans(begin, end);
    // A slot may have been taken back: only the last wait is on record.
    if (row.released != 0 && (row.started != 0 || row.step == Step::released)) {
        spans.until(row.released, Kind::serving);
        spans.until(row.started != 0 ? row.started : end, Kind::waiting);
    }
    if (row.started == 0) {
        if (row.step == Step::failed) spans.until(row.ended, Kind::serving);
        return spans.rest(row.step == Step::failed ? Kind::failed : Kind::serving);
    }
    spans.until(row.started, Kind::serving);
    const bool acted =
        node.attempt && node.attempt->ended != 0 && node.attempt->outcome == Outcome::ok;
    const std::int64_t proved = row.ended != 0 ? row.ended : end;
    spans.until(acted ? std::min(node.attempt->ended, proved) : proved, Kind::rebuilding);
    spans.until(proved, Kind::booting);
    return spans.rest(row.step == Step::failed ? Kind::failed : Kind::serving);
}

ReportTime time_of(const Report& report) {
    const auto& rollout = *report.view.rollout;
    std::int64_t last = rollout.ended != 0 ? rollout.ended : report.view.now;
    for (const auto& node : report.view.nodes) last = std::max(last, node.row.ended);
    last = std::min(last, report.view.now);
    const std::int64_t margin = std::max(least_margin, (last - rollout.began) / 20);
    ReportTime time{rollout.began - margin, last, 60};
    time.end = std::max(time.begin + 60, std::min(report.view.now, last + margin));
    // However soon after the end it is drawn, what the last node came to has a place.
    if (rollout.ended != 0) time.end = std::max(time.end, last + margin / 4);
    constexpr std::int64_t ticks[] = {10,   30,   60,    120,   300,   600,   1800,
                                      3600, 7200, 14400, 21600, 43200, 86400, 604800};
    for (const auto tick : ticks) {
        time.tick = tick;
        if ((time.end - time.begin) / tick <= most_ticks) break;
    }
    return time;
}

Steps jobs_running(const Report& report, const ReportTime& time) {
    std::map<std::int64_t, std::int64_t> changes;
    for (const auto& job : report.jobs) {
        if (job.start == 0 || job.start >= time.end || (job.end != 0 && job.end <= time.begin))
            continue;
        ++changes[job.start];
        if (job.end != 0) --changes[job.end];
    }
    return sum(changes, time);
}

Steps nodes_out(const Report& report, const ReportTime& time) {
    std::map<std::int64_t, std::int64_t> changes;
    for (const auto& node : report.view.nodes)
        for (const auto& span : spans_of(node, time.begin, time.end))
            if (span.kind != Kind::serving) {
                ++changes[span.from];
                if (span.to < time.end) --changes[span.to];
            }
    return sum(changes, time);
}

}  // namespace cohort
