# SPDX-License-Identifier: GPL-2.0-or-later
# scohort doctor.
librebuild_la_SOURCES += \
	rebootprog/doctor/doctor.cpp \
	rebootprog/doctor/doctor.hpp \
	rebootprog/doctor/doctor_checks.cpp \
	rebootprog/doctor/doctor_checks.hpp \
	rebootprog/doctor/doctor_cloud.cpp \
	rebootprog/doctor/doctor_collect.cpp \
	rebootprog/doctor/doctor_collect.hpp \
	rebootprog/doctor/doctor_collect_cloud.cpp \
	rebootprog/doctor/doctor_facts.hpp \
	rebootprog/doctor/doctor_jobs.cpp \
	rebootprog/doctor/doctor_nodes.cpp \
	rebootprog/doctor/doctor_slurm.cpp \
	rebootprog/doctor/doctor_state.cpp
