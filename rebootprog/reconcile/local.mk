# SPDX-License-Identifier: GPL-2.0-or-later
# scohort reconcile: nodes whose machine is gone.
librebuild_la_SOURCES += \
	rebootprog/reconcile/inventory.cpp \
	rebootprog/reconcile/inventory.hpp \
	rebootprog/reconcile/reconcile.cpp \
	rebootprog/reconcile/reconcile.hpp \
	rebootprog/reconcile/reconcile_decide.cpp \
	rebootprog/reconcile/reconcile_decide.hpp \
	rebootprog/reconcile/reconcile_journal.cpp \
	rebootprog/reconcile/reconcile_journal.hpp
