# SPDX-License-Identifier: GPL-2.0-or-later
# Power saving: cohort-resume, -suspend, -resume-fail.
librebuild_la_SOURCES += \
	rebootprog/power/power.cpp \
	rebootprog/power/power.hpp \
	rebootprog/power/power_promise.cpp \
	rebootprog/power/power_promise.hpp \
	rebootprog/power/power_run.cpp \
	rebootprog/power/power_run.hpp \
	rebootprog/power/power_runner.hpp \
	rebootprog/power/power_suspend.cpp
