// SPDX-License-Identifier: GPL-2.0-or-later
//
// The command line of what only looks: status, watch, history, metrics, report. For
// scohort_main.cpp only.
#pragma once

#include <string>

#include "rebootprog/command_line.hpp"
#include "rebootprog/view/view_verbs.hpp"

namespace cohort {

class ViewVerbs {
  public:
    explicit ViewVerbs(CLI::App& app) {
        status_ = add(app, "status", "how far a rollout is, and what each node waits for");
        status_->add_flag("--json", history_options_.json, "JSON instead of a table");
        watch_ = add(app, "watch", "the same until it ends, drawn anew every two seconds");
        watch_->add_option("-n,--interval", seconds_, "seconds between two looks")
            ->check(CLI::Range(0.2, 3600.0));
        watch_->add_flag("--no-advance", no_advance_, "only look: take no step of advance");
        history_ = add(app, "history", "all rollouts, or one's events, or a node's rebuilds");
        history_->add_option("-w,--node", history_options_.node, "the rebuilds of this node");
        history_->add_option("--limit", history_options_.limit, "at most so many lines (50)")
            ->check(CLI::Range(1, 1000000));
        history_->add_flag("--json", history_options_.json, "JSON instead of a table");
        report_ = add(app, "report", "one HTML page: nodes and jobs over time");
        metrics_ = app.add_subcommand("metrics", "numbers for Prometheus");
        for (auto* verb : {report_, metrics_})
            verb->add_option("-o,--output", file_, "replace this file (default: print)");
    }

    bool parsed() const {
        for (const auto* verb : {status_, watch_, history_, metrics_, report_})
            if (verb->parsed()) return true;
        return false;
    }

    int run(const Site& site) {
        if (status_->parsed()) return status(site, rollout_, history_options_.json);
        if (watch_->parsed())
            return watch(site,
                         {rollout_, std::chrono::milliseconds(static_cast<long>(seconds_ * 1000)),
                          !no_advance_});
        history_options_.rollout = rollout_;
        if (history_->parsed()) return history(site, history_options_);
        if (report_->parsed()) return report(site, rollout_, file_);
        return metrics(site, file_);
    }

  private:
    CLI::App* add(CLI::App& app, const char* name, const char* words) {
        auto* verb = app.add_subcommand(name, words);
        verb->add_option("ROLLOUT", rollout_, "its number")->check(CLI::PositiveNumber);
        return verb;
    }

    std::int64_t rollout_ = 0;
    double seconds_ = 2;
    bool no_advance_ = false;
    std::string file_;
    HistoryOptions history_options_;
    CLI::App *status_, *watch_, *history_, *metrics_, *report_;
};

}  // namespace cohort
