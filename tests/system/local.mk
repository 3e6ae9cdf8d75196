# SPDX-License-Identifier: GPL-2.0-or-later
# Tests against real daemons; run by ./check, not by `make check` (they need root and namespaces).
EXTRA_DIST += \
	tests/system/conftest.py \
	tests/system/run \
	tests/system/sealed.py \
	tests/system/spank_fails.c \
	tests/system/spank_pyxis.c \
	tests/system/spanklab.py \
	tests/system/storm.py \
	tests/system/test_accounts.py \
	tests/system/test_backends.py \
	tests/system/test_demo.py \
	tests/system/test_doctor.py \
	tests/system/test_guard.py \
	tests/system/test_guard_cases.py \
	tests/system/test_guard_forms.py \
	tests/system/test_guard_gate.py \
	tests/system/test_guard_rolling.py \
	tests/system/test_guard_storm.py \
	tests/system/test_guard_traps.py \
	tests/system/test_judge.py \
	tests/system/test_job_submit.py \
	tests/system/test_job_submit_faults.py \
	tests/system/test_job_submit_order.py \
	tests/system/test_lab.py \
	tests/system/test_lab_images.py \
	tests/system/test_lab_namespaces.py \
	tests/system/test_main_job.py \
	tests/system/test_node_join.py \
	tests/system/test_node_leave.py \
	tests/system/test_node_runtime.py \
	tests/system/test_reconcile.py \
	tests/system/test_rollout.py \
	tests/system/test_rollout_failures.py \
	tests/system/test_rollout_faults.py \
	tests/system/test_rollout_takeover.py \
	tests/system/test_openstack.py \
	tests/system/test_pace.py \
	tests/system/test_spank_flags.py \
	tests/system/test_spank_gates.py \
	tests/system/test_spank_injection.py \
	tests/system/test_views.py \
	tests/system/test_spank_rebuild.py \
	tests/system/test_spank_sample.py \
	tests/system/test_spank_table.py \
	tests/system/test_spank_tasks.py \
	tests/system/test_task_prolog.py
