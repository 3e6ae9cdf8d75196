#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the commands take on a real slurmctld of ten thousand defined nodes and a lab cloud of as many servers.

Usage: bench_rollout.py --stage DIR [--nodes N] [--rounds N]    (root; `make bench` does it)
  scohort plan before a rollout, all nodes to be rebuilt; scohort rebuild once, for information
  scohort advance and status while it is under way: ten thousand rebuild jobs held, a few released
Medians with the smallest and largest value. Exit 1 when a target is missed: 5, 3 and 0.5 s.
"""
from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lab")]

import cloudlink  # noqa: E402
import namespace  # noqa: E402
from lab import Lab  # noqa: E402

TARGETS = {"plan": 5.0, "advance": 3.0, "status": 0.5}
OLD = "rev_" + "a" * 16


def lab_of(stage: str, nodes: int) -> Lab:
    """n1 runs; the others are as idle as slurmctld believes them to be."""
    conf = {"NodeName": f"c[1-{nodes}] NodeAddr=10.77.0.1 CPUs=4 RealMemory=1000 State=DOWN", "SlurmctldDebug": "info",
            "MaxJobCount": 3 * nodes, "SlurmdTimeout": 0, "TreeWidth": 100, "MessageTimeout": 60,
            "SchedulerParameters": "bf_interval=60"}  # fmt: skip
    partitions = ["PartitionName=main Nodes=n1 Default=YES State=UP",
                  f"PartitionName=big Nodes=c[1-{nodes}] State=UP"]
    return Lab(nodes=1, stage=stage, conf=conf, partitions=partitions, cloud={},
               more_servers=[f"c{n}" for n in range(1, nodes + 1)])  # fmt: skip


def prepare(lab: Lab, nodes: int) -> None:
    names = f"NodeName=c[1-{nodes}]"
    lab.run("scontrol", "update", names, "Extra=" + json.dumps({"cohort_rev": OLD}), timeout=120)
    lab.run("scontrol", "update", names, "State=RESUME", timeout=120)
    text = f"image_id: {lab.image('v2').id}\n"
    for n in range(1, nodes + 1):
        name = f"c{n}"
        (cloudlink.DESIRED / f"{name}.yml").write_text(f"instance_id: {lab.server_ids[name]}\n{text}")


def timed(lab: Lab, *command: str, rounds: int, good: tuple[int, ...] = (0,)) -> list[float]:
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        done = lab.run(*command, check=False, timeout=900)
        times.append(time.perf_counter() - begin)
        if done.returncode not in good:
            sys.exit(f"{' '.join(command)}: exit {done.returncode}: {(done.stdout + done.stderr)[-2000:]}")
    return times


def report(name: str, times: list[float]) -> bool:
    middle = statistics.median(times)
    target = TARGETS.get(name)
    verdict = "" if target is None else f" (target {target:g}: {'met' if middle <= target else 'MISSED'})"
    print(f"{name:8} {middle:7.2f} s [{min(times):.2f}, {max(times):.2f}]{verdict}", flush=True)
    return target is None or middle <= target


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--stage", required=True, help="folder of `make install DESTDIR=`")
    parser.add_argument("--nodes", type=int, default=10000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    namespace.reexecute([sys.executable, str(Path(__file__).resolve()), *sys.argv[1:]], "bench")
    stage = str(Path(options.stage).resolve())
    with lab_of(stage, options.nodes) as lab:
        prepare(lab, options.nodes)
        time.sleep(10)  # the plugin has labelled them
        good = report("plan", timed(lab, "scohort", "plan", "-p", "big", rounds=options.rounds))
        rebuild = ("scohort", "rebuild", "-p", "big", "--max-unavailable", "3")
        report("rebuild", timed(lab, *rebuild, rounds=1))
        good &= report("advance", timed(lab, "scohort", "advance", "-q", rounds=options.rounds))
        good &= report("status", timed(lab, "scohort", "status", rounds=options.rounds))
    print("targets " + ("met" if good else "MISSED"))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
