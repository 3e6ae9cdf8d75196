#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the guard costs a real slurmctld of ten thousand defined nodes, and what Lua would.

Usage: bench_guard.py --stage DIR --verdict PROGRAM [--rounds N]    (root; `make bench` does it)
  the verdict: p99 at most 50 us (processor time), and against the same rule in Lua, in turn (needs lua;
  job_submit/lua embeds it)
  sbatch rate with the plugin, without it, and without it for jobs that ask by themselves for what the
  plugin would have bound them to (Slurm's own work for a constraint), in turn, each after a restart of slurmctld
  the time inside the hook, as the plugin itself reports it (StateDir/snapshot.json, scohort metrics)
  restart to all labels back; memory of slurmctld
  the share of slurmctld's time that the thread's and the timer's questions take (sdiag)
Ratios with their smallest and largest value. Exit 1 when a target is missed.
"""
from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lab")]

import namespace  # noqa: E402
import services  # noqa: E402
from lab import Lab  # noqa: E402
from machines import wait_until  # noqa: E402

NODES, JOBS = 10000, 100
A, B = "rev_" + "a" * 16, "rev_" + "b" * 16
HALVES = ((f"c[1-{NODES // 2}]", A), (f"c[{NODES // 2 + 1}-{NODES}]", B))
TARGETS = {"lua": 20, "labels": 5.0, "share": 0.01}
SETTLE = 15  # after a restart, seconds
# Held: the queue's length is the same in every round.
SUBMIT = f"""
import subprocess, sys, time
begin = time.perf_counter()
for _ in range({JOBS}):
    subprocess.run(["sbatch", "-H", "-N2", "-p", "big", *sys.argv[1:], "--wrap", "true"], check=True, capture_output=True)
print({JOBS} / (time.perf_counter() - begin))
"""


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} [{min(values):.2f}, {max(values):.2f}]"


def verdicts(program: str) -> bool:
    done = subprocess.run([program], capture_output=True, text=True)
    print(done.stdout, end="")
    return done.returncode == 0


def against_lua(program: str, rounds: int) -> bool:
    lua = next((p for p in ("lua5.4", "lua5.3", "lua5.1", "lua") if shutil.which(p)), None)
    if not lua:
        print("lua is not installed: not compared with job_submit/lua's language")
        return True
    ratios = []
    for _ in range(rounds):
        rows = subprocess.run([program], capture_output=True, text=True).stdout
        ours = float(re.search(r"^features +median +([\d.]+)", rows, re.M).group(1))
        theirs = float(subprocess.run([lua, HERE / "guard_rule.lua"], capture_output=True, text=True, check=True).stdout)
        ratios.append(theirs / ours)
    print(f"the same rule in {lua} takes {spread(ratios)} times as long (target {TARGETS['lua']})")
    return statistics.median(ratios) >= TARGETS["lua"]


def restart(lab: Lab, plugin: bool) -> float:
    """Seconds from the start of slurmctld until the last label is back (0 without the plugin)."""
    services.stop(lab.controller, "slurmctld", seconds=120)
    lab.conf["JobSubmitPlugins"] = "cohort" if plugin else None
    lab.write_slurm_conf()
    begin = time.monotonic()
    services.start_slurmctld(lab.controller)
    if not plugin:
        return 0
    wait_until(lambda: all(label in lab.node(name)["ActiveFeatures"]
                           for name, label in (("c1", A), (f"c{NODES}", B))), 60, "labels", 0.02)  # fmt: skip
    return time.monotonic() - begin


def memory(lab: Lab) -> float:
    """Of slurmctld, resident, in MB."""
    pid = services.pid(lab.controller, "slurmctld")
    status = lab.out("cat", f"/proc/{pid}/status")
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024


def hook(lab: Lab) -> dict[str, float]:
    """Since slurmctld began; the file is at most ten seconds old."""
    time.sleep(11)
    return json.loads(lab.out("cat", "/var/lib/slurm/slurmctld-cohort/snapshot.json", timeout=60))["hooks"]


def rpc_time(lab: Lab, seconds: float) -> dict[str, float]:
    """User -> RPC seconds in SECONDS in which the timer makes its steps, ten seconds apart. SlurmUser
    is the plugin's thread, root the timer's steps (and one sdiag)."""
    lab.run("sdiag", "-r")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        lab.run("scohort", "advance", "--quiet", check=False, timeout=120)
        time.sleep(10)
    text = lab.out("sdiag")
    users = text[text.index("statistics by user"):]
    rows = re.findall(r"(\w+)\s*\(\s*\d+\) count:\d+\s+ave_time:\d+\s+total_time:(\d+)", users)
    return {user: int(total) / 1e6 for user, total in rows}


def controller(stage: str, rounds: int) -> bool:
    conf = {"NodeName": f"c[1-{NODES}] NodeAddr=10.80.[0-39].[1-250] CPUs=64 RealMemory=1000 State=DOWN",
            "SlurmctldDebug": "info"}
    partitions = ["PartitionName=main Nodes=n1 Default=YES State=UP", f"PartitionName=big Nodes=c[1-{NODES}] State=UP"]
    good = True
    with Lab(nodes=1, stage=stage, conf=conf, partitions=partitions) as lab:
        for names, label in HALVES:
            lab.run("scontrol", "update", f"NodeName={names}", "Extra=" + json.dumps({"cohort_rev": label}), timeout=120)
        rates: list[float] = []
        asked: list[float] = []
        each: list[float] = []
        labels, with_mb, without_mb, inside = [], [], [], []
        for _ in range(rounds):
            labels.append(restart(lab, plugin=True))
            time.sleep(SETTLE)
            ours = float(lab.out("python3", "-c", SUBMIT, user="alice", timeout=300))
            with_mb.append(memory(lab))
            inside.append(hook(lab))
            restart(lab, plugin=False)
            time.sleep(SETTLE)
            plain = float(lab.out("python3", "-c", SUBMIT, user="alice", timeout=300))
            without_mb.append(memory(lab))
            for names, label in HALVES:
                lab.run("scontrol", "update", f"NodeName={names}", f"AvailableFeatures={label}", f"ActiveFeatures={label}",
                        timeout=120)  # fmt: skip
            same = float(lab.out("python3", "-c", SUBMIT, "-C", f"[{A}|{B}]", user="alice", timeout=300))
            rates.append(ours / plain)
            asked.append(ours / same)
            each.append(ours)
            lab.run("scancel", "-u", "alice", timeout=120)
        print(f"sbatch rate with the plugin: {spread(each)} a second, {spread(rates)} of that without, "
              f"{spread(asked)} of that without for jobs with the same constraint")
        print(f"inside the hook: median {spread([h['median_us'] for h in inside])} us, p99 "
              f"{spread([h['p99_us'] for h in inside])} us, longest {max(h['max_us'] for h in inside):.0f} us, "
              f"{sum(h['calls'] for h in inside)} calls")  # fmt: skip
        print(f"restart to all labels back: {spread(labels)} s (target {TARGETS['labels']})")
        print(f"memory of slurmctld: {spread(with_mb)} MB with, {spread(without_mb)} MB without")
        restart(lab, plugin=True)
        time.sleep(10)
        took = rpc_time(lab, 60)
        share = sum(took.values()) / 60
        print(f"RPC time in 60 s: the plugin's thread {took.get('slurm', 0):.2f} s, the timer {took.get('root', 0):.2f} s, "
              f"{100 * share:.2f} % of slurmctld's time (target {100 * TARGETS['share']:.0f} %)")  # fmt: skip
        good = statistics.median(labels) <= TARGETS["labels"] and share <= TARGETS["share"]
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--stage", required=True, help="folder of `make install DESTDIR=`")
    parser.add_argument("--verdict", required=True, help="guard_verdict_bench")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    namespace.reexecute([sys.executable, str(Path(__file__).resolve()), *sys.argv[1:]], "bench")
    good = verdicts(options.verdict)
    good = against_lua(options.verdict, options.rounds) and good
    good = controller(str(Path(options.stage).resolve()), options.rounds) and good
    print("targets " + ("met" if good else "MISSED"))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
