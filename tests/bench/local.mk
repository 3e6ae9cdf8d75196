# SPDX-License-Identifier: GPL-2.0-or-later
# make bench: measurements with targets, on the lab (root). Each part says what it measures.
EXTRA_DIST += tests/bench/bench_spank.py
BENCH_STAGE = $(abs_builddir)/bench-stage

.PHONY: bench
bench: all
	rm -rf $(BENCH_STAGE)
	$(MAKE) $(AM_MAKEFLAGS) install DESTDIR=$(BENCH_STAGE) >/dev/null
	$(srcdir)/tests/bench/bench_spank.py --stage $(BENCH_STAGE)
	rm -rf $(BENCH_STAGE)
