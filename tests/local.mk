# SPDX-License-Identifier: GPL-2.0-or-later
# Unit programs (Check): one per module, linked only with what that module needs.
UNIT_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
UNIT_LDADD = libcohort.la $(CHECK_LIBS)

if HAVE_CHECK
UNIT_TESTS = \
	tests/unit/settings_test \
	tests/unit/node_record_test \
	tests/unit/proof_test \
	tests/unit/revision_test
check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
endif
TESTS += tests/rules_test
EXTRA_DIST += \
	tests/rules_test \
	tests/unit/unit.hpp

tests_unit_settings_test_SOURCES = tests/unit/settings_test.cpp
tests_unit_settings_test_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_settings_test_LDADD = $(UNIT_LDADD)

tests_unit_node_record_test_SOURCES = tests/unit/node_record_test.cpp
tests_unit_node_record_test_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_node_record_test_LDADD = $(UNIT_LDADD)

tests_unit_proof_test_SOURCES = tests/unit/proof_test.cpp
tests_unit_proof_test_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_proof_test_LDADD = $(UNIT_LDADD)

tests_unit_revision_test_SOURCES = tests/unit/revision_test.cpp
tests_unit_revision_test_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_revision_test_LDADD = $(UNIT_LDADD)
