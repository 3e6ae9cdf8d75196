# SPDX-License-Identifier: GPL-2.0-or-later

if HAVE_CHECK
RUNTIME_TESTS = \
	tests/unit/profile_test \
	tests/unit/published_test
check_PROGRAMS += $(RUNTIME_TESTS)
TESTS += $(RUNTIME_TESTS)
endif

tests_unit_published_test_SOURCES = tests/unit/published_test.cpp
tests_unit_published_test_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_published_test_LDADD = $(UNIT_LDADD)

tests_unit_profile_test_SOURCES = \
	tests/unit/profile_fixture.hpp \
	tests/unit/profile_test.cpp
tests_unit_profile_test_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_profile_test_LDADD = $(UNIT_LDADD)
