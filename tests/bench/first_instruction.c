/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A task that tells when it began: appends CLOCK_MONOTONIC, eight bytes of nanoseconds, to the file
 * argv[1]. Linked statically, so that nothing comes before it but exec.
 */
#include <fcntl.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct timespec now;
	int64_t ns;
	int fd;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	fd = argc > 1 ? open(argv[1], O_WRONLY | O_APPEND) : -1;
	return fd < 0 || write(fd, &ns, sizeof(ns)) != sizeof(ns);
}
