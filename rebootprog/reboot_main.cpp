// SPDX-License-Identifier: GPL-2.0-or-later
//
// cohort-reboot NODES [FEATURES]: Slurm's RebootProgram.
//
// slurmctld waits for this program in some versions and kills its process group in others: it reads
// its arguments, gets away, and works detached. The exit status of the caller's half is only logged
// by Slurm; what happens to a node is told through the node itself, the journal and syslog.
#include <cstdio>
#include <exception>
#include <string_view>

#include "common/log.hpp"
#include "common/slurm/hostlist.hpp"
#include "common/slurm/load.hpp"
#include "rebootprog/engine.hpp"
#include "rebootprog/process.hpp"

namespace {

using namespace cohort;

constexpr char program_name[] = "cohort-reboot";

constexpr const char* usage =
    "usage: cohort-reboot [--foreground] NODES [FEATURES]\n"
    "Slurm's RebootProgram: rebuilds or reboots NODES (a host list) through the cloud.\n"
    "  --foreground  stay, log to standard error as well, exit with the result\n";

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

int work(const std::vector<std::string>& nodes) {
    slurm::initialise_library();
    auto site = load_site();
    if (!site) {
        log::error("{}: {}", slurm::compress_hosts(nodes), site.error().message);
        for (const auto& node : nodes)
            if (auto out = SlurmDesk().take_out(node, site.error().message); !out)
                log::error("{}: {}", node, out.error().message);
        return exit_code_of(site.error().code);
    }
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
    log::set_sink(log::syslog_sink(program_name));
    auto nodes = arguments.valid ? slurm::expand_hosts(arguments.nodes)
                                 : fail(Errc::invalid, "NODES is missing");
    if (!nodes || nodes->empty()) {
        log::error("bad arguments: {}", nodes ? "no nodes" : nodes.error().message);
        std::fputs(usage, stderr);
        return exit_code::usage;
    }
    log::info("asked for {} ({} nodes)", arguments.nodes, nodes->size());
    if (arguments.foreground) {
        log::set_sink(log::syslog_and_stderr_sink(program_name));
        return work(*nodes);
    }
    auto role = detach();
    if (!role) {
        log::error("cannot detach: {}", role.error().message);
        return exit_code::some_failed;
    }
    return *role == Role::caller ? exit_code::ok : work(*nodes);
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
