// SPDX-License-Identifier: GPL-2.0-or-later
//
// The command line of plan, rebuild, and what is done with a rollout. For scohort_main.cpp only.
#pragma once

#include <string>

#include "rebootprog/command_line.hpp"
#include "rebootprog/rollout/plan.hpp"
#include "rebootprog/rollout/rollout_verbs.hpp"

namespace cohort {

inline void add_choice(CLI::App* verb, Choice& choice) {
    verb->add_option("COHORT", choice.cohort, "a cohort, or a partition (default: every node)");
    verb->add_option("-w,--nodelist", choice.nodes, "these nodes (a host list)");
    verb->add_option("-p,--partition", choice.partition, "the nodes of this partition");
    verb->add_option("--to", choice.image, "this image (id or name) instead of each node's file");
}

class RolloutVerbs {
  public:
    explicit RolloutVerbs(CLI::App& app) {
        plan_ = app.add_subcommand("plan", "what would be done to which node; changes nothing");
        add_choice(plan_, options_.choice);
        plan_->add_flag("--json", json_, "JSON instead of a table");
        rebuild_ = app.add_subcommand("rebuild", "begin a rollout: a rebuild job for each node");
        add_choice(rebuild_, options_.choice);
        add_limits(rebuild_);
        pause_ = add(app, "pause", "nothing new begins until 'resume'");
        resume_ = add(app, "resume", "go on with what was paused or halted");
        abort_ = add(app, "abort", "cancel what has not begun");
        rollback_ = add(app, "rollback", "bring changed nodes back to the image they had before");
        retry_ = app.add_subcommand("retry", "begin failed nodes anew");
        retry_->add_option("NODES", nodes_, "a host list")->required();
        for (auto* verb : {pause_, abort_})
            verb->add_option("--reason", options_.reason, "why, for the journal");
    }

    bool parsed() const {
        for (const auto* verb : {plan_, rebuild_, pause_, resume_, abort_, rollback_, retry_})
            if (verb->parsed()) return true;
        return false;
    }

    int run(const Site& site, const std::string& who) const {
        if (plan_->parsed()) return plan(site, options_.choice, json_);
        if (rebuild_->parsed()) return rebuild(site, options_, who);
        if (pause_->parsed()) return pause_rollout(site, rollout_, options_.reason, who);
        if (resume_->parsed()) return resume_rollout(site, rollout_, who);
        if (abort_->parsed()) return abort_rollout(site, rollout_, options_.reason, who);
        if (rollback_->parsed()) return rollback(site, rollout_, who);
        return retry_nodes(site, nodes_, who);
    }

  private:
    CLI::App* add(CLI::App& app, const char* name, const char* words) {
        auto* verb = app.add_subcommand(name, words);
        verb->add_option("ROLLOUT", rollout_, "its number (default: all that are under way)")
            ->check(CLI::PositiveNumber);
        return verb;
    }

    void add_limits(CLI::App* verb) {
        verb->add_option("--max-unavailable", options_.max_unavailable,
                         "so many nodes (or N%) may be out of service at once, whatever the cause");
        verb->add_option("--min-available", options_.min_available,
                         "so many nodes (or N%) stay in service");
        verb->add_option("--failure-budget", options_.failure_budget,
                         "more failed nodes than this halt the rollout")
            ->check(CLI::NonNegativeNumber);
        verb->add_option("--canary", options_.canary, "so many nodes first")
            ->check(CLI::NonNegativeNumber);
        verb->add_option("--soak", options_.soak, "time between the canaries' end and the others");
        verb->add_option("--order", options_.order,
                         "free (idle nodes and those that free soonest first), name, given")
            ->check(CLI::IsMember({"free", "name", "given"}));
        verb->add_option("--window", options_.window,
                         "begin nodes only in HH:MM-HH:MM, local time");
        verb->add_option("--via", options_.via,
                         "job: a rebuild job for each node; reboot: drain, and scontrol reboot")
            ->check(CLI::IsMember({"job", "reboot"}));
        verb->add_option("--reason", options_.reason, "why, for the journal");
        verb->add_flag("--allow-quarantined", options_.allow_quarantined,
                       "take images out of quarantine first");
        verb->add_flag("-n,--dry-run", options_.dry_run, "say what would be done");
    }

    RebuildOptions options_;
    bool json_ = false;
    std::int64_t rollout_ = 0;
    std::string nodes_;
    CLI::App *plan_, *rebuild_, *pause_, *resume_, *abort_, *rollback_, *retry_;
};

}  // namespace cohort
