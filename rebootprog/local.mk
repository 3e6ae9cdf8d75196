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
	rebootprog/advance.cpp \
	rebootprog/advance.hpp \
	rebootprog/advance_decide.cpp \
	rebootprog/advance_decide.hpp \
	rebootprog/attempt.cpp \
	rebootprog/attempt.hpp \
	rebootprog/attempt_follow.cpp \
	rebootprog/attempt_runner.hpp \
	rebootprog/backend.hpp \
	rebootprog/backend_exec.cpp \
	rebootprog/backend_exec.hpp \
	rebootprog/backend_nova.cpp \
	rebootprog/backend_nova.hpp \
	rebootprog/backends.cpp \
	rebootprog/backends.hpp \
	rebootprog/barrier.cpp \
	rebootprog/barrier.hpp \
	rebootprog/barrier_journal.cpp \
	rebootprog/barrier_journal.hpp \
	rebootprog/barrier_lock.cpp \
	rebootprog/barrier_lock.hpp \
	rebootprog/barrier_picture.cpp \
	rebootprog/barrier_picture.hpp \
	rebootprog/barrier_replace.cpp \
	rebootprog/barrier_run.cpp \
	rebootprog/barrier_run.hpp \
	rebootprog/barrier_try.cpp \
	rebootprog/barrier_verb.cpp \
	rebootprog/barrier_verb.hpp \
	rebootprog/choke_point.cpp \
	rebootprog/choke_point.hpp \
	rebootprog/cloud_views.cpp \
	rebootprog/cloud_views.hpp \
	rebootprog/decide.cpp \
	rebootprog/decide.hpp \
	rebootprog/doctor.cpp \
	rebootprog/doctor.hpp \
	rebootprog/doctor_checks.cpp \
	rebootprog/doctor_checks.hpp \
	rebootprog/doctor_cloud.cpp \
	rebootprog/doctor_collect.cpp \
	rebootprog/doctor_collect.hpp \
	rebootprog/doctor_collect_cloud.cpp \
	rebootprog/doctor_facts.hpp \
	rebootprog/doctor_jobs.cpp \
	rebootprog/doctor_nodes.cpp \
	rebootprog/doctor_slurm.cpp \
	rebootprog/doctor_state.cpp \
	rebootprog/engine.cpp \
	rebootprog/engine.hpp \
	rebootprog/guard_verbs.cpp \
	rebootprog/guard_verbs.hpp \
	rebootprog/inventory.cpp \
	rebootprog/inventory.hpp \
	rebootprog/journal.cpp \
	rebootprog/journal.hpp \
	rebootprog/journal_state.hpp \
	rebootprog/plan.cpp \
	rebootprog/plan.hpp \
	rebootprog/plan_make.cpp \
	rebootprog/plan_make.hpp \
	rebootprog/plan_rows.cpp \
	rebootprog/power.cpp \
	rebootprog/power.hpp \
	rebootprog/power_promise.cpp \
	rebootprog/power_promise.hpp \
	rebootprog/power_run.cpp \
	rebootprog/power_run.hpp \
	rebootprog/power_runner.hpp \
	rebootprog/power_suspend.cpp \
	rebootprog/process.cpp \
	rebootprog/process.hpp \
	rebootprog/rebuild_jobs.cpp \
	rebootprog/rebuild_jobs.hpp \
	rebootprog/rebuild_verb.cpp \
	rebootprog/reconcile.cpp \
	rebootprog/reconcile.hpp \
	rebootprog/reconcile_decide.cpp \
	rebootprog/reconcile_decide.hpp \
	rebootprog/reconcile_journal.cpp \
	rebootprog/reconcile_journal.hpp \
	rebootprog/rollout.hpp \
	rebootprog/rollout_act.cpp \
	rebootprog/rollout_act.hpp \
	rebootprog/rollout_decide.cpp \
	rebootprog/rollout_decide.hpp \
	rebootprog/rollout_journal.cpp \
	rebootprog/rollout_journal.hpp \
	rebootprog/rollout_row.cpp \
	rebootprog/rollout_row.hpp \
	rebootprog/rollout_verbs.cpp \
	rebootprog/rollout_verbs.hpp \
	rebootprog/run_command.cpp \
	rebootprog/run_command.hpp \
	rebootprog/scontrol.cpp \
	rebootprog/scontrol.hpp \
	rebootprog/settings_verbs.cpp \
	rebootprog/settings_verbs.hpp \
	rebootprog/site_command.cpp \
	rebootprog/site_command.hpp \
	rebootprog/sqlite.hpp \
	rebootprog/table.cpp \
	rebootprog/table.hpp \
	rebootprog/wanted.cpp \
	rebootprog/wanted.hpp \
	rebootprog/report.cpp \
	rebootprog/report.hpp \
	rebootprog/report_collect.cpp \
	rebootprog/report_collect.hpp \
	rebootprog/report_error.hpp \
	rebootprog/report_page.cpp \
	rebootprog/report_style.hpp \
	rebootprog/view.cpp \
	rebootprog/view.hpp \
	rebootprog/view_collect.cpp \
	rebootprog/view_collect.hpp \
	rebootprog/view_json.cpp \
	rebootprog/view_metrics.cpp \
	rebootprog/view_picture.cpp \
	rebootprog/view_render.hpp \
	rebootprog/view_text.cpp \
	rebootprog/view_verbs.cpp \
	rebootprog/view_verbs.hpp \
	rebootprog/watch.cpp
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

