# SPDX-License-Identifier: GPL-2.0-or-later
# scohort barrier: a whole cohort to one revision.
librebuild_la_SOURCES += \
	rebootprog/barrier/barrier.cpp \
	rebootprog/barrier/barrier.hpp \
	rebootprog/barrier/barrier_journal.cpp \
	rebootprog/barrier/barrier_journal.hpp \
	rebootprog/barrier/barrier_lock.cpp \
	rebootprog/barrier/barrier_lock.hpp \
	rebootprog/barrier/barrier_picture.cpp \
	rebootprog/barrier/barrier_picture.hpp \
	rebootprog/barrier/barrier_replace.cpp \
	rebootprog/barrier/barrier_run.cpp \
	rebootprog/barrier/barrier_run.hpp \
	rebootprog/barrier/barrier_try.cpp \
	rebootprog/barrier/barrier_verb.cpp \
	rebootprog/barrier/barrier_verb.hpp
