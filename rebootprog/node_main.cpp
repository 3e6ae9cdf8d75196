// SPDX-License-Identifier: GPL-2.0-or-later
//
// cohort-node: the commands of a compute node. No credentials, no cloud.
#include <exception>

#include "common/log.hpp"
#include "common/settings.hpp"
#include "common/slurm/load.hpp"
#include "rebootprog/command_line.hpp"
#include "rebootprog/node_join.hpp"

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
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return usage_exit(app, error);
    }
    log::set_sink(log::syslog_and_stderr_sink(program_name));
    const Settings settings = node_settings();
    slurm::initialise_library();
    if (join->parsed()) return before ? join_before(settings) : join_after(settings);
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
