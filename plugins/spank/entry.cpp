// SPDX-License-Identifier: GPL-2.0-or-later
//
// Slurm's side of spank_cohort.so: converts, calls the core, converts back.
//
// Every hook returns 0 or -1: Slurm 22.05 and 24.11 run the task after any positive answer. Which
// hook may fail at all is measured (spank_cohort(8)): job_prolog (the node is drained, the job
// comes back), task_init_privileged and task_init (the task fails). A failure of init or
// init_post_opt in slurmstepd is reported as success of a task that never ran (22.05) or drains the
// node: those keep their fault for the gates.
#include <cstdint>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <malloc.h>

#ifdef COHORT_TEST_FAULTS
#include "common/file.hpp"
#include "common/text.hpp"
#endif
#include "plugins/spank/step.hpp"

// Not common/slurm: a SPANK plugin may be loaded where libslurm is not, and spank.h is all it
// needs.
extern "C" {
#include <slurm/slurm_version.h>
#include <slurm/spank.h>
}

#define COHORT_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using namespace cohort;
using namespace cohort::spank;

constexpr int go_on = 0;
constexpr int refuse = -1;
constexpr std::size_t first_buffer = 4096;
constexpr std::size_t last_buffer = 4 * 1024 * 1024;

spank::Step& step() {
    static spank::Step the_step;
    return the_step;
}
bool pyxis_option = false;
// What the variables were that we have set for the step.
std::vector<std::pair<std::string, std::optional<std::string>>> before_injection;

#ifdef COHORT_TEST_FAULTS
// The test plugin throws in the hook that this file of root names.
void fault_on_request(const char* hook) {
    if (const auto wish = read_file("/run/cohort-fault", 64); wish && text::trim(*wish) == hook)
        throw 1;
}
#else
void fault_on_request(const char*) {}
#endif

// No exception may reach Slurm: it would end the process. FAIL_CLOSED is the hook's answer then.
template <class F>
int guard(const char* hook, int fail_closed, F&& f) noexcept {
    try {
        fault_on_request(hook);
        return f();
    } catch (...) {
        slurm_error("cohort: %s: out of memory or an unforeseen fault", hook);
        return fail_closed;
    }
}

std::optional<std::string> task_variable(spank_t handle, const char* name) {
    std::string buffer(first_buffer, '\0');
    for (;;) {
        const auto rc = spank_getenv(handle, name, buffer.data(), static_cast<int>(buffer.size()));
        if (rc == ESPANK_SUCCESS) return std::string(buffer.c_str());
        if (rc != ESPANK_NOSPACE || buffer.size() >= last_buffer) return std::nullopt;
        buffer.assign(buffer.size() * 4, '\0');
    }
}

std::uint32_t job_id_of(spank_t handle) {
    std::uint32_t id = 0;
    if (spank_get_item(handle, S_JOB_ID, &id) == ESPANK_SUCCESS) return id;
    return 0;
}

std::string process_variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

// Slurm calls no init in the prolog's and epilog's process: every hook brings the arguments.
Status configure(int argc, char** argv) {
    return step().configure(std::vector<std::string_view>(argv, argv + argc));
}

int run_init(spank_t handle, int argc, char** argv) {
    const Status configured = configure(argc, argv);
    const auto context = spank_context();
    if (context == S_CTX_REMOTE)
        pyxis_option =
            task_variable(handle, "_SLURM_SPANK_OPTION_pyxis_container_image").has_value();
    if (configured) {
        // Read anew by every step: the node's log says which arguments this one has.
        std::string shown;
        for (int i = 0; i < argc; ++i) shown += std::string(" ") + argv[i];
        if (context == S_CTX_REMOTE)
            slurm_verbose("cohort: arguments:%s", shown.empty() ? " (none)" : shown.c_str());
        return go_on;
    }
    slurm_error("cohort: %s", configured.error().message.c_str());
    // At submission nothing is lost yet, and the user is there to read it.
    return context == S_CTX_LOCAL || context == S_CTX_ALLOCATOR ? refuse : go_on;
}

