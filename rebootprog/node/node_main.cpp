// SPDX-License-Identifier: GPL-2.0-or-later
//
// cohort-node: the commands of a compute node. No credentials, no cloud.
#include <exception>

#include "common/log.hpp"
#include "common/settings.hpp"
#include "common/slurm/load.hpp"
#include "common/text.hpp"
#include "rebootprog/command_line.hpp"
#include "rebootprog/node/node_join.hpp"
#include "rebootprog/node/node_leave.hpp"
#include "rebootprog/node/node_once.hpp"
#include "rebootprog/node/node_profile.hpp"

namespace {

using namespace cohort;

constexpr char program_name[] = "cohort-node";

// A node without cohort.conf works by the defaults; a broken one is told and the defaults hold: a
// node that cannot be judged must not become unable to say so.
Settings node_settings() {
    auto loaded = load_configuration(configuration_path());
    if (loaded) return loaded->site;
    if (loaded.error().code != Errc::not_found) log::error("{}", loaded.error().message);
    return {};
}

// The verbs of the runtime (node_profile.hpp) and their options.
struct RuntimeVerbs {
    ProfileOptions options;
    CLI::App* write = nullptr;
    CLI::App* check = nullptr;
    CLI::App* revision = nullptr;
    CLI::App* report = nullptr;

    explicit RuntimeVerbs(CLI::App& app) {
        auto* profile = app.add_subcommand("profile", "the sealed task profile of this node");
        profile->require_subcommand(1);
        write = profile->add_subcommand("write", "seal what this image and environment give tasks");
        add_source(write);
        write->add_flag("--require-exports", options.require_exports,
                        "an allow-listed variable that is not set is an error");
        check = profile->add_subcommand("check", "exit 0 when it is whole and the published one");
        revision = app.add_subcommand("revision", "canonical settings, hash and short name");
        add_source(revision);
        revision->add_flag("--json", options.json, "as JSON");
        auto* slurmd = revision->add_flag("--slurmd", options.slurmd,
                                          "as arguments of a dynamic node's slurmd");
        revision->add_option("--conf", options.conf, "the site's own KEY=VALUE ...")->needs(slurmd);
        revision->add_option("--features", options.features, "more features")->needs(slurmd);
        revision->add_flag("--own", options.own, "the label of what runs here, and nothing else");
        for (auto* verb : {write, check, revision})
            verb->add_option("--directory", options.directory, "where the profile is");
        report = app.add_subcommand("report", "put the launch gate's reason on this node");
    }
    bool parsed() const {
        return write->parsed() || check->parsed() || revision->parsed() || report->parsed();
    }
    int run(const Settings& settings) const {
        if (write->parsed()) return node_profile_write(settings, options);
        if (check->parsed()) return node_profile_check(options);
        if (revision->parsed()) return node_revision(settings, options);
        return node_report();
    }

  private:
    void add_source(CLI::App* verb) {
        auto* from_env =
            verb->add_flag("--from-env", options.from_env, "settings from WORKER_ variables");
        verb->add_option("--settings", options.settings_file, "settings from this file")
            ->excludes(from_env);
    }
};

void add_time(CLI::App* verb, const char* name, std::chrono::milliseconds& time,
              const std::string& words) {
    verb->add_option_function<std::string>(
            name,
            [name, &time](const std::string& given) {
                const auto read = text::to_duration(given);
                if (!read)
                    throw CLI::ValidationError(name, "'" + given + "' is no time: 90s, 10min");
                time = *read;
            },
            words)
        ->type_name("TIME");
}

// join, leave and once, and their options.
struct LifeVerbs {
    JoinOptions join_options;
    LeaveOptions leave_options;
    OnceOptions once_options;
    bool before = false, after = false;
    CLI::App* join = nullptr;
    CLI::App* leave = nullptr;
    CLI::App* once = nullptr;

    explicit LifeVerbs(CLI::App& app) {
        join = app.add_subcommand("join", "publish what this node runs, or refuse to work");
        auto* when = join->add_option_group("when");
        when->add_flag("--before", before, "before slurmd starts: exit 0 lets it start");
        when->add_flag("--after", after, "after slurmd has started");
        when->require_option(1);
        add_time(join, "--wait", join_options.wait, "for the profile, the stamp, the steps (30s)");
        add_time(join, "--jitter", join_options.jitter, "--after begins within this time (0)");
        leave = app.add_subcommand("leave", "drain this node, wait for its jobs, and go");
        add_time(leave, "--timeout", leave_options.timeout,
                 "how long jobs may take to end (10min)");
        leave->add_flag("--force", leave_options.force, "DOWN at once, which ends the jobs");
        once = app.add_subcommand("once", "run a site's own boot step, once per disk");
        once->add_option("NAME", once_options.name, "of the step")->required();
        once->add_option("COMMAND", once_options.command, "after --, with its arguments")
            ->required();
        once->add_option("--tries", once_options.tries, "how often it may fail (3)")
            ->check(CLI::Range(1, 1000));
        add_time(once, "--pause", once_options.pause, "between two tries (10s)");
    }
};

int run(int argc, char** argv) {
    CLI::App app{"cohort-node: what a compute node does at boot, in a rebuild job and at shutdown"};
    app.require_subcommand(1);
    auto* verify_command =
        app.add_subcommand("verify", "payload of a rebuild job: succeed only on a proved node");
    const RuntimeVerbs runtime(app);
    LifeVerbs life(app);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return usage_exit(app, error);
    }
    log::set_sink(log::syslog_and_stderr_sink(program_name));
    const Settings settings = node_settings();
    // A profile is written, and a step run, where Slurm may not be reachable, or configured, yet.
    if (life.once->parsed()) return node_once(life.once_options);
    if (runtime.parsed() && !runtime.report->parsed()) return runtime.run(settings);
    if (life.join->parsed())
        return life.before ? join_before(settings, life.join_options)
                           : join_after(settings, life.join_options);
    slurm::initialise_library();
    if (runtime.parsed()) return runtime.run(settings);
    if (life.leave->parsed()) return node_leave(life.leave_options);
    if (verify_command->parsed()) return verify(settings);
    return exit_code::usage;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "cohort-node: %s\n", e.what());
        return exit_code::some_failed;
    }
}
