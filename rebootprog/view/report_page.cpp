// SPDX-License-Identifier: GPL-2.0-or-later
//
// The page of `scohort report`. Rows are HTML boxes placed by per cent of time, so that the page
// fits any width without a script; only the two curves are SVG.
#include <algorithm>
#include <ctime>
#include <unordered_map>

#include <fmt/core.h>

#include "rebootprog/view/report.hpp"
#include "rebootprog/view/report_style.hpp"

namespace cohort {
namespace {

using Kind = ReportSpan::Kind;

constexpr std::size_t dense_from = 40;
constexpr std::size_t most_job_bars = 20000;

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                // Control characters are not allowed in HTML.
                out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
        }
    }
    return out;
}

std::string local(std::int64_t at, const char* form) {
    if (at == 0) return "-";
    const std::time_t time = at;
    std::tm then{};
    ::localtime_r(&time, &then);
    char text[64];
    return std::string(text, std::strftime(text, sizeof text, form, &then));
}

struct Look {
    const char* css;
    const char* words;
};

Look look_of(const ReportSpan& span, const RolloutNode& row) {
    switch (span.kind) {
        case Kind::waiting:
            return {"wait", "waits until its jobs have ended"};
        case Kind::rebuilding:
            return {"build", "is rebuilt"};
        case Kind::booting:
            return {"boot", "boots and proves itself"};
        case Kind::failed:
            return {"fail", "out of service"};
        case Kind::serving:
            break;
    }
    if (row.step == Step::done && row.ended != 0 && span.from >= row.ended)
        return {"new", "serves on the new image"};
    return {"old", "serves on the old image"};
}

class Page {
  public:
    explicit Page(const Report& report)
        : report_(report),
          view_(report.view),
          rollout_(*report.view.rollout),
          progress_(progress_of(report.view)),
          time_(time_of(report)) {}

    std::string render() {
        head();
        alarms();
        tiles();
        picture();
        failures();
        nodes();
        events();
        add("<footer>Written {} by scohort report{}. Bars of users' jobs are what slurmctld and "
            "slurmdbd know of them.</footer>\n</main>\n</body>\n</html>\n",
            local(view_.now, "%Y-%m-%d %H:%M:%S %Z"),
            view_.cluster.empty() ? "" : " on cluster " + escaped(view_.cluster));
        return std::move(out_);
    }

  private:
    template <class... A>
    void add(fmt::format_string<A...> form, A&&... a) {
        out_ += fmt::format(form, std::forward<A>(a)...);
    }

    double percent(std::int64_t at) const {
        const std::int64_t inside = std::clamp(at, time_.begin, time_.end);
        return 100.0 * static_cast<double>(inside - time_.begin) /
               static_cast<double>(time_.end - time_.begin);
    }

    void head() {
        const std::string state(name_of(rollout_.state));
        const bool bad =
            rollout_.state == RolloutState::halted || rollout_.state == RolloutState::aborted;
        const char* css = bad               ? "bad"
                          : rollout_.open() ? (state == "paused" ? "paused" : "")
                                            : "done";
        add("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta name=\"color-scheme\" content=\"light dark\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
            "style-src 'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n"
            "<title>Rollout {}{}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n",
            rollout_.id, view_.cluster.empty() ? "" : " of " + escaped(view_.cluster),
            report_style);
        add("<header>\n<h1>Rollout {}{}<span class=\"pill {}\">{}</span></h1>\n", rollout_.id,
            rollout_.image.empty() ? "" : " to " + escaped(rollout_.image), css, state);
        add("<p>{}begun {} by {}{}</p>\n</header>\n",
            rollout_.reason.empty() ? "" : escaped(rollout_.reason) + " &middot; ",
            local(rollout_.began, "%Y-%m-%d %H:%M:%S"), escaped(rollout_.who),
            rollout_.ended == 0 ? "" : ", ended " + local(rollout_.ended, "%Y-%m-%d %H:%M:%S"));
    }

    void alarms() {
        std::vector<std::string> lines;
        if (view_.breaker) lines.push_back("The cloud is out of reach: " + view_.breaker->reason);
        if (!rollout_.why.empty() && rollout_.state != RolloutState::done)
            lines.push_back(rollout_.why);
        for (const auto& image : view_.quarantined)
            lines.push_back(
                fmt::format("Image {} is in quarantine: {}", image.image, image.reason));
        for (const auto& line : lines) add("<div class=\"card alarm\">{}</div>\n", escaped(line));
    }

    void tile(const std::string& value, std::string_view words, bool bad = false) {
        add("<div class=\"tile{}\"><b>{}</b><span>{}</span></div>\n", bad ? " bad" : "",
            escaped(value), escaped(words));
    }

