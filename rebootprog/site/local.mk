# SPDX-License-Identifier: GPL-2.0-or-later
# cohort.conf, slurm.conf and the state folder; Slurm's commands; cohort-gate.
noinst_LTLIBRARIES += libsite.la
libsite_la_SOURCES = \
	rebootprog/site/picture.cpp \
	rebootprog/site/picture.hpp \
	rebootprog/site/site.cpp \
	rebootprog/site/site.hpp

librebuild_la_SOURCES += \
	rebootprog/site/process.cpp \
	rebootprog/site/process.hpp \
	rebootprog/site/run_command.cpp \
	rebootprog/site/run_command.hpp \
	rebootprog/site/scontrol.cpp \
	rebootprog/site/scontrol.hpp \
	rebootprog/site/site_command.cpp \
	rebootprog/site/site_command.hpp

# PrologSlurmctld runs it for every job: no cloud, no database.
cohort_gate_SOURCES = rebootprog/site/gate_main.cpp
cohort_gate_LDADD = \
	libsite.la \
	libcohort_guard.la \
	libcohort_slurm.la \
	libcohort.la \
	$(SLURM_LIBS)
