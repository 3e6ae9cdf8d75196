# SPDX-License-Identifier: GPL-2.0-or-later
# The back ends; where the desired image is read, and how the site's actions are paced.
noinst_LTLIBRARIES += libcohort_pace.la
libcohort_pace_la_SOURCES = \
	rebootprog/cloud/backend.cpp \
	rebootprog/cloud/backend.hpp \
	rebootprog/cloud/breaker.cpp \
	rebootprog/cloud/breaker.hpp \
	rebootprog/cloud/desired.cpp \
	rebootprog/cloud/desired.hpp \
	rebootprog/cloud/desired_yaml.cpp \
	rebootprog/cloud/desired_yaml.hpp \
	rebootprog/cloud/desired_server.cpp \
	rebootprog/cloud/desired_server.hpp \
	rebootprog/cloud/follower.cpp \
	rebootprog/cloud/follower.hpp \
	rebootprog/cloud/usual_time.cpp \
	rebootprog/cloud/usual_time.hpp \
	rebootprog/cloud/slots.cpp \
	rebootprog/cloud/slots.hpp
libcohort_pace_la_CXXFLAGS = $(AM_CXXFLAGS) $(YAML_CFLAGS)
libcohort_pace_la_LIBADD = libcohort_openstack.la

librebuild_la_SOURCES += \
	rebootprog/cloud/backend.hpp \
	rebootprog/cloud/backend_exec.cpp \
	rebootprog/cloud/backend_exec.hpp \
	rebootprog/cloud/backend_nova.cpp \
	rebootprog/cloud/backend_nova.hpp \
	rebootprog/cloud/backends.cpp \
	rebootprog/cloud/backends.hpp
