/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Stands for pyxis in tests: a SPANK plugin of that name with the option --container-image, so that
 * a step carries the same mark. It starts no container.
 */
#include <slurm/spank.h>

SPANK_PLUGIN(pyxis, 1)

static int taken(int val, const char *optarg, int remote)
{
	(void)val;
	(void)optarg;
	(void)remote;
	return 0;
}

int slurm_spank_init(spank_t spank, int argc, char **argv)
{
	static struct spank_option option = {
		"container-image", "IMAGE", "the image to run in", 1, 0, taken
	};
	(void)argc;
	(void)argv;
	return spank_option_register(spank, &option) == ESPANK_SUCCESS ? 0 : -1;
}
