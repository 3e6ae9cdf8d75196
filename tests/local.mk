# SPDX-License-Identifier: GPL-2.0-or-later
# Unit programs (Check): one per module, linked only with what that module needs.
UNIT_LDADD = libcohort.la $(CHECK_LIBS)

if HAVE_CHECK
UNIT_TESTS = \
	tests/unit/settings_test \
	tests/unit/hostlist_test \
	tests/unit/node_record_test \
	tests/unit/node_state_test \
	tests/unit/proof_test \
	tests/unit/revision_test
check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
endif
TESTS += tests/rules_test
EXTRA_DIST += \
	tests/rules_test \
	tests/unit/unit.hpp

tests_unit_settings_test_LDADD = $(UNIT_LDADD)
tests_unit_node_record_test_LDADD = $(UNIT_LDADD)
tests_unit_hostlist_test_LDADD = libcohort_slurm.la $(UNIT_LDADD) $(SLURM_LIBS)
tests_unit_node_state_test_LDADD = libcohort_slurm.la $(UNIT_LDADD) $(SLURM_LIBS)
tests_unit_proof_test_LDADD = $(UNIT_LDADD)
tests_unit_revision_test_LDADD = $(UNIT_LDADD)

# The unit programs once more under sanitizers, each kind in a tree of its own below this one:
#   make check-asan   address and undefined: all unit programs and the fuzz corpus
#   make check-tsan   thread: those that have threads
# SANITIZED_CONFIGURE gives configure more arguments. ./check counts what they leave.
EXTRA_DIST += tests/lsan.supp
ASAN_TESTS = $(filter tests/unit/%_test,$(check_PROGRAMS)) tests/fuzz/replay_test
ASAN_BUILT = $(filter tests/unit/%_test tests/fuzz/%_replay,$(check_PROGRAMS))
TSAN_TESTS = $(filter \
	tests/unit/attempt_pace_test \
	tests/unit/follower_test \
	tests/unit/guard_hooks_test \
	tests/unit/guard_storm_test \
	tests/unit/hooks_test \
	tests/unit/job_submit_storm_test \
	tests/unit/ledger_test \
	tests/unit/pace_test \
	tests/unit/refresher_test,$(check_PROGRAMS))
SANITIZED_CONFIGURE =
SANITIZED_TREE = \
	test -f $$kind/Makefile || { $(MKDIR_P) $$kind && cd $$kind && \
		$(abs_srcdir)/configure --enable-sanitizers=$$list CXXFLAGS='-O1 -g' \
		$(SANITIZED_CONFIGURE) >configure.out 2>&1; } || { tail $$kind/configure.out; exit 1; }
.PHONY: check-asan check-tsan asan-check tsan-check
check-asan:
	@kind=asan list=address,undefined; $(SANITIZED_TREE)
	$(MAKE) -C asan asan-check
check-tsan:
	@kind=tsan list=thread; $(SANITIZED_TREE)
	$(MAKE) -C tsan tsan-check
# In those trees.
asan-check: $(ASAN_BUILT)
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
		LSAN_OPTIONS=suppressions=$(abs_srcdir)/tests/lsan.supp:print_suppressions=0 \
		$(MAKE) check-TESTS TESTS="$(ASAN_TESTS)"
tsan-check: $(TSAN_TESTS)
	$(MAKE) check-TESTS TESTS="$(TSAN_TESTS)"
