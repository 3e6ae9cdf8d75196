#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Ten thousand pending jobs bound and given back by the plugin's thread, and what users notice.

Usage: bench_sweep.py --stage DIR [--jobs N]    (root; `make bench` does it)
  ten thousand defined nodes of one revision, N (10000) pending jobs of two nodes on them
  half of the nodes get another label: all jobs are bound, a first part at the default SweepRate
  all nodes get that label: all jobs have back what they asked for
  a user's jobs on a node of their own all the while: how long until each starts
Exit 1 when a target is missed: the rate is kept within a tenth and not passed, no job's submit,
eligible or begin time moved, and a job starts as soon while the queue is swept as it does before
(medians within a fifth).
"""
from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lab")]

import namespace  # noqa: E402
import slurmconf  # noqa: E402
from lab import Lab  # noqa: E402
from machines import wait_until  # noqa: E402
from namespace import LAB  # noqa: E402
from queries import fields  # noqa: E402

NODES = 10000
A, B = "rev_" + "a" * 16, "rev_" + "b" * 16
DEFAULT_RATE, FAST_RATE, DEFAULT_SECONDS = 20, 200, 60
TIMES = ("SubmitTime", "EligibleTime", "StartTime")
SUBMIT = """
for ((i = 0; i < {0}; i++)); do sbatch -Q -N2 -p big --begin=now+1days -o /dev/null --wrap true || exit 1; done
"""


def label(lab: Lab, nodes: str, revision: str) -> None:
    lab.run("scontrol", "update", f"NodeName={nodes}", "Extra=" + json.dumps({"cohort_rev": revision}), timeout=120)


def rate(lab: Lab, value: int) -> None:
    slurmconf.write(LAB / "etc-slurm", "cohort.conf", f"SweepRate={value}\n")


def records(lab: Lab) -> dict[str, dict[str, str]]:
    lines = lab.out("scontrol", "-o", "show", "jobs", timeout=120).splitlines()
    return {r["JobId"]: r for r in map(fields, lines) if r.get("Partition") == "big"}


def bound(lab: Lab) -> int:
    """Of all jobs of the queue."""
    return sum("rev_" in line for line in lab.out("squeue", "-h", "-p", "big", "-o", "%f", timeout=120).splitlines())


def delays(lab: Lab, count: int) -> list[float]:
    """A job of one node in a partition of its own: from srun's call to the task's first word."""
    script = f"for ((i = 0; i < {count}; i++)); do a=$(date +%s%N); b=$(srun -p main date +%s%N); echo $((b - a)); done"
    return [int(n) / 1e9 for n in lab.out("bash", "-c", script, user="alice", timeout=600).split()]


def middle(values: list[float]) -> str:
    return f"{1000 * statistics.median(values):.0f} [{1000 * min(values):.0f}, {1000 * max(values):.0f}] ms"


def follow(lab: Lab, wanted: int, users: ThreadPoolExecutor) -> tuple[float, list[float]]:
    """Until WANTED jobs are bound: jobs per second, and the users' delays meanwhile."""
    begin, first = time.monotonic(), bound(lab)
    seen: list[float] = []
    future = users.submit(delays, lab, 10)
    deadline = begin + 1800
    while (now := bound(lab)) != wanted:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{now} jobs are bound, not {wanted}")
        if future.done():
            seen += future.result()
            future = users.submit(delays, lab, 10)
        time.sleep(0.5)
    took = time.monotonic() - begin
    return abs(wanted - first) / took, seen + future.result()


def sweep(lab: Lab, jobs: int) -> bool:
    label(lab, f"c[1-{NODES}]", A)
    wait_until(lambda: A in lab.node(f"c{NODES}")["ActiveFeatures"], 60, "labels", 0.2)
    users = ThreadPoolExecutor(4)
    began = time.monotonic()
    script = ["bash", "-c", SUBMIT.format(jobs // 4)]
    list(users.map(lambda user: lab.out(*script, user=user, timeout=1800), ("alice", "bob", "carol", "alice")))
    print(f"{jobs} jobs submitted, {jobs / (time.monotonic() - began):.0f} a second")
    before = records(lab)
    alone = delays(lab, 40)
    label(lab, f"c[{NODES // 2 + 1}-{NODES}]", B)
    wait_until(lambda: bound(lab) > 0, 60, "the sweep has begun", 0.2)
    first, begin = bound(lab), time.monotonic()
    time.sleep(DEFAULT_SECONDS)
    slow = (bound(lab) - first) / (time.monotonic() - begin)
    rate(lab, FAST_RATE)
    binding, while_binding = follow(lab, jobs, users)
    label(lab, f"c[1-{NODES // 2}]", B)
    giving, while_giving = follow(lab, 0, users)
    after = records(lab)
    moved = [i for i, r in before.items() if any(r[k] != after[i][k] for k in TIMES)]
    kept = [i for i, r in after.items() if r["Features"] != "(null)" or "cohort" in r.get("AdminComment", "")]
    print(f"bound at the default rate: {slow:.1f} a second (SweepRate={DEFAULT_RATE})")
    print(f"bound {binding:.0f}, given back {giving:.0f} a second (SweepRate={FAST_RATE})")
    print(f"a job starts after {middle(alone)} before, {middle(while_binding)} while jobs are bound, "
          f"{middle(while_giving)} while they are given back")  # fmt: skip
    print(f"{len(moved)} jobs have another submit, eligible or begin time; {len(kept)} still carry something of ours")
    share = statistics.median(while_binding + while_giving) / statistics.median(alone)
    return (0.9 * DEFAULT_RATE <= slow <= 1.05 * DEFAULT_RATE and binding <= 1.05 * FAST_RATE and share <= 1.2
            and not moved and not kept)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--stage", required=True, help="folder of `make install DESTDIR=`")
    parser.add_argument("--jobs", type=int, default=10000)
    options = parser.parse_args()
    namespace.reexecute([sys.executable, str(Path(__file__).resolve()), *sys.argv[1:]], "bench")
    conf = {"NodeName": f"c[1-{NODES}] NodeAddr=10.80.[0-39].[1-250] CPUs=64 RealMemory=1000 State=DOWN",
            "SlurmctldDebug": "info", "MaxJobCount": 2 * options.jobs}  # fmt: skip
    partitions = ["PartitionName=main Nodes=n1 Default=YES State=UP", f"PartitionName=big Nodes=c[1-{NODES}] State=UP"]
    with Lab(nodes=1, stage=str(Path(options.stage).resolve()), conf=conf, partitions=partitions) as lab:
        good = sweep(lab, options.jobs)
    print("targets " + ("met" if good else "MISSED"))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
