// SPDX-License-Identifier: GPL-2.0-or-later
//
// The command line of what whole nodes and cohorts go through: reconcile, barrier. For
// scohort_main.cpp only.
#pragma once

#include <string>

#include "rebootprog/barrier/barrier_verb.hpp"
#include "rebootprog/command_line.hpp"
#include "rebootprog/reconcile/reconcile.hpp"

namespace cohort {

class LifecycleVerbs {
  public:
    explicit LifecycleVerbs(CLI::App& app) {
        reconcile_ = app.add_subcommand(
            "reconcile", "delete dynamic nodes whose machine is gone; once, as its timer does");
        reconcile_->add_flag("-n,--dry-run", reconcile_options_.dry_run, "say what would be done");
        reconcile_->add_flag("--json", reconcile_options_.json, "JSON instead of a table");
        reconcile_->add_flag("-q,--quiet", reconcile_options_.quiet,
                             "name only nodes that something is done with");
        reconcile_->add_flag("--invalid-reg", reconcile_options_.invalid_reg,
                             "only repair dynamic nodes whose registration is refused");
        reconcile_->add_option("--min-age", reconcile_options_.min_age,
                               "so long a node is stale before it is deleted (ReconcileAge)");
        add_barrier(app);
    }

    bool parsed() const { return reconcile_->parsed() || barrier_->parsed(); }

    int run(const Site& site, const std::string& who) const {
        if (barrier_->parsed()) return barrier(site, barrier_options_, who);
        return reconcile(site, reconcile_options_, who);
    }

  private:
    void add_barrier(CLI::App& app) {
        auto& o = barrier_options_;
        barrier_ = app.add_subcommand(
            "barrier", "close a cohort, bring all of it to one revision, and open it again");
        barrier_->add_option("-c,--cohort", o.cohort, "a Cohort= line, or a partition")->required();
        barrier_->add_option("--to", o.image,
                             "this image (id or name) instead of each node's file");
        barrier_->add_option("--revision", o.revision, "the label that every node must have then");
        barrier_->add_option("--command", o.command,
                             "this program replaces the machines, instead of the cloud");
        barrier_->add_option("--wait", o.wait,
                             "give up, and undo, when jobs run so long (default: wait)");
        barrier_->add_option("--time", o.time,
                             "so long machines may take to be replaced and back (1h)");
        barrier_->add_option("--reason", o.reason, "why, for the journal");
        barrier_->add_flag("--check-only", o.check_only, "only say whether jobs are in the way");
        barrier_->add_flag("--undo", o.undo, "open again what was closed and not yet replaced");
    }

    ReconcileOptions reconcile_options_;
    BarrierOptions barrier_options_;
    CLI::App *reconcile_, *barrier_;
};

}  // namespace cohort
