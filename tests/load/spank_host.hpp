// SPDX-License-Identifier: GPL-2.0-or-later
//
// What SPANK exports to plugins, as far as loading them needs it. Asked for anything of a job, it
// answers as Slurm does outside of one. Without spank.h, whose slurm_error() differs from slurm's
// own.
#pragma once

namespace host {

// The processes that this one can play.
constexpr int srun = 1, slurmstepd = 2, sbatch = 3;
void play(int context);

}  // namespace host