    void tiles() {
        const std::size_t failed = progress_.of(Step::failed);
        const std::int64_t end = rollout_.ended != 0 ? rollout_.ended : view_.now;
        std::size_t most = 0;
        for (const auto& [at, count] : nodes_out(report_, time_)) most = std::max(most, count);
        add("<section class=\"tiles\">\n");
        tile(fmt::format("{} / {}", progress_.of(Step::done), progress_.total), "nodes done");
        tile(fmt::format("{}", failed), "nodes failed", failed != 0);
        tile(span_of(end - rollout_.began), rollout_.open() ? "so far" : "from begin to end");
        tile(progress_.node_seconds == 0 ? "-" : span_of(progress_.node_seconds),
             "a node takes (median)");
        tile(fmt::format("{} / {}", most, view_.out_limit), "most out at once / allowed");
        tile(fmt::format("{}", report_.jobs.size()), "users' jobs ran meanwhile");
        if (rollout_.open() && progress_.end)
            tile(local(*progress_.end, "%H:%M"), "done, as far as can be told");
        add("</section>\n<div class=\"bar\" role=\"img\" aria-label=\"{} of {} nodes done\">",
            progress_.of(Step::done), progress_.total);
        for (const auto& [step, css] :
             {std::pair{Step::done, "new"}, std::pair{Step::failed, "fail"},
              std::pair{Step::rebuilding, "build"}, std::pair{Step::released, "wait"}})
            add("<i class=\"{}\" style=\"width:{:.2f}%\"></i>", css,
                progress_.total == 0 ? 0.0
                                     : 100.0 * static_cast<double>(progress_.of(step)) /
                                           static_cast<double>(progress_.total));
        add("</div>\n");
    }

    // Round times of the local day.
    std::vector<std::int64_t> ticks() const {
        const std::time_t first = time_.begin;
        std::tm then{};
        ::localtime_r(&first, &then);
        const std::int64_t shift = then.tm_gmtoff;
        std::int64_t at = (time_.begin + shift + time_.tick - 1) / time_.tick * time_.tick - shift;
        std::vector<std::int64_t> found;
        for (; at <= time_.end; at += time_.tick) found.push_back(at);
        return found;
    }

    void axis() {
        const char* form = time_.tick < 60 ? "%H:%M:%S" : time_.tick < 43200 ? "%H:%M" : "%b %d";
        add("<div class=\"row axis\"><span></span><div class=\"track\">");
        for (const auto at : ticks())
            add("<em style=\"left:{:.2f}%\">{}</em>", percent(at), local(at, form));
        add("</div><span></span></div>\n");
    }

    void legend() {
        add("<p class=\"legend\">");
        for (const auto& [css, words] :
             {std::pair{"old", "serves on the old image"},
              std::pair{"wait", "kept for its rebuild"}, std::pair{"build", "is rebuilt"},
              std::pair{"boot", "boots and proves itself"},
              std::pair{"new", "serves on the new image"}, std::pair{"fail", "out of service"},
              std::pair{"job", "a user's job runs"}})
            add("<span><i class=\"{}\"></i>{}</span>", css, words);
        add("</p>\n");
    }

    void chart(const char* name, const Steps& steps, const char* colour, std::size_t limit) {
        std::size_t most = std::max<std::size_t>(1, limit);
        for (const auto& [at, count] : steps) most = std::max(most, count);
        const auto height = [&](std::size_t count) {
            return 60.0 - 56.0 * static_cast<double>(count) / static_cast<double>(most);
        };
        std::string path = "M0 60";
        for (const auto& [at, count] : steps)
            path += fmt::format(" H{:.2f} V{:.2f}", 10 * percent(at), height(count));
        add("<div class=\"row chart\"><span>{}</span><div class=\"track\"><svg viewBox=\"0 0 1000 "
            "60\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\"><path d=\"{} V60 Z\" "
            "fill=\"var(--{})\" opacity=\".75\"/>",
            name, name, path, colour);
        if (limit != 0)
            add("<path d=\"M0 {0:.2f} H1000\" stroke=\"var(--limit)\" fill=\"none\" "
                "stroke-dasharray=\"6 5\" vector-effect=\"non-scaling-stroke\"/>",
                height(limit));
        add("</svg></div><span>{}{}</span></div>\n", fmt::format("max {}", most_of(steps)),
            limit == 0 ? "" : fmt::format("<br>of {}", limit));
    }

    static std::size_t most_of(const Steps& steps) {
        std::size_t most = 0;
        for (const auto& [at, count] : steps) most = std::max(most, count);
        return most;
    }

    void picture() {
        add("<section class=\"card\">\n<h2>Nodes and jobs over time</h2>\n");
        legend();
        add("<div class=\"plot{}\">\n<div class=\"grid\">",
            view_.nodes.size() >= dense_from ? " dense" : "");
        for (const auto at : ticks()) add("<i style=\"left:{:.2f}%\"></i>", percent(at));
        add("</div>\n");
        axis();
        chart("Users' jobs that run", jobs_running(report_, time_), "job", 0);
        chart("Nodes out of service", nodes_out(report_, time_), "build", view_.out_limit);
        std::unordered_map<std::string, std::vector<const ReportJob*>> jobs;
        for (const auto& job : report_.jobs)
            for (const auto& node : job.nodes) jobs[node].push_back(&job);
        for (const auto& node : view_.nodes) row(node, jobs[node.row.node]);
        add("</div>\n");
        if (bars_ >= most_job_bars)
            add("<p class=\"legend\">Only the first {} job bars are drawn.</p>\n", most_job_bars);
        add("</section>\n");
    }

