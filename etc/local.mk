# SPDX-License-Identifier: GPL-2.0-or-later
# Samples and systemd units.
exampledir = $(docdir)/examples
dist_example_DATA = \
	etc/cohort.conf.example \
	etc/slurm.conf.fragment

systemdunitdir = $(prefix)/lib/systemd/system
dist_systemdunit_DATA = etc/cohort-advance.timer
nodist_systemdunit_DATA = \
	etc/cohort-advance.service \
	etc/cohort-join.service
slurmddropindir = $(systemdunitdir)/slurmd.service.d
nodist_slurmddropin_DATA = etc/slurmd-cohort.conf

UNIT_TEMPLATES = \
	etc/cohort-advance.service.in \
	etc/cohort-join.service.in \
	etc/slurmd-cohort.conf.in
EXTRA_DIST += $(UNIT_TEMPLATES)
CLEANFILES += $(nodist_systemdunit_DATA) $(nodist_slurmddropin_DATA)

etc/%: $(srcdir)/etc/%.in Makefile
	$(AM_V_GEN)$(MKDIR_P) etc && sed -e 's,[@]sbindir[@],$(sbindir),g' $< >$@

dist_man_MANS += etc/cohort.conf.5
