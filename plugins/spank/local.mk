# SPDX-License-Identifier: GPL-2.0-or-later
# spank_cohort.so, and its core as a library for the unit tests.
noinst_LTLIBRARIES += libspank_core.la
libspank_core_la_SOURCES = \
	plugins/spank/arguments.cpp \
	plugins/spank/arguments.hpp \
	plugins/spank/gate.cpp \
	plugins/spank/gate.hpp \
	plugins/spank/injection.cpp \
	plugins/spank/injection.hpp \
	plugins/spank/step.cpp \
	plugins/spank/step.hpp
libspank_core_la_LIBADD = libcohort.la

plugin_LTLIBRARIES += spank_cohort.la
spank_cohort_la_SOURCES = plugins/spank/entry.cpp
spank_cohort_la_CPPFLAGS = $(AM_CPPFLAGS) $(SPANK_CPPFLAGS)
spank_cohort_la_CXXFLAGS = $(AM_CXXFLAGS) $(SPANK_CXXFLAGS)
spank_cohort_la_LINK = $(SPANK_LINK) $(spank_cohort_la_LDFLAGS) $(LDFLAGS) -o $@
spank_cohort_la_LIBADD = $(SPANK_LIBADD)
spank_cohort_la_LDFLAGS = \
	$(PLUGIN_LDFLAGS) $(SPANK_LDFLAGS) \
	-Wl,--version-script=$(top_srcdir)/plugins/spank/exports.map
spank_cohort_la_DEPENDENCIES = $(SPANK_CORE) plugins/spank/exports.map
EXTRA_DIST += plugins/spank/exports.map

# The same plugin with faults on request, for the tests; in a folder of its own because Slurm wants
# the file's name.
check_LTLIBRARIES += tests/load/faults/spank_cohort.la
tests_load_faults_spank_cohort_la_SOURCES = plugins/spank/entry.cpp
tests_load_faults_spank_cohort_la_CPPFLAGS = $(spank_cohort_la_CPPFLAGS) -DCOHORT_TEST_FAULTS
tests_load_faults_spank_cohort_la_CXXFLAGS = $(spank_cohort_la_CXXFLAGS)
tests_load_faults_spank_cohort_la_LINK = \
	$(SPANK_LINK) $(tests_load_faults_spank_cohort_la_LDFLAGS) $(LDFLAGS) -o $@
tests_load_faults_spank_cohort_la_LDFLAGS = $(spank_cohort_la_LDFLAGS) -rpath /nowhere
tests_load_faults_spank_cohort_la_LIBADD = $(SPANK_LIBADD)
tests_load_faults_spank_cohort_la_DEPENDENCIES = $(spank_cohort_la_DEPENDENCIES)

if STATIC_LIBSTDCXX
# No library to load and few mappings to copy at each task's fork: what the plugin needs of libcohort,
# compiled again with fmt in it, linked as C (m4/x_ac_static_libstdcxx.m4) with what is used of
# libstdc++.a, and of libmd.a where that can be. All of it is hidden: another plugin's C++ library does
# not meet it.
noinst_LTLIBRARIES += libspank_whole.la
libspank_whole_la_SOURCES = \
	$(libspank_core_la_SOURCES) \
	plugins/spank/arena.cpp \
	common/file.cpp \
	common/flat_json.cpp \
	common/profile.cpp \
	common/profile_names.cpp \
	common/profile_store.cpp \
	common/proof.cpp \
	common/published.cpp \
	common/revision.cpp \
	common/sha256.cpp \
	common/text.cpp
libspank_whole_la_CPPFLAGS = $(AM_CPPFLAGS) $(SPANK_CPPFLAGS)
libspank_whole_la_CXXFLAGS = $(AM_CXXFLAGS) $(SPANK_CXXFLAGS)
SPANK_CORE = libspank_whole.la
SPANK_LIBADD = libspank_whole.la $(SPANK_MD_LIBS) -l:libstdc++.a -lm
SPANK_CPPFLAGS = -DFMT_HEADER_ONLY -DFMT_STATIC_THOUSANDS_SEPARATOR=44 -DFMT_USE_LOCALE=0
# Without a PLT: one page less for every task to fault in.
SPANK_CXXFLAGS = -ffunction-sections -fdata-sections -fno-plt
# arena.cpp serves the library's reserve for exceptions. Text and constants in one mapping instead of three.
SPANK_LDFLAGS = -static-libgcc -Wl,--gc-sections -Wl,--wrap=malloc -Wl,--wrap=free -Wl,-z,noseparate-code
SPANK_LINK = $(LIBTOOL) $(AM_V_lt) --tag=CC $(AM_LIBTOOLFLAGS) $(LIBTOOLFLAGS) \
	--mode=link $(CC) $(CFLAGS)
else
SPANK_CORE = libspank_core.la
SPANK_LIBADD = libspank_core.la
SPANK_CPPFLAGS =
SPANK_CXXFLAGS =
SPANK_LDFLAGS =
SPANK_LINK = $(LIBTOOL) $(AM_V_lt) --tag=CXX $(AM_LIBTOOLFLAGS) $(LIBTOOLFLAGS) \
	--mode=link $(CXX) $(AM_CXXFLAGS) $(CXXFLAGS)
endif
dist_man_MANS += plugins/spank/spank_cohort.8

# The compat TaskProlog in dash, bash and busybox; python3 writes the profiles.
TESTS += tests/unit/task_prolog_test
EXTRA_DIST += tests/unit/task_prolog_test

if HAVE_CHECK
RUNTIME_TESTS = \
	tests/unit/doctor_runtime_test \
	tests/unit/flat_json_test \
	tests/unit/profile_test \
	tests/unit/published_test \
	tests/unit/sha256_test \
	tests/unit/spank_test \
	tests/unit/worker_profile_test
check_PROGRAMS += $(RUNTIME_TESTS)
TESTS += $(RUNTIME_TESTS)
endif

tests_unit_flat_json_test_LDADD = $(UNIT_LDADD)
tests_unit_published_test_LDADD = $(UNIT_LDADD)

# libcrypto is the other opinion: no program of ours is linked with it.
tests_unit_sha256_test_LDADD = $(UNIT_LDADD) $(CRYPTO_LIBS)

tests_unit_profile_test_SOURCES = \
	tests/unit/profile_fixture.hpp \
	tests/unit/profile_test.cpp
tests_unit_profile_test_LDADD = $(UNIT_LDADD)
tests_unit_spank_test_LDADD = libspank_core.la $(UNIT_LDADD)
tests_unit_worker_profile_test_LDADD = libruntime.la $(UNIT_LDADD)
tests_unit_doctor_runtime_test_LDADD = libruntime.la $(UNIT_LDADD)
