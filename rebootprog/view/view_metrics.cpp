// SPDX-License-Identifier: GPL-2.0-or-later
//
// Prometheus' text format. Values are of one moment; names do not change.
#include <algorithm>
#include <iterator>
#include <map>

#include <fmt/core.h>

#include "rebootprog/view/view_render.hpp"

namespace cohort {
namespace {

std::string escaped(std::string_view value) {
    std::string out;
    for (const char c : value) {
        if (c == '\\' || c == '"') out += '\\';
        if (c == '\n')
            out += "\\n";
        else
            out += c;
    }
    return out;
}

class Text {
  public:
    void family(const char* name, const char* help) {
        text_ += fmt::format("# HELP {} {}\n# TYPE {} gauge\n", name, help, name);
        name_ = name;
    }
    void value(double value, std::string_view label = {}, std::string_view is = {},
               int digits = 3) {
        const std::string labels =
            label.empty() ? std::string() : fmt::format("{{{}=\"{}\"}}", label, escaped(is));
        // Whole numbers stay whole, also large ones.
        const auto whole = static_cast<std::int64_t>(value);
        if (static_cast<double>(whole) == value)
            text_ += fmt::format("{}{} {}\n", name_, labels, whole);
        else
            text_ += fmt::format("{}{} {:.{}f}\n", name_, labels, value, digits);
    }
    void single(const char* name, const char* help, double number) {
        family(name, help);
        value(number);
    }
    std::string take() { return std::move(text_); }

  private:
    std::string text_, name_;
};

double number(std::size_t value) {
    return static_cast<double>(value);
}

// slurmctld's time inside the plugin's hooks, since slurmctld began.
void hooks_part(const HookSummary& hooks, Text& text) {
    text.single("cohort_hook_calls", "Calls of job_submit and job_modify since slurmctld began.",
                static_cast<double>(hooks.calls));
    text.family("cohort_hook_seconds", "Time inside one call, by quantile; 1 is the longest.");
    text.value(hooks.median_us / 1e6, "quantile", "0.5", 7);
    text.value(hooks.p99_us / 1e6, "quantile", "0.99", 7);
    text.value(hooks.max_us / 1e6, "quantile", "1", 7);
}

void rollout_part(const View& view, const Progress& progress, Text& text) {
    text.family("cohort_rollout_state", "1 for the state of the newest rollout.");
    for (const auto state : {RolloutState::active, RolloutState::paused, RolloutState::halted,
                             RolloutState::aborted, RolloutState::done})
        text.value(view.rollout && view.rollout->state == state ? 1 : 0, "state", name_of(state));
    text.family("cohort_rollout_nodes", "Nodes of the newest rollout by step.");
    for (const auto step : {Step::planned, Step::held, Step::released, Step::rebuilding, Step::done,
                            Step::failed, Step::cancelled})
        text.value(number(progress.of(step)), "step", name_of(step));
    text.single("cohort_rollout_id", "Number of the newest rollout, 0 when there is none.",
                view.rollout ? static_cast<double>(view.rollout->id) : 0);
    text.single("cohort_rollout_began_seconds", "When it began, since the epoch.",
                view.rollout ? static_cast<double>(view.rollout->began) : 0);
    text.single("cohort_rollout_nodes_per_hour", "Nodes that ended, since the first began.",
                progress.per_hour);
    if (progress.end)
        text.single("cohort_rollout_end_seconds",
                    "When it ends or ended, since the epoch; estimated.",
                    static_cast<double>(*progress.end));
    text.single("cohort_rebuild_seconds", "Median from the start of a rebuild to its proof.",
                static_cast<double>(progress.node_seconds));
}

}  // namespace

std::string metrics_of(const View& view) {
    const Progress progress = progress_of(view);
    Text text;
    rollout_part(view, progress, text);
    text.single("cohort_nodes", "Nodes that the limits are counted in.", number(view.scope));
    text.single("cohort_nodes_out_of_service", "Of them, out of service now.", number(view.out));
    text.single("cohort_nodes_out_of_service_limit", "How many may be, by MaxUnavailable.",
                number(view.out_limit));
    text.single("cohort_nodes_kept_for_rebuild", "Kept for a rebuild job that waits.",
                number(progress.held_nodes));
    text.family("cohort_user_jobs", "Jobs that are no rebuild jobs, on the whole site.");
    text.value(number(view.users_running), "state", "running");
    text.value(number(view.users_waiting), "state", "pending");
    text.family("cohort_cloud_actions", "Actions of the cloud: under way, and at most.");
    text.value(view.slots_used, "kind", "running");
    text.value(view.slots, "kind", "limit");
    text.single("cohort_breaker_open", "1 while the cloud is out of reach.", view.breaker ? 1 : 0);
    text.single("cohort_images_quarantined", "Images that no rollout begins with.",
                number(view.quarantined.size()));
    if (view.hooks) hooks_part(*view.hooks, text);
    text.single("cohort_metrics_written_seconds", "When this was written, since the epoch.",
                static_cast<double>(view.now));
    return text.take();
}

}  // namespace cohort
