# SPDX-License-Identifier: GPL-2.0-or-later
# libcohort_guard: the rules that keep one job within one revision. Pure: the job_submit plugin,
# scohort and cohort-gate decide by the same functions. Whoever links it adds libcohort.la: in the
# plugin that comes with libcohort_slurm, and libtool would take it in twice.
noinst_LTLIBRARIES += libcohort_guard.la
libcohort_guard_la_SOURCES = \
	common/guard/bound.cpp \
	common/guard/bound.hpp \
	common/guard/cohorts.cpp \
	common/guard/cohorts.hpp \
	common/guard/confine.cpp \
	common/guard/constraint.cpp \
	common/guard/constraint.hpp \
	common/guard/emergency.cpp \
	common/guard/emergency.hpp \
	common/guard/gate.cpp \
	common/guard/gate.hpp \
	common/guard/judge.hpp \
	common/guard/mark.cpp \
	common/guard/mark.hpp \
	common/guard/message.cpp \
	common/guard/message.hpp \
	common/guard/modify.cpp \
	common/guard/modify.hpp \
	common/guard/node_set.hpp \
	common/guard/sweep.cpp \
	common/guard/sweep.hpp \
	common/guard/verdict.cpp \
	common/guard/verdict.hpp \
	common/guard/view.cpp \
	common/guard/view.hpp

if HAVE_CHECK
GUARD_TESTS = \
	tests/unit/guard_constraint_test \
	tests/unit/guard_gate_test \
	tests/unit/guard_oracle_test \
	tests/unit/guard_sweep_test \
	tests/unit/guard_verdict_test
check_PROGRAMS += $(GUARD_TESTS)
TESTS += $(GUARD_TESTS)
endif
GUARD_LDADD = libcohort_guard.la libcohort.la $(CHECK_LIBS)

tests_unit_guard_constraint_test_SOURCES = tests/unit/guard_constraint_test.cpp tests/unit/guard_random.hpp
tests_unit_guard_constraint_test_LDADD = $(GUARD_LDADD)

tests_unit_guard_gate_test_SOURCES = tests/unit/guard_gate_test.cpp tests/unit/guard_world.hpp
tests_unit_guard_gate_test_LDADD = $(GUARD_LDADD)

tests_unit_guard_verdict_test_SOURCES = tests/unit/guard_verdict_test.cpp tests/unit/guard_world.hpp
tests_unit_guard_verdict_test_LDADD = $(GUARD_LDADD)

tests_unit_guard_oracle_test_SOURCES = \
	tests/unit/guard_oracle_test.cpp \
	tests/unit/guard_slurm_model.hpp \
	tests/unit/guard_world.hpp
tests_unit_guard_oracle_test_LDADD = $(GUARD_LDADD)

tests_unit_guard_sweep_test_SOURCES = tests/unit/guard_sweep_test.cpp tests/unit/guard_world.hpp
tests_unit_guard_sweep_test_LDADD = $(GUARD_LDADD)

BENCHES += tests/bench/guard_verdict_bench
tests_bench_guard_verdict_bench_LDADD = libcohort_guard.la libcohort.la
