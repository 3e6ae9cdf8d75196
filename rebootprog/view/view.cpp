// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/view/view.hpp"

#include <algorithm>
#include <ctime>
#include <queue>

#include <fmt/core.h>

#include "common/text.hpp"

namespace cohort {
namespace {

constexpr std::int64_t day = 86400;

// The cloud's action has ended well and the node has still to boot and to prove itself.
bool boots(const ViewNode& node) {
    return node.attempt && node.attempt->outcome == Outcome::ok;
}

std::int64_t median(std::vector<std::int64_t> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

std::int64_t free_at(const ViewNode& node, std::int64_t now) {
    std::int64_t at = now;
    for (const auto& job : node.jobs) at = std::max(at, job.end);
    return at;
}

// The remaining nodes through as many lanes as may be out at once: each takes the lane that is free
// first, when its own jobs have ended.
std::int64_t simulate(const View& view, const Progress& progress) {
    std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> lanes;
    std::vector<std::int64_t> waiting;
    std::int64_t last = view.now;
    const std::size_t width =
        std::max<std::size_t>(1, std::min(view.out_limit, std::max<std::size_t>(view.slots, 1)));
    for (const auto& node : view.nodes) {
        if (node.row.step == Step::rebuilding) {
            const std::int64_t end =
                std::max(view.now + 1, node.row.started + progress.node_seconds);
            lanes.push(end);
            last = std::max(last, end);
        } else if (node.row.open()) {
            waiting.push_back(free_at(node, view.now));
        }
    }
    while (lanes.size() < width) lanes.push(view.now);
    std::ranges::sort(waiting);
    for (const auto at : waiting) {
        const std::int64_t end = std::max(lanes.top(), at) + progress.node_seconds;
        lanes.pop();
        lanes.push(end);
        last = std::max(last, end);
    }
    return last;
}

void measure(const View& view, Progress& progress) {
    std::vector<std::int64_t> seconds;
    std::int64_t first = 0, last = 0;
    std::size_t ended = 0;
    for (const auto& node : view.nodes) {
        const auto& row = node.row;
        if (row.started != 0 && (first == 0 || row.started < first)) first = row.started;
        if (row.step != Step::done && row.step != Step::failed) continue;
        ++ended;
        last = std::max(last, row.ended);
        if (row.step == Step::done && row.started != 0 && row.ended > row.started)
            seconds.push_back(row.ended - row.started);
    }
    progress.measured = seconds.size();
    progress.node_seconds = median(std::move(seconds));
    const std::int64_t until = view.rollout->open() ? view.now : std::max(last, first + 1);
    if (ended != 0 && first != 0 && until > first)
        progress.per_hour =
            3600.0 * static_cast<double>(ended) / static_cast<double>(until - first);
}

std::string job_text(const ViewJob& job, std::int64_t now) {
    return fmt::format("job {} of {}{}", job.id, job.user,
                       job.end == 0 ? "" : fmt::format(" until {}", clock_of(job.end, now)));
}

std::string waits_for(const ViewNode& node, std::int64_t now) {
    if (node.jobs.empty()) return {};
    const auto last = std::ranges::max_element(
        node.jobs, [](const ViewJob& a, const ViewJob& b) { return a.end < b.end; });
    std::string text = job_text(*last, now);
    if (node.jobs.size() > 1) text += fmt::format(" and {} more", node.jobs.size() - 1);
    return text;
}

std::string with_request(std::string text, const ViewNode& node) {
    if (!node.attempt || node.attempt->request.empty() ||
        text.find(node.attempt->request) != std::string::npos)
        return text;
    return text + fmt::format(" ({})", node.attempt->request);
}

std::string failure_of(const ViewNode& node) {
    std::string why = node.row.why;
    if (why.empty() && node.attempt) why = node.attempt->reason;
    if (why.empty()) why = node.reason;
    return with_request(why.empty() ? "no reason is on record" : why, node);
}

}  // namespace

Progress progress_of(const View& view) {
    Progress progress;
    progress.total = view.nodes.size();
    for (const auto& node : view.nodes) {
        ++progress.count[static_cast<std::size_t>(node.row.step)];
        if (node.row.step == Step::released) ++progress.held_nodes;
    }
    if (!view.rollout) return progress;
    measure(view, progress);
    if (!view.rollout->open()) {
        if (view.rollout->ended != 0) progress.end = view.rollout->ended;
    } else if (view.rollout->state == RolloutState::active && progress.node_seconds != 0 &&
               !view.breaker) {
        progress.end = simulate(view, progress);
    }
    return progress;
}

std::string word_of(const ViewNode& node) {
    switch (node.row.step) {
        case Step::released:
            return node.jobs.empty() ? "starts" : "waits";
        case Step::rebuilding:
            return boots(node) ? "booting" : "rebuilding";
        default:
            return std::string(name_of(node.row.step));
    }
}

std::int64_t since_of(const ViewNode& node) {
    const auto& row = node.row;
    switch (row.step) {
        case Step::planned:
            return row.planned;
        case Step::held:
            return row.submitted;
        case Step::released:
            return row.released;
        case Step::rebuilding:
            return boots(node) && node.attempt->ended != 0 ? node.attempt->ended : row.started;
        default:
            return row.ended;
    }
}

std::string what_of(const ViewNode& node, std::int64_t now) {
    const std::string jobs = waits_for(node, now);
    switch (node.row.step) {
        case Step::planned:
            if (node.row.direct) return "out of service: rebuilt without a job when its turn comes";
            return jobs.empty() ? "its turn has not come" : "its turn has not come; " + jobs;
        case Step::held:
            return jobs.empty() ? "its turn has not come" : "its turn has not come; " + jobs;
        case Step::released:
            if (!jobs.empty()) return "for " + jobs;
            return node.row.job != 0 ? "Slurm starts its rebuild job"
                                     : "Slurm reboots it as soon as it is idle";
        case Step::rebuilding:
            if (boots(node))
                return with_request("the cloud is done, it boots and proves itself", node);
            if (!node.attempt) return "cohort-reboot begins";
            if (node.attempt->outcome == Outcome::unsure)
                return "the request may have been taken: it is followed";
            if (node.attempt->request.empty()) return "the cloud is being asked";
            return with_request(
                fmt::format("the cloud {}s it",
                            node.attempt->action.empty() ? "rebuild" : node.attempt->action),
                node);
        case Step::done:
            if (node.row.started != 0 && node.row.ended > node.row.started)
                return fmt::format("in {}", span_of(node.row.ended - node.row.started));
            return node.row.why;
        case Step::failed:
            return failure_of(node);
        case Step::cancelled:
            return node.row.why;
    }
    return {};
}

std::string clock_of(std::int64_t at, std::int64_t now) {
    if (at == 0) return "-";
    const std::time_t time = at, today = now;
    std::tm then{}, here{};
    ::localtime_r(&time, &then);
    ::localtime_r(&today, &here);
    const bool same_day = then.tm_year == here.tm_year && then.tm_yday == here.tm_yday;
    const bool near = at < now + 6 * day && at > now - 6 * day;
    char text[64];
    const char* form = same_day ? "%H:%M" : near ? "%a %H:%M" : "%Y-%m-%d %H:%M";
    return std::string(text, std::strftime(text, sizeof text, form, &then));
}

std::string exact_clock_of(std::int64_t at, std::int64_t now) {
    const std::time_t time = at, today = now;
    std::tm then{}, here{};
    ::localtime_r(&time, &then);
    ::localtime_r(&today, &here);
    const bool same_day = then.tm_year == here.tm_year && then.tm_yday == here.tm_yday;
    char text[64];
    return std::string(
        text, std::strftime(text, sizeof text, same_day ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &then));
}

std::string span_of(std::int64_t seconds) {
    if (seconds < 0) seconds = 0;
    if (seconds < 120) return fmt::format("{} s", seconds);
    const std::int64_t minutes = (seconds + 30) / 60;
    if (minutes < 100) return fmt::format("{} min", minutes);
    if (minutes < 48 * 60) return fmt::format("{} h {} min", minutes / 60, minutes % 60);
    return fmt::format("{} d {} h", minutes / 1440, minutes % 1440 / 60);
}

}  // namespace cohort
