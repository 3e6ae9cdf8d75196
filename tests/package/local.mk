# SPDX-License-Identifier: GPL-2.0-or-later
# What is installed: by make, asked by ./check; by the Debian packages in a fresh root file system, by hand (needs
# root and the package mirror).
EXTRA_DIST += \
	tests/package/installed \
	tests/package/try
