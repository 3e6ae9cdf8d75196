# SPDX-License-Identifier: GPL-2.0-or-later
# Programs of the controller and of the nodes.
sbin_PROGRAMS += \
	cohort-gate \
	cohort-node \
	cohort-reboot \
	scohort

# What cohort-reboot and scohort share.
noinst_LTLIBRARIES += librebuild.la
librebuild_la_SOURCES = \
	rebootprog/guard_verbs.cpp \
	rebootprog/guard_verbs.hpp \
	rebootprog/report_error.hpp \
	rebootprog/settings_verbs.cpp \
	rebootprog/settings_verbs.hpp
librebuild_la_CXXFLAGS = \
	$(AM_CXXFLAGS) \
	$(SQLITE_CFLAGS) \
	$(SMARTCOLS_CFLAGS)
librebuild_la_LIBADD = \
	libruntime.la \
	libsite.la \
	libcohort_guard.la \
	libcohort_pace.la \
	libcohort_openstack.la \
	libcohort_submit.la \
	libcohort_slurm.la \
	libcohort.la \
	$(SQLITE_LIBS) \
	$(SMARTCOLS_LIBS) \
	$(SLURM_LIBS)

scohort_SOURCES = \
	rebootprog/command_line.hpp \
	rebootprog/lifecycle_command.hpp \
	rebootprog/rollout/rollout_command.hpp \
	rebootprog/view/view_command.hpp \
	rebootprog/scohort_main.cpp
scohort_LDADD = librebuild.la

if HAVE_CHECK
REBUILD_UNIT_TESTS = \
	tests/unit/advance_decide_test \
	tests/unit/barrier_test \
	tests/unit/attempt_pace_test \
	tests/unit/attempt_test \
	tests/unit/backend_exec_test \
	tests/unit/decide_test \
	tests/unit/doctor_site_test \
	tests/unit/doctor_test \
	tests/unit/node_gate_test \
	tests/unit/node_judge_test \
	tests/unit/node_wait_test \
	tests/unit/picture_test \
	tests/unit/power_test \
	tests/unit/queue_digest_test \
	tests/unit/reconcile_test \
	tests/unit/report_test \
	tests/unit/rollout_decide_test \
	tests/unit/rollout_row_test \
	tests/unit/rollout_journal_test \
	tests/unit/view_test
check_PROGRAMS += $(REBUILD_UNIT_TESTS)
TESTS += $(REBUILD_UNIT_TESTS)
endif

tests_unit_advance_decide_test_LDADD = librebuild.la $(UNIT_LDADD)

tests_unit_attempt_pace_test_SOURCES = \
	tests/unit/attempt_fixture.hpp \
	tests/unit/attempt_pace_test.cpp
tests_unit_attempt_pace_test_LDADD = librebuild.la $(UNIT_LDADD)
tests_unit_picture_test_LDADD = librebuild.la $(UNIT_LDADD)

tests_unit_attempt_test_SOURCES = \
	tests/unit/attempt_fixture.hpp \
	tests/unit/attempt_test.cpp
tests_unit_attempt_test_LDADD = librebuild.la $(UNIT_LDADD)

tests_unit_backend_exec_test_SOURCES = \
	tests/unit/attempt_fixture.hpp \
	tests/unit/backend_exec_test.cpp
tests_unit_backend_exec_test_LDADD = librebuild.la $(UNIT_LDADD)

tests_unit_power_test_SOURCES = \
	tests/unit/attempt_fixture.hpp \
	tests/unit/power_test.cpp
tests_unit_power_test_LDADD = librebuild.la $(UNIT_LDADD)
tests_unit_barrier_test_LDADD = librebuild.la $(UNIT_LDADD)
tests_unit_decide_test_LDADD = librebuild.la $(UNIT_LDADD)
tests_unit_queue_digest_test_LDADD = librebuild.la $(UNIT_LDADD)
tests_unit_reconcile_test_LDADD = librebuild.la $(UNIT_LDADD)

tests_unit_rollout_decide_test_SOURCES = \
	tests/unit/rollout_decide_test.cpp \
	tests/unit/rollout_scene.hpp
tests_unit_rollout_decide_test_LDADD = librebuild.la $(UNIT_LDADD)

tests_unit_rollout_row_test_SOURCES = \
	tests/unit/rollout_row_test.cpp \
	tests/unit/rollout_scene.hpp
tests_unit_rollout_row_test_LDADD = librebuild.la $(UNIT_LDADD)
tests_unit_rollout_journal_test_LDADD = librebuild.la $(UNIT_LDADD)

tests_unit_doctor_test_SOURCES = \
	tests/unit/doctor_fixture.hpp \
	tests/unit/doctor_test.cpp
tests_unit_doctor_test_LDADD = librebuild.la $(UNIT_LDADD)

tests_unit_doctor_site_test_SOURCES = \
	tests/unit/doctor_fixture.hpp \
	tests/unit/doctor_site_test.cpp
tests_unit_doctor_site_test_LDADD = librebuild.la $(UNIT_LDADD)
tests_unit_report_test_LDADD = librebuild.la $(UNIT_LDADD)
tests_unit_view_test_LDADD = librebuild.la $(UNIT_LDADD)

tests_unit_node_gate_test_SOURCES = \
	rebootprog/node/node_gate.cpp \
	tests/unit/node_gate_test.cpp
tests_unit_node_gate_test_LDADD = libruntime.la $(UNIT_LDADD)

tests_unit_node_judge_test_SOURCES = \
	rebootprog/node/node_dynamic.cpp \
	rebootprog/node/node_judge.cpp \
	tests/unit/node_judge_test.cpp
tests_unit_node_judge_test_LDADD = $(UNIT_LDADD)

tests_unit_node_wait_test_SOURCES = \
	rebootprog/node/node_dynamic.cpp \
	rebootprog/node/node_judge.cpp \
	rebootprog/node/node_wait.cpp \
	tests/unit/node_wait_test.cpp
tests_unit_node_wait_test_LDADD = libcohort_slurm.la $(SLURM_LIBS) $(UNIT_LDADD)

# One call of a back end per command, and the rows that all of them keep.
check_PROGRAMS += tests/cloud/backendcall
tests_cloud_backendcall_LDADD = librebuild.la
TESTS += tests/cloud/backend_test
EXTRA_DIST += \
	tests/cloud/backend_test \
	tests/cloud/exec_backend

TESTS += \
	tests/unit/completion_test \
	tests/unit/manual_test \
	tests/unit/samples_test
EXTRA_DIST += \
	tests/unit/completion_test \
	tests/unit/manual_test \
	tests/unit/samples_test

dist_man_MANS += \
	rebootprog/site/cohort-gate.8 \
	rebootprog/node/cohort-node.8 \
	rebootprog/reboot/cohort-reboot.8 \
	rebootprog/scohort.8
