/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A SPANK plugin that fails in one hook: what Slurm makes of it is the reason for where
 * spank_cohort.so may refuse. plugstack.conf: required /shared/spank_fails.so hook=NAME rc=N
 * Only on the node (slurmstepd, and slurmd's process of the job's prolog).
 */
#include <slurm/spank.h>
#include <stdlib.h>
#include <string.h>

SPANK_PLUGIN(fails, 1)

static int answer(const char *hook, int argc, char **argv)
{
	const char *wanted = "", *code = "0";
	int i;

	if (spank_context() != S_CTX_REMOTE && spank_context() != S_CTX_JOB_SCRIPT)
		return 0;
	for (i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "hook=", 5))
			wanted = argv[i] + 5;
		if (!strncmp(argv[i], "rc=", 3))
			code = argv[i] + 3;
	}
	return strcmp(hook, wanted) ? 0 : atoi(code);
}

#define HOOK(name)                                                       \
	int slurm_spank_##name(spank_t spank, int argc, char **argv)     \
	{                                                                \
		(void)spank;                                             \
		return answer(#name, argc, argv);                        \
	}

HOOK(init)
HOOK(init_post_opt)
HOOK(user_init)
HOOK(task_init_privileged)
HOOK(task_init)
HOOK(task_post_fork)
HOOK(job_prolog)
