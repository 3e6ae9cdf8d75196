# SPDX-License-Identifier: GPL-2.0-or-later
# libcohort: what every part shares. Knows neither Slurm nor the cloud.
noinst_LTLIBRARIES += libcohort.la
libcohort_la_SOURCES = \
	common/cluster.cpp \
	common/cluster.hpp \
	common/file.cpp \
	common/file.hpp \
	common/flat_json.cpp \
	common/flat_json.hpp \
	common/json.cpp \
	common/json.hpp \
	common/log.cpp \
	common/log.hpp \
	common/look_request.cpp \
	common/look_request.hpp \
	common/node_record.cpp \
	common/node_record.hpp \
	common/profile.cpp \
	common/profile.hpp \
	common/profile_names.cpp \
	common/profile_names.hpp \
	common/profile_store.cpp \
	common/profile_store.hpp \
	common/proof.cpp \
	common/proof.hpp \
	common/published.cpp \
	common/published.hpp \
	common/rebuild_budget.cpp \
	common/rebuild_budget.hpp \
	common/rebuild_mark.cpp \
	common/rebuild_mark.hpp \
	common/result.hpp \
	common/revision.cpp \
	common/revision.hpp \
	common/settings.cpp \
	common/settings.hpp \
	common/sha256.cpp \
	common/sha256.hpp \
	common/snapshot.cpp \
	common/snapshot.hpp \
	common/snapshot_file.cpp \
	common/snapshot_file.hpp \
	common/text.cpp \
	common/text.hpp \
	common/yaml_null.hpp
libcohort_la_LIBADD = \
	$(MD_LIBS) \
	$(JANSSON_LIBS) \
	$(FMT_LIBS)
