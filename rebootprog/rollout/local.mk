# SPDX-License-Identifier: GPL-2.0-or-later
# A rollout from its plan to its end.
librebuild_la_SOURCES += \
	rebootprog/rollout/advance.cpp \
	rebootprog/rollout/advance.hpp \
	rebootprog/rollout/advance_decide.cpp \
	rebootprog/rollout/advance_decide.hpp \
	rebootprog/rollout/plan.cpp \
	rebootprog/rollout/plan.hpp \
	rebootprog/rollout/plan_make.cpp \
	rebootprog/rollout/plan_make.hpp \
	rebootprog/rollout/plan_rows.cpp \
	rebootprog/rollout/queue_digest.cpp \
	rebootprog/rollout/queue_digest.hpp \
	rebootprog/rollout/rebuild_jobs.cpp \
	rebootprog/rollout/rebuild_jobs.hpp \
	rebootprog/rollout/rebuild_verb.cpp \
	rebootprog/rollout/rollout.hpp \
	rebootprog/rollout/rollout_act.cpp \
	rebootprog/rollout/rollout_act.hpp \
	rebootprog/rollout/rollout_decide.cpp \
	rebootprog/rollout/rollout_decide.hpp \
	rebootprog/rollout/rollout_journal.cpp \
	rebootprog/rollout/rollout_journal.hpp \
	rebootprog/rollout/rollout_row.cpp \
	rebootprog/rollout/rollout_row.hpp \
	rebootprog/rollout/rollout_verbs.cpp \
	rebootprog/rollout/rollout_verbs.hpp
