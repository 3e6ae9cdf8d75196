// SPDX-License-Identifier: GPL-2.0-or-later
//
// The SPANK side of the host: a process whose context a test chooses, without job and environment.
#include "tests/load/spank_host.hpp"

#include <cstdarg>
#include <cstdio>

// Exported although the rest of the build hides its symbols.
#pragma GCC visibility push(default)
extern "C" {
#include <slurm/slurm_errno.h>
#include <slurm/spank.h>
}

namespace {
spank_context_t context = S_CTX_LOCAL;
}

namespace host {
static_assert(srun == S_CTX_LOCAL && slurmstepd == S_CTX_REMOTE && sbatch == S_CTX_ALLOCATOR);
void play(int as) {
    context = static_cast<spank_context_t>(as);
}
}  // namespace host

extern "C" {
spank_context_t spank_context() {
    return context;
}
spank_err_t spank_get_item(spank_t, spank_item_t, ...) {
    return static_cast<spank_err_t>(ESPANK_BAD_ARG);
}
spank_err_t spank_getenv(spank_t, const char*, char*, int) {
    return static_cast<spank_err_t>(ESPANK_ENV_NOEXIST);
}
spank_err_t spank_setenv(spank_t, const char*, const char*, int) {
    return static_cast<spank_err_t>(ESPANK_SUCCESS);
}
spank_err_t spank_unsetenv(spank_t, const char*) {
    return static_cast<spank_err_t>(ESPANK_SUCCESS);
}
void slurm_spank_log(const char* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    std::vfprintf(stderr, format, arguments);
    va_end(arguments);
}
}
#pragma GCC visibility pop
