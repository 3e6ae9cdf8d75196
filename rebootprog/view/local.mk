# SPDX-License-Identifier: GPL-2.0-or-later
# What scohort shows: status, watch, history, report, metrics.
librebuild_la_SOURCES += \
	rebootprog/view/cloud_views.cpp \
	rebootprog/view/cloud_views.hpp \
	rebootprog/view/report.cpp \
	rebootprog/view/report.hpp \
	rebootprog/view/report_collect.cpp \
	rebootprog/view/report_collect.hpp \
	rebootprog/view/report_page.cpp \
	rebootprog/view/report_style.hpp \
	rebootprog/view/table.cpp \
	rebootprog/view/table.hpp \
	rebootprog/view/view.cpp \
	rebootprog/view/view.hpp \
	rebootprog/view/view_collect.cpp \
	rebootprog/view/view_collect.hpp \
	rebootprog/view/view_json.cpp \
	rebootprog/view/view_metrics.cpp \
	rebootprog/view/view_picture.cpp \
	rebootprog/view/view_render.hpp \
	rebootprog/view/view_text.cpp \
	rebootprog/view/view_verbs.cpp \
	rebootprog/view/view_verbs.hpp \
	rebootprog/view/watch.cpp