    void box(const char* css, std::int64_t from, std::int64_t to, const std::string& title) {
        const double left = percent(from), right = percent(to);
        if (right <= left) return;
        add("<i class=\"{}\" style=\"left:{:.3f}%;width:{:.3f}%\" title=\"{}\"></i>", css, left,
            right - left, escaped(title));
    }

    std::string period(std::int64_t from, std::int64_t to) const {
        return fmt::format("{} to {}, {}", local(from, "%H:%M:%S"), local(to, "%H:%M:%S"),
                           span_of(to - from));
    }

    void row(const ViewNode& node, const std::vector<const ReportJob*>& jobs) {
        const bool failed = node.row.step == Step::failed;
        add("<div class=\"row{}\" data-node=\"{}\" data-step=\"{}\"><span title=\"{}\">{}</span>"
            "<div class=\"track\">",
            failed ? " bad" : "", escaped(node.row.node), word_of(node),
            escaped(node.row.node + " " + word_of(node) + ": " + what_of(node, view_.now)),
            escaped(node.row.node));
        for (const auto& span : spans_of(node, time_.begin, time_.end)) {
            const Look look = look_of(span, node.row);
            box(look.css, span.from, span.to,
                fmt::format("{} {}: {}", node.row.node, look.words, period(span.from, span.to)));
        }
        for (const auto* job : jobs) {
            if (bars_++ >= most_job_bars) break;
            const std::int64_t end = job->end != 0 ? job->end : view_.now;
            box("job", job->start, end,
                fmt::format("job {} of {} on {} nodes: {}", job->id, job->user, job->nodes.size(),
                            period(job->start, end)));
        }
        const bool took = node.row.step == Step::done && node.row.started != 0;
        add("</div><span>{}</span></div>\n",
            took ? span_of(node.row.ended - node.row.started) : word_of(node));
    }

    void failures() {
        if (progress_.of(Step::failed) == 0) return;
        add("<section class=\"card alarm\">\n<h2>Failed nodes</h2>\n<div class=\"wide\"><table>\n"
            "<tr><th>Node<th>When<th>State<th>Why<th>Request</tr>\n");
        for (const auto& node : view_.nodes)
            if (node.row.step == Step::failed)
                add("<tr><td>{}<td>{}<td>{}<td>{}<td><code>{}</code></tr>\n",
                    escaped(node.row.node), local(node.row.ended, "%H:%M:%S"), escaped(node.state),
                    escaped(node.row.why.empty() ? node.reason : node.row.why),
                    escaped(node.attempt ? node.attempt->request : ""));
        add("</table></div>\n</section>\n");
    }

    void nodes() {
        add("<section class=\"card\">\n<details>\n<summary>All nodes ({})</summary>\n"
            "<div class=\"wide\"><table>\n<tr><th>Node<th>Step<th>Begun<th class=\"nr\">Took"
            "<th class=\"nr\">Job<th>Image before<th>Image after<th>Label<th>State</tr>\n",
            view_.nodes.size());
        for (const auto& node : view_.nodes) {
            const auto& row = node.row;
            add("<tr><td>{}<td>{}<td>{}<td class=\"nr\">{}<td class=\"nr\">{}<td><code>{}</code>"
                "<td><code>{}</code><td><code>{}</code><td>{}</tr>\n",
                escaped(row.node), word_of(node), local(row.started, "%H:%M:%S"),
                row.started != 0 && row.ended != 0 ? span_of(row.ended - row.started) : "-",
                row.job, escaped(row.image_from), escaped(row.image_to), escaped(node.label),
                escaped(node.state));
        }
        add("</table></div>\n</details>\n</section>\n");
    }

    void events() {
        if (report_.events.empty()) return;
        add("<section class=\"card\">\n<details>\n<summary>Events ({})</summary>\n"
            "<div class=\"wide\"><table>\n<tr><th>When<th>Node<th>Who<th>What</tr>\n",
            report_.events.size());
        for (const auto& event : report_.events)
            add("<tr><td>{}<td>{}<td>{}<td>{}</tr>\n", local(event.at, "%H:%M:%S"),
                escaped(event.node), escaped(event.who), escaped(event.text));
        add("</table></div>\n</details>\n</section>\n");
    }

    const Report& report_;
    const View& view_;
    const Rollout& rollout_;
    const Progress progress_;
    const ReportTime time_;
    std::size_t bars_ = 0;
    std::string out_;
};

}  // namespace

std::string html_of(const Report& report) {
    return Page(report).render();
}

}  // namespace cohort
