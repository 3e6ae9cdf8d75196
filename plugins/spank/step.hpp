// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the plugin remembers in one process, and the answers of its hooks: no Slurm type in it.
//
// A process is one of: srun or sbatch (only the arguments are judged), the prolog or epilog of one
// job, or one slurmstepd: there look_once() reads the node's files once per step as root, and the
// forked tasks inherit the verdict. One thread (Slurm calls hooks one after the other).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "plugins/spank/arguments.hpp"
#include "plugins/spank/gate.hpp"
#include "plugins/spank/injection.hpp"

namespace cohort::spank {

// The directory that is "/" for a process: a container has another.
struct RootDirectory {
    dev_t device = 0;
    ino_t inode = 0;
    bool operator==(const RootDirectory&) const = default;
};
RootDirectory root_directory();

// What a task shows of the container that it may be in.
struct ContainerSigns {
    bool oci = false;           // SLURM_CONTAINER is set
    bool pyxis_option = false;  // the option --container-image reached the step
    RootDirectory root;         // "/" as the task sees it
};

struct PrologJob {
    std::uint32_t id = 0;
    bool rebuild = false;     // COHORT_REBUILD: only our job_submit plugin can set it
    std::string constraints;  // SLURM_JOB_CONSTRAINTS
};

class Step {
  public:
    explicit Step(Places places = {}) : places_(std::move(places)) {}

    // The plugstack arguments; a refusal is kept, the gates answer it.
    Status configure(const std::vector<std::string_view>& words);

    // Job prolog: may JOB run here? A rebuild job always may, and is marked. A refusal is left in
    // /run/cohort/refused. Waits up to 15 s for join to publish.
    Status prolog(const PrologJob& job);
    void epilog(std::uint32_t job_id) { unmark_rebuild_job(job_id, places_.runtime); }

    // slurmstepd: reads and judges, once. Never fails: Slurm loses jobs that fail at this point.
    void look_once(std::uint32_t job_id);
    // The last gate, in each task, as root. The refusal is left like the prolog's.
    Status task_gate(std::uint32_t job_id);
    // What the tasks' environment gets; nothing in containers (containers=skip).
    std::vector<Change> injection(const std::optional<std::string>& current_path,
                                  const ContainerSigns& signs) const;
    // The environment could not be set whole: task_gate refuses, but for a rebuild job.
    void refuse_tasks() noexcept { broken_ = true; }
    // Does the process whose "/" is ROOT live in a container that is to be left alone?
    bool is_container(const RootDirectory& root) const;

  private:
    Status verdict_of(const View& view, std::uint32_t job_id);

    Places places_;
    Result<Arguments> arguments_ = fail(Errc::invalid, "the plugin was not initialised");
    std::optional<Status> verdict_;
    std::optional<Profile> profile_;
    RootDirectory root_;
    bool broken_ = false;
};

}  // namespace cohort::spank
