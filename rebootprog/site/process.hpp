// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a program must do first when slurmctld starts it as RebootProgram, and how it gets away.
//
// Slurm 22.05 starts it with descriptors 0-2 closed and most signals blocked; 26.05 with nothing in
// the environment but SLURM_CONF; 24.11 kills its process group at a reconfigure. Call from main()
// before any thread exists and before any file is opened.
#pragma once

#include "common/result.hpp"

namespace cohort {

// Opens /dev/null on whichever of 0, 1, 2 is closed: the first file opened later must not become
// standard output.
Status reopen_descriptors();

// Unblocks every signal and ignores SIGPIPE and SIGHUP.
void reset_signals();

// PATH and C locale when the environment has none, a umask for files with credentials.
void complete_environment();

// In the parent: returns Role::caller once the child lives in a session of its own, so that a
// signal to the caller's process group no longer reaches it. In the child: Role::detached,
// descriptors 0-2 on /dev/null, working directory /.
enum class Role { caller, detached };
Result<Role> detach();

}  // namespace cohort
