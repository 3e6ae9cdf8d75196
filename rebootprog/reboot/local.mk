# SPDX-License-Identifier: GPL-2.0-or-later
# cohort-reboot: one attempt for one node.
librebuild_la_SOURCES += \
	rebootprog/reboot/attempt.cpp \
	rebootprog/reboot/attempt.hpp \
	rebootprog/reboot/attempt_follow.cpp \
	rebootprog/reboot/attempt_runner.hpp \
	rebootprog/reboot/choke_point.cpp \
	rebootprog/reboot/choke_point.hpp \
	rebootprog/reboot/decide.cpp \
	rebootprog/reboot/decide.hpp \
	rebootprog/reboot/engine.cpp \
	rebootprog/reboot/engine.hpp \
	rebootprog/reboot/wanted.cpp \
	rebootprog/reboot/wanted.hpp

# What it does is in the name that Slurm calls it by: power saving is configured with these.
POWER_NAMES = cohort-resume cohort-resume-fail cohort-suspend
install-exec-hook:
	for name in $(POWER_NAMES); do ln -sf cohort-reboot $(DESTDIR)$(sbindir)/$$name; done
install-data-local:
	$(MKDIR_P) $(DESTDIR)$(man8dir)
	for name in $(POWER_NAMES); do ln -sf cohort-reboot.8 $(DESTDIR)$(man8dir)/$$name.8; done
uninstall-local:
	for name in $(POWER_NAMES); do rm -f $(DESTDIR)$(sbindir)/$$name $(DESTDIR)$(man8dir)/$$name.8; done

cohort_reboot_SOURCES = rebootprog/reboot/reboot_main.cpp
cohort_reboot_LDADD = librebuild.la
