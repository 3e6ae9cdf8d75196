// SPDX-License-Identifier: GPL-2.0-or-later
//
// scohort: the administrator's command on the controller.
#include <exception>

#include "common/log.hpp"
#include "common/slurm/load.hpp"
#include "rebootprog/command_line.hpp"
#include "rebootprog/doctor/doctor.hpp"
#include "rebootprog/guard_verbs.hpp"
#include "rebootprog/lifecycle_command.hpp"
#include "rebootprog/rollout/advance.hpp"
#include "rebootprog/rollout/plan.hpp"
#include "rebootprog/rollout/rollout_command.hpp"
#include "rebootprog/settings_verbs.hpp"
#include "rebootprog/view/view_command.hpp"

namespace {

using namespace cohort;

constexpr char program_name[] = "scohort";

Result<Site> start() {
    slurm::initialise_library();
    auto site = load_site();
    if (!site) return site;
    if (auto done = become_slurm_user(site->slurm); !done) return tl::unexpected(done.error());
    return site;
}

// The verbs of settings_verbs.hpp and their options.
struct SettingsCommand {
    SettingsRequest request;
    CLI::App* settings = nullptr;
    CLI::App* set = nullptr;

    explicit SettingsCommand(CLI::App& app) {
        settings = app.add_subcommand("settings",
                                      "a cohort's wanted runtime settings, kept on the controller");
        settings->require_subcommand(1);
        settings->footer(
            "Keys: worker_image flox_env flox_generation activate_mode skip_containers "
            "env_exports path_precedence worker_cpus worker_mem_mb home_path\n"
            "(or WORKER_IMAGE WORKER_FLOX_ENV ..., see scohort(8)).");
        auto* get = settings->add_subcommand("get", "print them as a settings file");
        set = settings->add_subcommand("set", "keep KEY=VALUE; KEY- forgets one");
        set->add_option("changes", request.changes, "KEY=VALUE or KEY-");
        for (auto* verb : {get, set}) {
            verb->add_option("-c,--cohort", request.cohort, "its Cohort= line; default: the site");
            verb->add_flag("--from-env", request.from_env,
                           "the WORKER_ variables that are set here come over the kept ones");
            verb->add_flag("--json", request.json, "JSON instead of a settings file");
        }
    }
    bool parsed() const { return settings->parsed(); }
    int run(const Site& site) const {
        return set->parsed() ? settings_set(site, request) : settings_get(site, request);
    }
};

// adopt, guard, detach.
class GuardVerbs {
  public:
    explicit GuardVerbs(CLI::App& app) {
        adopt_ = app.add_subcommand("adopt", "label nodes by what they run: the guard begins");
        adopt_->add_option("-w,--nodelist", nodes_, "only these nodes (a host list)");
        guard_ = app.add_subcommand("guard",
                                    "in an emergency: 'off --for 30min', 'on'; without: how it is");
        guard_->add_option("word", word_, "off or on");
        guard_->add_option("--for", limit_, "how long it is off");
        detach_ =
            app.add_subcommand("detach", "take every trace of slurm-cohort off jobs and nodes");
    }
    bool parsed() const { return adopt_->parsed() || guard_->parsed() || detach_->parsed(); }
    int run(const Site& site) const {
        if (adopt_->parsed()) return adopt(site, nodes_);
        if (guard_->parsed()) return guard_switch(site, word_, limit_);
        return detach(site);
    }

  private:
    std::string nodes_, word_, limit_;
    CLI::App *adopt_, *guard_, *detach_;
};

int run(int argc, char** argv) {
    CLI::App app{"scohort: rolls a cluster to a new image through the job queue"};
    app.require_subcommand(1);
    bool json = false, quiet = false;
    const RolloutVerbs rollout_verbs(app);
    ViewVerbs view_verbs(app);
    auto* advance_command = app.add_subcommand(
        "advance", "one step: release, give back, adopt, re-assert (idempotent)");
    advance_command->add_flag("-q,--quiet", quiet, "say nothing when there is nothing to do");
    const LifecycleVerbs lifecycle_verbs(app);
    const GuardVerbs guard_verbs(app);
    const SettingsCommand settings_command(app);
    auto* doctor_command =
        app.add_subcommand("doctor", "what of the site's set-up would go wrong; changes nothing");
    doctor_command->add_flag("--json", json, "JSON instead of lines");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return usage_exit(app, error);
    }
    log::set_sink(log::syslog_and_stderr_sink(program_name));
    if (doctor_command->parsed()) return doctor(json);
    const std::string who = invoking_person();
    auto site = start();
    if (!site) {
        log::error("{}", site.error().message);
        return exit_code_of(site.error().code);
    }
    if (rollout_verbs.parsed()) return rollout_verbs.run(*site, who);
    if (lifecycle_verbs.parsed()) return lifecycle_verbs.run(*site, who);
    if (guard_verbs.parsed()) return guard_verbs.run(*site);
    if (settings_command.parsed()) return settings_command.run(*site);
    if (view_verbs.parsed()) return view_verbs.run(*site);
    return advance(*site, !quiet);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "scohort: %s\n", e.what());
        return exit_code::some_failed;
    }
}