# What it does is in the name that Slurm calls it by: power saving is configured with these.
POWER_NAMES = cohort-resume cohort-resume-fail cohort-suspend
install-exec-hook:
	for name in $(POWER_NAMES); do ln -sf cohort-reboot $(DESTDIR)$(sbindir)/$$name; done
install-data-local:
	$(MKDIR_P) $(DESTDIR)$(man8dir)
	for name in $(POWER_NAMES); do ln -sf cohort-reboot.8 $(DESTDIR)$(man8dir)/$$name.8; done
uninstall-local:
	for name in $(POWER_NAMES); do rm -f $(DESTDIR)$(sbindir)/$$name $(DESTDIR)$(man8dir)/$$name.8; done

cohort_reboot_SOURCES = rebootprog/reboot_main.cpp
cohort_reboot_LDADD = librebuild.la

# PrologSlurmctld runs it for every job: no cloud, no database.
cohort_gate_SOURCES = rebootprog/gate_main.cpp
cohort_gate_LDADD = \
	libsite.la \
	libcohort_guard.la \
	libcohort_slurm.la \
	libcohort.la \
	$(SLURM_LIBS)

# cohort.conf, slurm.conf and the state folder.
noinst_LTLIBRARIES += libsite.la
libsite_la_SOURCES = \
	rebootprog/picture.cpp \
	rebootprog/picture.hpp \
	rebootprog/site.cpp \
	rebootprog/site.hpp

scohort_SOURCES = \
	rebootprog/command_line.hpp \
	rebootprog/lifecycle_command.hpp \
	rebootprog/rollout_command.hpp \
	rebootprog/view_command.hpp \
	rebootprog/scohort_main.cpp
scohort_LDADD = librebuild.la

# No cloud library: nothing of the credentials' side may reach a node.
cohort_node_SOURCES = \
	rebootprog/command_line.hpp \
	rebootprog/node_dynamic.cpp \
	rebootprog/node_dynamic.hpp \
	rebootprog/node_facts.cpp \
	rebootprog/node_facts.hpp \
	rebootprog/node_gate.cpp \
	rebootprog/node_gate.hpp \
	rebootprog/node_join.cpp \
	rebootprog/node_join.hpp \
	rebootprog/node_judge.cpp \
	rebootprog/node_judge.hpp \
	rebootprog/node_leave.cpp \
	rebootprog/node_leave.hpp \
	rebootprog/node_main.cpp \
	rebootprog/node_once.cpp \
	rebootprog/node_once.hpp \
	rebootprog/node_profile.cpp \
	rebootprog/node_profile.hpp \
	rebootprog/node_verify.cpp \
	rebootprog/node_wait.cpp \
	rebootprog/node_wait.hpp
cohort_node_LDADD = \
	libruntime.la \
	libcohort_slurm.la \
	libcohort.la \
	$(SLURM_LIBS)

# The runtime of a node: its wanted settings and what a profile is made of.
noinst_LTLIBRARIES += libruntime.la
libruntime_la_SOURCES = \
	rebootprog/doctor_runtime.cpp \
	rebootprog/doctor_runtime.hpp \
	rebootprog/plugin_file.cpp \
	rebootprog/plugin_file.hpp \
	rebootprog/profile_source.cpp \
	rebootprog/profile_source.hpp \
	rebootprog/settings_store.cpp \
	rebootprog/settings_store.hpp \
	rebootprog/worker_settings.cpp \
	rebootprog/worker_settings.hpp
libruntime_la_LIBADD = libcohort.la

if HAVE_CHECK
REBUILD_UNIT_TESTS = \
	tests/unit/advance_decide_test \
	tests/unit/barrier_test \
	tests/unit/attempt_pace_test \
	tests/unit/attempt_test \
	tests/unit/backend_exec_test \
	tests/unit/decide_test \
	tests/unit/doctor_test \
	tests/unit/node_gate_test \
	tests/unit/node_judge_test \
	tests/unit/node_wait_test \
	tests/unit/picture_test \
	tests/unit/power_test \
	tests/unit/reconcile_test \
	tests/unit/report_test \
	tests/unit/rollout_decide_test \
	tests/unit/rollout_row_test \
	tests/unit/rollout_journal_test \
	tests/unit/view_test
