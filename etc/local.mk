# SPDX-License-Identifier: GPL-2.0-or-later
# Samples and systemd units.
exampledir = $(docdir)/examples
dist_example_DATA = \
	etc/ansible-init.example.yml \
	etc/cloud-init.example \
	etc/cohort.conf.example \
	etc/slurm.conf.fragment \
	etc/worker-pod.example.yaml
examplepluginsdir = $(exampledir)/plugstack.conf.d
dist_exampleplugins_DATA = etc/plugstack.conf.d/cohort.conf
completiondir = $(datadir)/bash-completion/completions
dist_completion_DATA = etc/bash-completion/scohort
exampleprofiledir = $(exampledir)/profile.d
dist_exampleprofile_DATA = etc/profile.d/zz-flox-task-profile.sh
# For sites that may not load SPANK plugins.
dist_pkglibexec_SCRIPTS = etc/cohort-task-prolog

dist_systemdunit_DATA = \
	etc/cohort-advance.timer \
	etc/cohort-reconcile.timer \
	etc/cohort-report.path
nodist_systemdunit_DATA = \
	etc/cohort-advance.service \
	etc/cohort-join.service \
	etc/cohort-leave.service \
	etc/cohort-profile.service \
	etc/cohort-reconcile.service \
	etc/cohort-report.service
slurmddropindir = $(systemdunitdir)/slurmd.service.d
nodist_slurmddropin_DATA = etc/slurmd-cohort.conf

UNIT_TEMPLATES = \
	etc/cohort-advance.service.in \
	etc/cohort-join.service.in \
	etc/cohort-leave.service.in \
	etc/cohort-profile.service.in \
	etc/cohort-reconcile.service.in \
	etc/cohort-report.service.in \
	etc/slurmd-cohort.conf.in
EXTRA_DIST += $(UNIT_TEMPLATES)
CLEANFILES += $(nodist_systemdunit_DATA) $(nodist_slurmddropin_DATA)

etc/%: $(srcdir)/etc/%.in Makefile
	$(AM_V_GEN)$(MKDIR_P) etc && sed -e 's,[@]sbindir[@],$(sbindir),g' $< >$@

dist_man_MANS += etc/cohort.conf.5
