# SPDX-License-Identifier: GPL-2.0-or-later
# The Debian packages in a fresh root file system; run by ./check (needs root and the package mirror).
EXTRA_DIST += tests/package/try