check_PROGRAMS += $(REBUILD_UNIT_TESTS)
TESTS += $(REBUILD_UNIT_TESTS)
endif

tests_unit_advance_decide_test_SOURCES = tests/unit/advance_decide_test.cpp
tests_unit_advance_decide_test_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_advance_decide_test_LDADD = librebuild.la $(UNIT_LDADD)

tests_unit_attempt_pace_test_SOURCES = \
	tests/unit/attempt_fixture.hpp \
	tests/unit/attempt_pace_test.cpp
tests_unit_attempt_pace_test_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_attempt_pace_test_LDADD = librebuild.la $(UNIT_LDADD)

tests_unit_picture_test_SOURCES = tests/unit/picture_test.cpp
tests_unit_picture_test_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_picture_test_LDADD = librebuild.la $(UNIT_LDADD)

tests_unit_attempt_test_SOURCES = \
	tests/unit/attempt_fixture.hpp \
	tests/unit/attempt_test.cpp
tests_unit_attempt_test_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_attempt_test_LDADD = librebuild.la $(UNIT_LDADD)

tests_unit_backend_exec_test_SOURCES = \
	tests/unit/attempt_fixture.hpp \
	tests/unit/backend_exec_test.cpp
tests_unit_backend_exec_test_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_backend_exec_test_LDADD = librebuild.la $(UNIT_LDADD)

tests_unit_power_test_SOURCES = \
	tests/unit/attempt_fixture.hpp \
	tests/unit/power_test.cpp
tests_unit_power_test_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_power_test_LDADD = librebuild.la $(UNIT_LDADD)
tests_unit_barrier_test_SOURCES = tests/unit/barrier_test.cpp
tests_unit_barrier_test_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_barrier_test_LDADD = librebuild.la $(UNIT_LDADD)

tests_unit_decide_test_SOURCES = tests/unit/decide_test.cpp
tests_unit_decide_test_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_decide_test_LDADD = librebuild.la $(UNIT_LDADD)

tests_unit_reconcile_test_SOURCES = tests/unit/reconcile_test.cpp
tests_unit_reconcile_test_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_reconcile_test_LDADD = librebuild.la $(UNIT_LDADD)

tests_unit_rollout_decide_test_SOURCES = \
	tests/unit/rollout_decide_test.cpp \
	tests/unit/rollout_scene.hpp
tests_unit_rollout_decide_test_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_rollout_decide_test_LDADD = librebuild.la $(UNIT_LDADD)

tests_unit_rollout_row_test_SOURCES = \
	tests/unit/rollout_row_test.cpp \
	tests/unit/rollout_scene.hpp
tests_unit_rollout_row_test_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_rollout_row_test_LDADD = librebuild.la $(UNIT_LDADD)

tests_unit_rollout_journal_test_SOURCES = tests/unit/rollout_journal_test.cpp
tests_unit_rollout_journal_test_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_rollout_journal_test_LDADD = librebuild.la $(UNIT_LDADD)

tests_unit_doctor_test_SOURCES = tests/unit/doctor_test.cpp
tests_unit_doctor_test_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_doctor_test_LDADD = librebuild.la $(UNIT_LDADD)

tests_unit_report_test_SOURCES = tests/unit/report_test.cpp
tests_unit_report_test_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_report_test_LDADD = librebuild.la $(UNIT_LDADD)

tests_unit_view_test_SOURCES = tests/unit/view_test.cpp
tests_unit_view_test_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_view_test_LDADD = librebuild.la $(UNIT_LDADD)

tests_unit_node_gate_test_SOURCES = \
	rebootprog/node_gate.cpp \
	tests/unit/node_gate_test.cpp
tests_unit_node_gate_test_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_node_gate_test_LDADD = libruntime.la $(UNIT_LDADD)

tests_unit_node_judge_test_SOURCES = \
	rebootprog/node_dynamic.cpp \
	rebootprog/node_judge.cpp \
	tests/unit/node_judge_test.cpp
tests_unit_node_judge_test_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_node_judge_test_LDADD = $(UNIT_LDADD)

tests_unit_node_wait_test_SOURCES = \
	rebootprog/node_dynamic.cpp \
	rebootprog/node_judge.cpp \
	rebootprog/node_wait.cpp \
	tests/unit/node_wait_test.cpp
tests_unit_node_wait_test_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_node_wait_test_LDADD = libcohort_slurm.la $(SLURM_LIBS) $(UNIT_LDADD)

# One call of a back end per command, and the rows that all of them keep.
check_PROGRAMS += tests/cloud/backendcall
tests_cloud_backendcall_SOURCES = tests/cloud/backendcall.cpp
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
	rebootprog/cohort-gate.8 \
	rebootprog/cohort-node.8 \
	rebootprog/cohort-reboot.8 \
	rebootprog/scohort.8
