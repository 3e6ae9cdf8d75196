# SPDX-License-Identifier: GPL-2.0-or-later
# The OpenStack client, and what of the rebuild programs stands beside it: where the desired image
# is read, and how the site's actions are paced.
EXTRA_DIST += \
	common/openstack/cloud.hpp \
	common/openstack/clouds.hpp \
	rebootprog/breaker.hpp \
	rebootprog/desired.hpp \
	rebootprog/slots.hpp
