// SPDX-License-Identifier: GPL-2.0-or-later
//
// Which environment variables a task profile may carry. Pure.
//
// The same rules hold when a profile is written and when it is read: a sealed profile with a
// reserved name is refused like any other damage.
#pragma once

#include <string_view>

namespace cohort {

// [A-Za-z_][A-Za-z0-9_]{0,127}
bool is_variable_name(std::string_view name);

// Names that decide how programs are found and loaded (PATH, LD_PRELOAD, BASH_ENV, ...), that
// belong to the user's session (HOME, USER, ...), to Slurm and MPI (SLURM*, SPANK*, PMI*), to
// Flox's own bookkeeping (_FLOX_*, FLOX_ENV_DIRS), or that hold credentials (OS_*, KUBERNETES_*,
// names with TOKEN, SECRET or PASSWORD in them).
bool is_reserved_variable(std::string_view name);

}  // namespace cohort