int run_prolog(spank_t handle, int argc, char** argv) {
    (void)configure(argc, argv);
    PrologJob job{job_id_of(handle), !process_variable("SPANK_COHORT_REBUILD").empty(),
                  process_variable("SLURM_JOB_CONSTRAINTS")};
    const Status verdict = step().prolog(job);
    if (verdict) return go_on;
    slurm_error("cohort: job %u may not run on this node: %s", job.id,
                verdict.error().message.c_str());
    return refuse;
}

int run_task_gate(spank_t handle) {
    const Status verdict = step().task_gate(job_id_of(handle));
    if (verdict) return go_on;
    int local_task = 0;
    (void)spank_get_item(handle, S_TASK_ID, &local_task);
    if (local_task == 0)
        slurm_spank_log(
            "cohort: this node may not run your task: %s. Nothing was started; the "
            "administrators see it in `sinfo -R`.",
            verdict.error().message.c_str());
    return refuse;
}

// Once per step, in slurmstepd before it forks: what is set here reaches every task, and each hook
// that runs in a task costs every launch (make bench). Must not fail: the gate does.
int run_injection(spank_t handle) {
    const ContainerSigns signs{!task_variable(handle, "SLURM_CONTAINER").value_or("").empty(),
                               pyxis_option, root_directory()};
    for (const auto& [name, value] : step().injection(task_variable(handle, "PATH"), signs)) {
        before_injection.emplace_back(name, task_variable(handle, name.c_str()));
        if (spank_setenv(handle, name.c_str(), value.c_str(), 1) != ESPANK_SUCCESS)
            throw std::bad_alloc();  // Slurm has no other reason in slurmstepd
    }
    // Slurm writes each variable through a buffer of 256 KB (ENV_BUFSIZE) and leaves it in the
    // heap: 80 pages that the fork of every task would have to copy.
    if (!before_injection.empty()) ::malloc_trim(0);
    return go_on;
}

// A plugin before ours has put this task into a container of its own: the image's environment wins.
int take_injection_back(spank_t handle) {
    if (before_injection.empty() || !step().is_container(root_directory())) return go_on;
    for (const auto& [name, value] : before_injection) {
        const auto rc = value ? spank_setenv(handle, name.c_str(), value->c_str(), 1)
                              : spank_unsetenv(handle, name.c_str());
        if (rc == ESPANK_SUCCESS) continue;
        slurm_spank_log("cohort: %s could not be restored for the task", name.c_str());
        return refuse;
    }
    return go_on;
}

}  // namespace

// SPANK_PLUGIN() defines these without external linkage in C++.
COHORT_EXPORT const char plugin_name[] = "cohort";
COHORT_EXPORT const char plugin_type[] = "spank";
COHORT_EXPORT const unsigned int plugin_version = SLURM_VERSION_NUMBER;
COHORT_EXPORT const unsigned int spank_plugin_version = 1;

COHORT_EXPORT int slurm_spank_init(spank_t handle, int argc, char** argv) {
    return guard("init", go_on, [&] { return run_init(handle, argc, argv); });
}

COHORT_EXPORT int slurm_spank_init_post_opt(spank_t handle, int, char**) {
    return guard("init_post_opt", go_on, [&] {
        if (spank_context() == S_CTX_REMOTE) step().look_once(job_id_of(handle));
        return go_on;
    });
}

COHORT_EXPORT int slurm_spank_task_init_privileged(spank_t handle, int, char**) {
    return guard("task_init_privileged", refuse, [&] { return run_task_gate(handle); });
}

COHORT_EXPORT int slurm_spank_user_init(spank_t handle, int, char**) {
    // A refusal here would be told as success of a task that never ran (22.05): the gate refuses.
    if (guard("user_init", refuse, [&] { return run_injection(handle); }) != go_on)
        step().refuse_tasks();
    return go_on;
}

COHORT_EXPORT int slurm_spank_task_init(spank_t handle, int, char**) {
    return guard("task_init", refuse, [&] { return take_injection_back(handle); });
}

COHORT_EXPORT int slurm_spank_job_prolog(spank_t handle, int argc, char** argv) {
    return guard("job_prolog", refuse, [&] { return run_prolog(handle, argc, argv); });
}

COHORT_EXPORT int slurm_spank_job_epilog(spank_t handle, int, char**) {
    return guard("job_epilog", go_on, [&] {
        step().epilog(job_id_of(handle));
        return go_on;
    });
}
