/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A SPANK plugin that does nothing in the hooks that spank_cohort.so has: what a launch costs with it
 * is Slurm's own, for any plugin.
 */
#include <slurm/spank.h>

SPANK_PLUGIN(nothing, 1)

#define HOOK(name)                                                     \
	int slurm_spank_##name(spank_t spank, int argc, char **argv)   \
	{                                                              \
		(void)spank, (void)argc, (void)argv;                   \
		return 0;                                              \
	}

HOOK(init)
HOOK(init_post_opt)
HOOK(user_init)
HOOK(task_init_privileged)
HOOK(task_init)
HOOK(job_prolog)
HOOK(job_epilog)
