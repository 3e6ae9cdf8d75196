// SPDX-License-Identifier: GPL-2.0-or-later
#include "rebootprog/power/power_run.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/log.hpp"
#include "common/slurm/node_writer.hpp"
#include "rebootprog/power/power.hpp"
#include "rebootprog/reboot/engine.hpp"

namespace cohort {
namespace {

using Clock = AttemptContext::Clock;
using std::chrono::seconds;

constexpr std::string_view resume_program = "cohort-resume";
constexpr std::string_view suspend_program = "cohort-suspend";
constexpr std::string_view fail_program = "cohort-resume-fail";

// A process that still works on the node has a deadline of its own.
constexpr int lock_seconds = 120;
constexpr seconds clean_up_time{120};

// Where a machine that could not be made sends its node back to be tried again.
class PowerDesk : public SlurmDesk {
  public:
    PowerDesk(Journal& journal, std::string_view program) : journal_(journal), program_(program) {}

    Status take_out(const std::string& name, const std::string& reason) override {
        const auto failed = journal_.failed_in_row(name, "create");
        const bool outage = reason.starts_with("cloud out of reach");
        // The attempt that fails now is not among them yet.
        if (!outage && failed && *failed + 1 >= most_failed_machines)
            return SlurmDesk::take_out(
                name, fmt::format("{} machines in a row could not be made for it: {}", *failed + 1,
                                  reason));
        if (auto kept = journal_.note(name, std::string(program_),
                                      "goes back to power saving, to be woken again: " + reason);
            !kept)
            log::warning("{}", kept.error().message);
        return slurm::back_to_power_saving(name);
    }

  private:
    Journal& journal_;
    std::string_view program_;
};

}  // namespace

bool is_power_program(std::string_view program) {
    return program == resume_program || program == suspend_program || program == fail_program;
}

int run_power(const Site& site, std::string_view program, const std::vector<std::string>& nodes) {
    auto journal = Journal::open(site.state_dir);
    if (!journal) {
        log::error("{}", journal.error().message);
        return exit_code::usage;
    }
    PowerDesk desk(*journal, program);
    if (program == resume_program)
        return run_work(site, nodes,
                        {desk, *journal, resume_node, deadline_of(site.slurm), lock_seconds});
    if (program == fail_program)
        return run_work(
            site, nodes,
            {desk, *journal, resume_failed, Clock::now() + clean_up_time, lock_seconds});
    const auto limit = std::max(clean_up_time, seconds(site.slurm.suspend_timeout));
    return run_work(site, nodes,
                    {desk, *journal, suspend_node, Clock::now() + limit, lock_seconds});
}

}  // namespace cohort
