// SPDX-License-Identifier: GPL-2.0-or-later
//
// cohort-reboot NODES [FEATURES]: Slurm's RebootProgram; as cohort-resume, cohort-suspend and
// cohort-resume-fail (links to it) its programs of power saving.
//
// slurmctld waits for this program in some versions and kills its process group in others: it reads
// its arguments, gets away, and works detached. The exit status of the caller's half is only logged
// by Slurm; what happens to a node is told through the node itself, the journal and syslog.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "common/log.hpp"
#include "common/slurm/hostlist.hpp"
#include "common/slurm/load.hpp"
#include "rebootprog/power/power_run.hpp"
#include "rebootprog/reboot/engine.hpp"
#include "rebootprog/site/process.hpp"

namespace {

using namespace cohort;

constexpr const char* usage =
    "usage: cohort-reboot [--foreground] NODES [FEATURES]\n"
    "       cohort-resume | cohort-suspend | cohort-resume-fail [--foreground] NODES\n"
    "Slurm's RebootProgram: rebuilds or reboots NODES (a host list) through the cloud; under its "
    "other\n"
    "names ResumeProgram (makes their servers), SuspendProgram (removes them), ResumeFailProgram.\n"
    "  --foreground  stay, log to standard error as well, exit with the result\n";

// Slurm passes no arguments of ours: what it is to do is in the name that it is called by.
const char* program_of(const char* argv0) {
    const std::string_view path = argv0 ? argv0 : "";
    const std::string_view name = path.substr(path.rfind('/') + 1);
    for (const char* one : {"cohort-resume", "cohort-suspend", "cohort-resume-fail"})
        if (name == one) return one;
    return "cohort-reboot";
}

struct Arguments {
    bool foreground = false;
    bool help = false;
    std::string nodes;
    bool valid = false;
};

// Slurm passes NODES and, when the job asked for some, FEATURES: nothing else can be configured.
Arguments read_arguments(int argc, char** argv) {
    Arguments arguments;
    int position = 0;
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        if (word == "--foreground") {
            arguments.foreground = true;
        } else if (word == "--help" || word == "-h") {
            arguments.help = true;
        } else if (position++ == 0) {
            arguments.nodes = word;
        }
    }
    arguments.valid = position >= 1 && position <= 2 && !arguments.nodes.starts_with('-');
    return arguments;
}

int work(std::string_view program, const std::vector<std::string>& nodes) {
    slurm::initialise_library();
    auto site = load_site();
    if (!site) {
        log::error("{}: {}", slurm::compress_hosts(nodes), site.error().message);
        if (is_power_program(program)) return exit_code_of(site.error().code);
        for (const auto& node : nodes)
            if (auto out = SlurmDesk().take_out(node, site.error().message); !out)
                log::error("{}: {}", node, out.error().message);
        return exit_code_of(site.error().code);
    }
    // With power saving on, Slurm up to 25.11 runs ResumeProgram for a --reboot job, and only then
    // with a job's id.
    const bool reboots = program == "cohort-resume" && std::getenv("SLURM_JOB_ID");
    if (is_power_program(program) && !reboots) return run_power(*site, program, nodes);
    return run_nodes(*site, nodes);
}

int run(int argc, char** argv) {
    if (!reopen_descriptors()) return exit_code::some_failed;
    reset_signals();
    complete_environment();
    const Arguments arguments = read_arguments(argc, argv);
    if (arguments.help) {
        std::fputs(usage, stdout);
        return exit_code::ok;
    }
    const char* program = program_of(argv[0]);
    log::set_sink(log::syslog_sink(program));
    auto nodes = arguments.valid ? slurm::expand_hosts(arguments.nodes)
                                 : fail(Errc::invalid, "NODES is missing");
    if (!nodes || nodes->empty()) {
        log::error("bad arguments: {}", nodes ? "no nodes" : nodes.error().message);
        std::fputs(usage, stderr);
        return exit_code::usage;
    }
    log::info("asked for {} ({} nodes)", arguments.nodes, nodes->size());
    if (arguments.foreground) {
        log::set_sink(log::syslog_and_stderr_sink(program));
        return work(program, *nodes);
    }
    auto role = detach();
    if (!role) {
        log::error("cannot detach: {}", role.error().message);
        return exit_code::some_failed;
    }
    return *role == Role::caller ? exit_code::ok : work(program, *nodes);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& e) {
        log::error("unexpected: {}", e.what());
        return exit_code::some_failed;
    }
}
