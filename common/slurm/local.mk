# SPDX-License-Identifier: GPL-2.0-or-later
# libcohort_slurm: the only room that meets <slurm/...>. Not linked with libslurm: in a plugin the
# symbols come from Slurm's own process; programs add $(SLURM_LIBS).
noinst_LTLIBRARIES += libcohort_slurm.la
libcohort_slurm_la_SOURCES = \
	common/slurm/compat.hpp \
	common/slurm/handles.hpp \
	common/slurm/hostlist.cpp \
	common/slurm/hostlist.hpp \
	common/slurm/job_desc.cpp \
	common/slurm/job_desc.hpp \
	common/slurm/job_writer.cpp \
	common/slurm/job_writer.hpp \
	common/slurm/live_features.cpp \
	common/slurm/live_features.hpp \
	common/slurm/load.cpp \
	common/slurm/load.hpp \
	common/slurm/node_state.cpp \
	common/slurm/node_state.hpp \
	common/slurm/node_update.hpp \
	common/slurm/node_writer.cpp \
	common/slurm/node_writer.hpp
libcohort_slurm_la_LIBADD = libcohort.la

# What slurmctld exports to no plugin: programs only.
noinst_LTLIBRARIES += libcohort_submit.la
libcohort_submit_la_SOURCES = \
	common/slurm/closing.cpp \
	common/slurm/closing.hpp \
	common/slurm/node_groups.cpp \
	common/slurm/node_groups.hpp \
	common/slurm/past_jobs.cpp \
	common/slurm/past_jobs.hpp \
	common/slurm/submit.cpp \
	common/slurm/submit.hpp
libcohort_submit_la_LIBADD = libcohort.la
