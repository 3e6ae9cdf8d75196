# SPDX-License-Identifier: GPL-2.0-or-later
# The OpenStack client.
noinst_LTLIBRARIES += libcohort_openstack.la
libcohort_openstack_la_SOURCES = \
	common/openstack/answers.cpp \
	common/openstack/answers.hpp \
	common/openstack/cloud.cpp \
	common/openstack/cloud.hpp \
	common/openstack/cloud_actions.cpp \
	common/openstack/cloud_create.cpp \
	common/openstack/cloud_fields.cpp \
	common/openstack/cloud_fields.hpp \
	common/openstack/cloud_impl.hpp \
	common/openstack/clouds.cpp \
	common/openstack/clouds.hpp \
	common/openstack/http.cpp \
	common/openstack/http.hpp \
	common/openstack/keystone.cpp \
	common/openstack/keystone.hpp \
	common/openstack/retry.cpp \
	common/openstack/retry.hpp \
	common/openstack/session.cpp \
	common/openstack/session.hpp \
	common/openstack/token_cache.cpp \
	common/openstack/token_cache.hpp \
	common/openstack/url.cpp \
	common/openstack/url.hpp \
	common/openstack/verdict.cpp \
	common/openstack/verdict.hpp \
	common/openstack/yaml_tree.cpp \
	common/openstack/yaml_tree.hpp
libcohort_openstack_la_CXXFLAGS = $(AM_CXXFLAGS) $(CURL_CFLAGS) $(YAML_CFLAGS)
libcohort_openstack_la_LIBADD = libcohort.la $(CURL_LIBS) $(YAML_LIBS)

# One call of the client per command: what the contract tests are written with.
check_PROGRAMS += tests/cloud/cloudcall
tests_cloud_cloudcall_LDADD = libcohort_openstack.la

# The lab cloud.
EXTRA_DIST += \
	tests/lab/cloud \
	tests/lab/cloud_client.py \
	tests/lab/cloud_control.py \
	tests/lab/cloud_glance.py \
	tests/lab/cloud_http.py \
	tests/lab/cloud_keystone.py \
	tests/lab/cloud_nova.py \
	tests/lab/cloud_power.py \
	tests/lab/cloud_state.py

if HAVE_CHECK
OPENSTACK_UNIT_TESTS = \
	tests/unit/desired_test \
	tests/unit/follower_test \
	tests/unit/openstack_answers_test \
	tests/unit/openstack_clouds_test \
	tests/unit/openstack_rules_test \
	tests/unit/openstack_session_test \
	tests/unit/pace_test
check_PROGRAMS += $(OPENSTACK_UNIT_TESTS)
TESTS += $(OPENSTACK_UNIT_TESTS)
endif
OPENSTACK_UNIT_LDADD = libcohort_pace.la libcohort_openstack.la $(CHECK_LIBS)

tests_unit_desired_test_LDADD = $(OPENSTACK_UNIT_LDADD)
tests_unit_follower_test_LDADD = $(OPENSTACK_UNIT_LDADD)
tests_unit_openstack_answers_test_LDADD = $(OPENSTACK_UNIT_LDADD)
tests_unit_openstack_clouds_test_LDADD = $(OPENSTACK_UNIT_LDADD)
tests_unit_openstack_rules_test_LDADD = $(OPENSTACK_UNIT_LDADD)
tests_unit_openstack_session_test_LDADD = $(OPENSTACK_UNIT_LDADD)
tests_unit_pace_test_LDADD = $(OPENSTACK_UNIT_LDADD)

# The client against a cloud: the lab cloud, or a true one (tests/cloud/target.py).
OPENSTACK_CLOUD_TESTS = \
	tests/cloud/contract_test \
	tests/cloud/faults_test \
	tests/cloud/leaks_test \
	tests/cloud/oracle_test \
	tests/cloud/tls_test
TESTS += $(OPENSTACK_CLOUD_TESTS)
EXTRA_DIST += \
	$(OPENSTACK_CLOUD_TESTS) \
	tests/cloud/harness.py \
	tests/cloud/proxy.py \
	tests/cloud/target.py
