# SPDX-License-Identifier: GPL-2.0-or-later
# Fuzz targets. make check replays the corpus (and changed copies of it) with any compiler; with
#   CXX=clang++ ./configure --enable-fuzzing --enable-sanitizers && make
# each tests/fuzz/NAME_fuzz is a libFuzzer program: tests/fuzz/NAME_fuzz tests/fuzz/corpus/NAME
FUZZ_LDADD = libcohort_pace.la libcohort_openstack.la

check_PROGRAMS += \
	tests/fuzz/answers_replay \
	tests/fuzz/clouds_replay \
	tests/fuzz/constraint_replay \
	tests/fuzz/desired_replay \
	tests/fuzz/headers_replay \
	tests/fuzz/hosts_replay
TESTS += tests/fuzz/replay_test
EXTRA_DIST += \
	tests/fuzz/corpus \
	tests/fuzz/replay_test

FUZZ_REPLAY = tests/fuzz/fuzz.hpp tests/fuzz/replay.cpp
tests_fuzz_answers_replay_SOURCES = $(FUZZ_REPLAY) tests/fuzz/answers_fuzz.cpp
tests_fuzz_answers_replay_LDADD = $(FUZZ_LDADD)
tests_fuzz_clouds_replay_SOURCES = $(FUZZ_REPLAY) tests/fuzz/clouds_fuzz.cpp
tests_fuzz_clouds_replay_LDADD = $(FUZZ_LDADD)
tests_fuzz_constraint_replay_SOURCES = $(FUZZ_REPLAY) tests/fuzz/constraint_fuzz.cpp
tests_fuzz_constraint_replay_LDADD = libcohort_guard.la libcohort.la
tests_fuzz_desired_replay_SOURCES = $(FUZZ_REPLAY) tests/fuzz/desired_fuzz.cpp
tests_fuzz_desired_replay_LDADD = $(FUZZ_LDADD)
tests_fuzz_headers_replay_SOURCES = $(FUZZ_REPLAY) tests/fuzz/headers_fuzz.cpp
tests_fuzz_headers_replay_LDADD = $(FUZZ_LDADD)
tests_fuzz_hosts_replay_SOURCES = $(FUZZ_REPLAY) tests/fuzz/hosts_fuzz.cpp
tests_fuzz_hosts_replay_LDADD = libcohort_slurm.la libcohort.la $(SLURM_LIBS)

if FUZZING
AM_CXXFLAGS += -fsanitize=fuzzer-no-link
noinst_PROGRAMS += \
	tests/fuzz/answers_fuzz \
	tests/fuzz/clouds_fuzz \
	tests/fuzz/constraint_fuzz \
	tests/fuzz/desired_fuzz \
	tests/fuzz/headers_fuzz \
	tests/fuzz/hosts_fuzz
tests_fuzz_answers_fuzz_SOURCES = tests/fuzz/fuzz.hpp tests/fuzz/answers_fuzz.cpp
tests_fuzz_answers_fuzz_LDADD = $(FUZZ_LDADD)
tests_fuzz_answers_fuzz_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_clouds_fuzz_SOURCES = tests/fuzz/fuzz.hpp tests/fuzz/clouds_fuzz.cpp
tests_fuzz_clouds_fuzz_LDADD = $(FUZZ_LDADD)
tests_fuzz_clouds_fuzz_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_constraint_fuzz_SOURCES = tests/fuzz/fuzz.hpp tests/fuzz/constraint_fuzz.cpp
tests_fuzz_constraint_fuzz_LDADD = libcohort_guard.la libcohort.la
tests_fuzz_constraint_fuzz_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_desired_fuzz_SOURCES = tests/fuzz/fuzz.hpp tests/fuzz/desired_fuzz.cpp
tests_fuzz_desired_fuzz_LDADD = $(FUZZ_LDADD)
tests_fuzz_desired_fuzz_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_headers_fuzz_SOURCES = tests/fuzz/fuzz.hpp tests/fuzz/headers_fuzz.cpp
tests_fuzz_headers_fuzz_LDADD = $(FUZZ_LDADD)
tests_fuzz_headers_fuzz_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_hosts_fuzz_SOURCES = tests/fuzz/fuzz.hpp tests/fuzz/hosts_fuzz.cpp
tests_fuzz_hosts_fuzz_LDADD = libcohort_slurm.la libcohort.la $(SLURM_LIBS)
tests_fuzz_hosts_fuzz_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
endif
