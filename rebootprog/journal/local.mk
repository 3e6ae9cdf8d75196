# SPDX-License-Identifier: GPL-2.0-or-later
# The journal's tables.
librebuild_la_SOURCES += \
	rebootprog/journal/journal.cpp \
	rebootprog/journal/journal.hpp \
	rebootprog/journal/journal_state.hpp \
	rebootprog/journal/sqlite.hpp
