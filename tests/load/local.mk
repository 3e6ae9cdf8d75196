# SPDX-License-Identifier: GPL-2.0-or-later
# Loading the plugins as Slurm does: exact exports; three times in and out of a process that plays
# Slurm's. A new plugin is a line in plugins.table.
TESTS += tests/load/exports_test
AM_TESTS_ENVIRONMENT = SLURM_PLUGINDIR='$(SLURM_PLUGINDIR)'; LIBSTDCXX='$(LIBSTDCXX)'; export SLURM_PLUGINDIR LIBSTDCXX;
check_PROGRAMS += tests/load/load_test
TESTS += tests/load/load_test
tests_load_load_test_SOURCES = \
	tests/load/cluster.cpp \
	tests/load/host.cpp \
	tests/load/host.hpp \
	tests/load/load_test.cpp \
	tests/load/spank_host.cpp \
	tests/load/spank_host.hpp
# The plugins find Slurm's symbols in the process, as in slurmctld.
tests_load_load_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_load_load_test_LDADD = -ldl

EXTRA_DIST += \
	tests/load/exports_test \
	tests/load/plugins.table
