# SPDX-License-Identifier: GPL-2.0-or-later
# job_submit_cohort.so. Everything but entry.cpp, conversion.cpp and slurm_source.cpp is free of Slurm and is linked
# into the unit tests too.
noinst_LTLIBRARIES += libjobsubmit.la
libjobsubmit_la_SOURCES = \
	plugins/job_submit/accounts.cpp \
	plugins/job_submit/accounts.hpp \
	plugins/job_submit/config_keeper.cpp \
	plugins/job_submit/config_keeper.hpp \
	plugins/job_submit/guard/caretaker.cpp \
	plugins/job_submit/guard/caretaker.hpp \
	plugins/job_submit/guard/guard_hooks.cpp \
	plugins/job_submit/guard/guard_hooks.hpp \
	plugins/job_submit/guard/guard_world.cpp \
	plugins/job_submit/guard/guard_world.hpp \
	plugins/job_submit/guard/same_update.hpp \
	plugins/job_submit/hook_times.hpp \
	plugins/job_submit/hooks.cpp \
	plugins/job_submit/hooks.hpp \
	plugins/job_submit/ledger.cpp \
	plugins/job_submit/ledger.hpp \
	plugins/job_submit/rebuild.cpp \
	plugins/job_submit/rebuild.hpp \
	plugins/job_submit/refresher.cpp \
	plugins/job_submit/refresher.hpp \
	plugins/job_submit/snapshot_writer.cpp \
	plugins/job_submit/snapshot_writer.hpp \
	plugins/job_submit/source.cpp \
	plugins/job_submit/source.hpp \
	plugins/job_submit/thread.cpp \
	plugins/job_submit/thread.hpp \
	plugins/job_submit/world.hpp
libjobsubmit_la_LIBADD = libcohort_guard.la

JOB_SUBMIT_SOURCES = \
	plugins/job_submit/conversion.cpp \
	plugins/job_submit/conversion.hpp \
	plugins/job_submit/entry.cpp \
	plugins/job_submit/slurm_source.cpp
# nodelete: the thread may be inside a call to slurmctld when the plugin is unloaded.
JOB_SUBMIT_LDFLAGS = $(PLUGIN_LDFLAGS) \
	-Wl,--version-script=$(top_srcdir)/plugins/job_submit/exports.map \
	-Wl,-z,nodelete
# libcohort comes with libcohort_slurm.
JOB_SUBMIT_LIBADD = libjobsubmit.la libcohort_slurm.la

plugin_LTLIBRARIES += job_submit_cohort.la
job_submit_cohort_la_SOURCES = $(JOB_SUBMIT_SOURCES)
job_submit_cohort_la_LDFLAGS = $(JOB_SUBMIT_LDFLAGS)
job_submit_cohort_la_LIBADD = $(JOB_SUBMIT_LIBADD)
job_submit_cohort_la_DEPENDENCIES = $(JOB_SUBMIT_LIBADD) plugins/job_submit/exports.map

# The same plugin with faults on request, for the tests; in a folder of its own because Slurm wants
# the file's name.
check_LTLIBRARIES += tests/load/faults/job_submit_cohort.la
tests_load_faults_job_submit_cohort_la_SOURCES = $(JOB_SUBMIT_SOURCES)
tests_load_faults_job_submit_cohort_la_CPPFLAGS = $(AM_CPPFLAGS) -DCOHORT_TEST_FAULTS
tests_load_faults_job_submit_cohort_la_LDFLAGS = $(JOB_SUBMIT_LDFLAGS) -rpath /nowhere
tests_load_faults_job_submit_cohort_la_LIBADD = $(JOB_SUBMIT_LIBADD)

EXTRA_DIST += plugins/job_submit/exports.map

if HAVE_CHECK
JOB_SUBMIT_TESTS = \
	tests/unit/accounts_test \
	tests/unit/guard_hooks_test \
	tests/unit/guard_storm_test \
	tests/unit/hooks_test \
	tests/unit/job_submit_storm_test \
	tests/unit/ledger_test \
	tests/unit/rebuild_test \
	tests/unit/refresher_test
check_PROGRAMS += $(JOB_SUBMIT_TESTS)
TESTS += $(JOB_SUBMIT_TESTS)
endif
EXTRA_DIST += tests/unit/job_submit_fixture.hpp
JOB_SUBMIT_LDADD = libjobsubmit.la $(UNIT_LDADD)

tests_unit_accounts_test_LDADD = $(JOB_SUBMIT_LDADD)
tests_unit_guard_hooks_test_LDADD = $(JOB_SUBMIT_LDADD)
tests_unit_guard_storm_test_LDADD = $(JOB_SUBMIT_LDADD)
tests_unit_hooks_test_LDADD = $(JOB_SUBMIT_LDADD)
tests_unit_job_submit_storm_test_LDADD = $(JOB_SUBMIT_LDADD)
tests_unit_ledger_test_LDADD = $(JOB_SUBMIT_LDADD)
tests_unit_rebuild_test_LDADD = $(JOB_SUBMIT_LDADD)
tests_unit_refresher_test_LDADD = $(JOB_SUBMIT_LDADD)
