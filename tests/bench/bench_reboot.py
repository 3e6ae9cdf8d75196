#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What one call of cohort-reboot takes, on a real slurmctld and the lab cloud.

Usage: bench_reboot.py --stage DIR [--servers N] [--concurrent N]    (root; `make bench` does it)
  agent    how long slurmctld waits for the program: 20 ms
  one      requests of a one-node call with a shared token before it follows the action: 3
  many     N servers in one call on a cloud that answers in 20 ms and rebuilds in 5 s, 100 at once: within
           1.2 x of round trips / concurrency, a round trip being one server's POST, its rebuild and the
           question that proves its end
Exit 1 when a target is missed.
"""
from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lab")]

import namespace  # noqa: E402
from lab import Lab  # noqa: E402

LATENCY, DELAY = 0.02, 5.0
AGENT_MS, FACTOR = 20, 1.2
SCRIPT = """
import subprocess, time
for _ in range(25):
    begin = time.monotonic()
    subprocess.run(["cohort-reboot", "no-such-node"], check=True)
    print(1000 * (time.monotonic() - begin))
"""


def lab_of(stage: str, servers: int, concurrent: int) -> Lab:
    nodes = f"x[1-{servers}] NodeAddr=10.77.0.1 CPUs=1 RealMemory=1 State=DOWN"
    return Lab(nodes=1, stage=stage, cloud={"rebuild_delay": DELAY, "latency": LATENCY},
               more_servers=[f"x{n}" for n in range(1, servers + 1)],
               conf={"NodeName": nodes, "ResumeTimeout": 900, "SlurmctldDebug": "info"},
               cohort_conf={"CacheToken": "yes", "MaxConcurrent": concurrent})  # fmt: skip


def reboot(lab: Lab, nodes: str) -> float:
    begin = time.monotonic()
    done = lab.controller.run(["cohort-reboot", "--foreground", nodes], user="slurm", check=False, timeout=900)
    if done.returncode:
        sys.exit(f"cohort-reboot {nodes}: exit {done.returncode}: {done.stderr[-2000:]}")
    return time.monotonic() - begin


def verdict(good: bool, target: str) -> bool:
    print(f"{'':6} target {target}: {'met' if good else 'MISSED'}", flush=True)
    return good


def agent(lab: Lab) -> bool:
    times = list(map(float, lab.controller.run(["python3", "-c", SCRIPT], user="slurm", timeout=120).stdout.split()))
    middle = statistics.median(times)
    print(f"agent  free again after {middle:.1f} ms [{min(times):.1f}, {max(times):.1f}]")
    return verdict(middle <= AGENT_MS, f"{AGENT_MS} ms")


def one(lab: Lab) -> bool:
    lab.set_desired("x1", "v2")
    lab.set_desired("x2", "v2")
    reboot(lab, "x1")
    lab.cloud.reset()
    lab.cloud.set(rebuild_delay=2, latency=LATENCY)
    seconds = reboot(lab, "x2")
    paths = [entry["path"] for entry in lab.cloud.log()]
    polls = [path for path in paths if "/os-instance-actions" in path]
    print(f"one    {len(paths) - len(polls)} requests, then {len(polls)} questions in a rebuild of 2 s; {seconds:.1f} s")
    return verdict(len(paths) - len(polls) == 3 and not lab.cloud.counters().get("logins"), "3 requests, no login")


def many(lab: Lab, servers: int, concurrent: int) -> bool:
    for n in range(1, servers + 1):
        lab.set_desired(f"x{n}", "v3")
    lab.cloud.reset()
    lab.cloud.set(rebuild_delay=DELAY, latency=LATENCY)
    seconds = reboot(lab, f"x[1-{servers}]")
    counters = lab.cloud.counters()
    least = servers / concurrent * (DELAY + 2 * LATENCY)
    print(f"many   {servers} servers: {seconds:.1f} s, round trips / concurrency {least:.1f} s: {seconds / least:.2f} x; "
          f"{counters['requests']} requests ({counters['lists']} lists), {counters.get('logins', 0)} logins, at most "
          f"{counters['max_rebuilds_in_flight']} at once")  # fmt: skip
    good = counters["rebuilds"] == servers and counters["max_rebuilds_in_flight"] <= concurrent
    return verdict(good and seconds <= FACTOR * least, f"{FACTOR} x")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--stage", required=True, help="folder of `make install DESTDIR=`")
    parser.add_argument("--servers", type=int, default=1000)
    parser.add_argument("--concurrent", type=int, default=100)
    options = parser.parse_args()
    namespace.reexecute([sys.executable, str(Path(__file__).resolve()), *sys.argv[1:]], "bench")
    with lab_of(str(Path(options.stage).resolve()), options.servers, options.concurrent) as lab:
        good = [agent(lab), one(lab), many(lab, options.servers, options.concurrent)]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
