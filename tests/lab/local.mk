# SPDX-License-Identifier: GPL-2.0-or-later
# The lab: real Slurm daemons and nodes on one machine, for the demo and the system tests.
EXTRA_DIST += \
	tests/lab/build-here \
	tests/lab/build-in-root \
	tests/lab/cloudlink.py \
	tests/lab/controller-boot \
	tests/lab/database.py \
	tests/lab/demo.py \
	tests/lab/demo_view.py \
	tests/lab/images.py \
	tests/lab/judge.py \
	tests/lab/lab \
	tests/lab/lab.py \
	tests/lab/leaks.py \
	tests/lab/machine-init \
	tests/lab/make-root \
	tests/lab/machines.py \
	tests/lab/namespace.py \
	tests/lab/network.py \
	tests/lab/node-boot \
	tests/lab/openstack_api.py \
	tests/lab/openstack_cloud.py \
	tests/lab/openstack_conf.py \
	tests/lab/openstack_driver.py \
	tests/lab/openstack_neutron.py \
	tests/lab/openstack_nova.py \
	tests/lab/openstack_seed.py \
	tests/lab/openstack_services.py \
	tests/lab/power \
	tests/lab/power.py \
	tests/lab/precompiled.hpp \
	tests/lab/prepare.sh \
	tests/lab/queries.py \
	tests/lab/services.py \
	tests/lab/slurmconf.py \
	tests/lab/slurmd-unit \
	tests/lab/syslogd.py \
	tests/lab/workload.py

# What nearly every file includes, compiled once: ./demo and ./check use it (build in prepare.sh). Its
# options must be those of the library objects, or the compiler passes over it.
precompiled.hpp.gch: tests/lab/precompiled.hpp
	$(AM_V_GEN)sed '/^.pragma once/d' $(srcdir)/tests/lab/precompiled.hpp >precompiled.hpp
	$(AM_V_at)$(CXX) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) $(AM_CXXFLAGS) $(CXXFLAGS) \
		-fPIC -DPIC -x c++-header precompiled.hpp -o $@
CLEANFILES += precompiled.hpp precompiled.hpp.gch
