# SPDX-License-Identifier: GPL-2.0-or-later
# make bench: measurements with targets; not part of `make check`, because a time is no proof on a
# busy machine. BENCHES are programs that need nothing; the rest is on the lab (root).
EXTRA_PROGRAMS = $(BENCHES)
CLEANFILES += $(BENCHES)
EXTRA_DIST += \
	tests/bench/bench_cloud.py \
	tests/bench/bench_guard.py \
	tests/bench/bench_queue.py \
	tests/bench/bench_reboot.py \
	tests/bench/bench_rollout.py \
	tests/bench/bench_spank.py \
	tests/bench/bench_start.py \
	tests/bench/bench_sweep.py \
	tests/bench/first_instruction.c \
	tests/bench/guard_rule.lua \
	tests/bench/launches.py \
	tests/bench/spank_nothing.c
BENCH_STAGE = $(abs_builddir)/bench-stage

.PHONY: bench
bench: all $(BENCHES) tests/cloud/cloudcall
	@for program in $(BENCHES); do echo "== $$program"; ./$$program || exit 1; done
	$(srcdir)/tests/bench/bench_cloud.py --cloudcall tests/cloud/cloudcall
	rm -rf $(BENCH_STAGE)
	$(MAKE) $(AM_MAKEFLAGS) install DESTDIR=$(BENCH_STAGE) >/dev/null
	$(srcdir)/tests/bench/bench_spank.py --stage $(BENCH_STAGE)
	$(srcdir)/tests/bench/bench_guard.py --stage $(BENCH_STAGE) --verdict ./tests/bench/guard_verdict_bench
	$(srcdir)/tests/bench/bench_sweep.py --stage $(BENCH_STAGE)
	$(srcdir)/tests/bench/bench_start.py --stage $(BENCH_STAGE)
	$(srcdir)/tests/bench/bench_queue.py --stage $(BENCH_STAGE)
	$(srcdir)/tests/bench/bench_reboot.py --stage $(BENCH_STAGE)
	$(srcdir)/tests/bench/bench_rollout.py --stage $(BENCH_STAGE)
	rm -rf $(BENCH_STAGE)
