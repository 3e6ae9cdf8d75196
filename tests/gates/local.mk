# SPDX-License-Identifier: GPL-2.0-or-later
# What ./check asks of the sources beside the tests.
EXTRA_DIST += \
	tests/gates/coverage \
	tests/gates/cppcheck.cfg \
	tests/gates/sources
