# SPDX-License-Identifier: GPL-2.0-or-later
# cohort-node and what it shares with scohort.
# No cloud library: nothing of the credentials' side may reach a node.
cohort_node_SOURCES = \
	rebootprog/command_line.hpp \
	rebootprog/node/node_dynamic.cpp \
	rebootprog/node/node_dynamic.hpp \
	rebootprog/node/node_facts.cpp \
	rebootprog/node/node_facts.hpp \
	rebootprog/node/node_gate.cpp \
	rebootprog/node/node_gate.hpp \
	rebootprog/node/node_join.cpp \
	rebootprog/node/node_join.hpp \
	rebootprog/node/node_judge.cpp \
	rebootprog/node/node_judge.hpp \
	rebootprog/node/node_leave.cpp \
	rebootprog/node/node_leave.hpp \
	rebootprog/node/node_main.cpp \
	rebootprog/node/node_once.cpp \
	rebootprog/node/node_once.hpp \
	rebootprog/node/node_profile.cpp \
	rebootprog/node/node_profile.hpp \
	rebootprog/node/node_verify.cpp \
	rebootprog/node/node_wait.cpp \
	rebootprog/node/node_wait.hpp \
	rebootprog/site/run_command.cpp \
	rebootprog/site/run_command.hpp \
	rebootprog/site/site_command.cpp \
	rebootprog/site/site_command.hpp
cohort_node_LDADD = \
	libruntime.la \
	libcohort_slurm.la \
	libcohort.la \
	$(SLURM_LIBS)

# The runtime of a node: its wanted settings and what a profile is made of.
noinst_LTLIBRARIES += libruntime.la
libruntime_la_SOURCES = \
	rebootprog/node/doctor_runtime.cpp \
	rebootprog/node/doctor_runtime.hpp \
	rebootprog/node/plugin_file.cpp \
	rebootprog/node/plugin_file.hpp \
	rebootprog/node/profile_source.cpp \
	rebootprog/node/profile_source.hpp \
	rebootprog/node/settings_store.cpp \
	rebootprog/node/settings_store.hpp \
	rebootprog/node/worker_settings.cpp \
	rebootprog/node/worker_settings.hpp
libruntime_la_LIBADD = libcohort.la
