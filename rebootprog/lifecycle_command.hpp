// SPDX-License-Identifier: GPL-2.0-or-later
//
// The command line of what whole nodes and cohorts go through: reconcile. For scohort_main.cpp
// only.
#pragma once

#include <string>

#include "rebootprog/command_line.hpp"
#include "rebootprog/reconcile.hpp"

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
    }

    bool parsed() const { return reconcile_->parsed(); }

    int run(const Site& site, const std::string& who) const {
        return reconcile(site, reconcile_options_, who);
    }

  private:
    ReconcileOptions reconcile_options_;
    CLI::App* reconcile_;
};

}  // namespace cohort
