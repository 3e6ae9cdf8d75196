// SPDX-License-Identifier: GPL-2.0-or-later
//
// cohort-node: the commands of a compute node. No credentials, no cloud.
#include <exception>

#include "common/log.hpp"
#include "common/settings.hpp"
#include "common/slurm/load.hpp"
#include "common/text.hpp"
#include "rebootprog/command_line.hpp"
#include "rebootprog/node_join.hpp"
#include "rebootprog/node_leave.hpp"
#include "rebootprog/node_profile.hpp"

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
        revision->add_flag("--slurmd", options.slurmd, "as arguments of a dynamic node's slurmd");
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

// leave and its options.
struct LeaveVerb {
    LeaveOptions options;
    CLI::App* verb = nullptr;

    explicit LeaveVerb(CLI::App& app) {
        verb = app.add_subcommand("leave", "drain this node, wait for its jobs, and go");
        verb->add_option_function<std::string>(
                "--timeout",
                [this](const std::string& given) {
                    const auto time = text::to_duration(given);
                    if (!time) throw CLI::ValidationError("--timeout", "'" + given + "' is no time: 90s, 10min");
                    options.timeout = *time;
                },
                "how long jobs may take to end (10min)")
            ->type_name("TIME");
        verb->add_flag("--force", options.force, "do not wait: DOWN at once, which ends the jobs");
    }
};

int run(int argc, char** argv) {
    CLI::App app{"cohort-node: what a compute node does at boot, in a rebuild job and at shutdown"};
    app.require_subcommand(1);
    bool before = false, after = false;
    auto* join = app.add_subcommand("join", "publish what this node runs, or refuse to work");
    auto* when = join->add_option_group("when");
    when->add_flag("--before", before, "before slurmd starts: exit 0 lets it start");
    when->add_flag("--after", after, "after slurmd has started");
    when->require_option(1);
    auto* verify_command =
        app.add_subcommand("verify", "payload of a rebuild job: succeed only on a proved node");
    const RuntimeVerbs runtime(app);
    const LeaveVerb leave(app);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return usage_exit(app, error);
    }
    log::set_sink(log::syslog_and_stderr_sink(program_name));
    const Settings settings = node_settings();
    // A profile is written where Slurm may not be reachable, or configured, yet.
    if (runtime.parsed() && !runtime.report->parsed()) return runtime.run(settings);
    slurm::initialise_library();
    if (runtime.parsed()) return runtime.run(settings);
    if (join->parsed()) return before ? join_before(settings) : join_after(settings);
    if (leave.verb->parsed()) return node_leave(leave.options);
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
