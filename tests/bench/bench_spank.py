#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the launch costs a task: 64 tasks on one node with spank_cohort.so, with a plugin that does
nothing, with the TaskProlog that is equivalent to ours, and with none of them, in an order of their
own in each round, so that a slow minute hits all of them. (The TaskProlog, which is the slow one and
needs no fine figure, in every tenth round; the plugin that does nothing in every third.)

Usage: bench_spank.py --stage DIR [--rounds N] [--cpu N] [--keep FILE]    (root; `make bench` does it)
Three figures of each launch: the time from the exec of srun to the first instruction of the last
task; srun's whole time, in which Slurm sleeps at a step's end; and the processor time of srun, slurmd,
slurmstepd and the tasks. Those have one processor to themselves and the controller the others (--cpu
-1: as the kernel likes): then nothing that a plugin does hides beside something else, and chance has
less to decide. Prints, per task: the median of the paired differences to "neither" with its 95 %
interval (order statistics, no assumption on the distribution). Exit 1 when the plugin misses its targets
in the first figure, for steps: upper end at most 0.06 ms per task, and at most 1/15 of the
TaskProlog's median. Whole jobs, where the gate before the job (a process of Slurm's that a TaskProlog
does not have) is counted in, are told as well.
"""
from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import random
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lab"), str(HERE.parent / "system")]

import namespace  # noqa: E402
import sealed  # noqa: E402
import spanklab  # noqa: E402
from lab import SOURCE, Lab  # noqa: E402
from launches import Launcher  # noqa: E402

TASKS = 64
TARGET_MS = 0.06
TARGET_SHARE = 1 / 15
NONE = "# nothing"
CONF = {
    "PlugStackConfig": "/etc/slurm/plugstack.conf",
    "SchedulerParameters": "bf_interval=3600,sched_min_interval=200000",
    "SlurmctldDebug": "info",
    "SlurmdDebug": "info",
}
# way: plugstack.conf, srun's options
WAYS = {
    "neither": (NONE, []),
    "empty plugin": ("required /shared/spank_nothing.so", []),
    "spank": ("required spank_cohort.so", []),
    "taskprolog": (NONE, ["--task-prolog=/shared/task-prolog"]),
}
SRUN = ["-N1", "-w", "n1", "-n", str(TASKS), "--overcommit", "--quiet"]
# figure: (title, judged)
FIGURES = {
    "last task": ("from the exec of srun to the last task's first instruction", True),
    "srun": ("srun's whole time", False),
    "processor": ("processor time of srun, slurmd, slurmstepd and the tasks", False),
}
WARM_UP = 2
SELDOM = {"taskprolog": 10, "empty plugin": 3}  # only in every n-th round
Samples = dict[str, dict[int, dict[str, float]]]  # way: round: figures


def interval(values: list[float]) -> tuple[float, float, float]:
    """Median and a 95 % interval for it, by order statistics."""
    ordered, n = sorted(values), len(values)
    low = 0
    tail = 0.0
    while low < n // 2:
        tail += math.comb(n, low) / 2**n
        if tail > 0.025:
            break
        low += 1
    low = max(low - 1, 0)
    return statistics.median(ordered), ordered[low], ordered[n - 1 - low]


def compile_helpers(shared: Path) -> None:
    root = os.environ.get("COHORT_ROOT", "/")
    headers = [] if root == "/" else [f"-I{root}/usr/include"]
    for options, name, output in (
        (["-static"], "first_instruction.c", "first_instruction"),
        (["-shared", "-fPIC", *headers], "spank_nothing.c", "spank_nothing.so"),
    ):
        subprocess.run(["cc", "-O2", *options, "-o", shared / output, HERE / name], check=True)


def rounds_of(launcher: Launcher, srun: list[str], count: int) -> Samples:
    samples: Samples = {way: {} for way in WAYS}
    for i in range(-WARM_UP, count):
        ways = [way for way in WAYS if i % SELDOM.get(way, 1) == 0]
        random.shuffle(ways)
        for way in ways:
            line, options = WAYS[way]
            spanklab.plugstack(line)
            found = launcher.launch([*srun, *SRUN, *options, "/shared/first_instruction", "/shared/stamps"])
            if i >= 0:
                samples[way][i] = found
    return samples


def differences(samples: Samples, figure: str, way: str, other: str) -> list[float]:
    """Milliseconds per task, of the rounds that have both."""
    return [(launch[figure] - samples[other][i][figure]) * 1000 / TASKS for i, launch in samples[way].items()
            if i in samples[other]]  # fmt: skip


def allocate(lab: Lab) -> str:
    told = lab.run("salloc", "--no-shell", "--exclusive", "-w", "n1").stderr
    return told.split("Granted job allocation ")[1].split()[0]


def measure(stage: str, rounds: int, cpu: int | None) -> dict[str, Samples]:
    """Of steps, and of jobs."""
    spanklab.plugstack()
    spanklab.before_slurmd()
    # The cgroup goes last, when the processes of the lab have gone.
    with contextlib.ExitStack() as after, Lab(nodes=1, stage=stage, conf=CONF) as lab:
        spanklab.wait_joined(lab)
        spanklab.prepare(lab, sealed.files())
        shared = spanklab.LAB / "shared"
        compile_helpers(shared)
        prolog = shared / "task-prolog"
        prolog.write_text((SOURCE / "etc" / "cohort-task-prolog").read_text())
        prolog.chmod(0o755)
        launcher = Launcher(lab, "n1", shared / "stamps", TASKS, cpu)
        after.callback(launcher.close)
        job = allocate(lab)
        steps = rounds_of(launcher, ["srun", f"--jobid={job}"], rounds)
        lab.run("scancel", job)
        lab.wait_nodes("idle")
        jobs = rounds_of(launcher, ["srun"], max(31, rounds // 10))
    return {"steps of one allocation": steps, "whole jobs (for information)": jobs}


def report(samples: Samples, figure: str) -> bool:
    """True when the targets are met."""
    print(f"{FIGURES[figure][0]}:")
    found = {}
    for way in WAYS:
        line = f"  {way:12} {statistics.median(launch[figure] for launch in samples[way].values()) * 1000:8.1f} ms"
        if way != "neither":
            found[way] = interval(differences(samples, figure, way, "neither"))
            line += "   {:+.4f} ms per task, 95 % [{:+.4f}, {:+.4f}]".format(*found[way])
        print(line)
    own = interval(differences(samples, figure, "spank", "empty plugin"))
    print("  spank over a plugin that does nothing: {:+.4f} [{:+.4f}, {:+.4f}]".format(*own))
    upper, share = found["spank"][2], found["taskprolog"][0] * TARGET_SHARE
    met = upper <= TARGET_MS and upper <= share
    print(f"  spank's upper end {upper:.4f} ms; targets {TARGET_MS} ms and {share:.4f} ms: "
          f"{'met' if met else 'MISSED'}")  # fmt: skip
    return met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--stage", required=True, help="folder of `make install DESTDIR=`")
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)),
                        help="srun's and the node's processor (the last one)")  # fmt: skip
    parser.add_argument("--keep", type=Path, help="write every launch's figures there, as JSON")
    options = parser.parse_args()
    namespace.reexecute([sys.executable, str(Path(__file__).resolve()), *sys.argv[1:]], "bench")
    cpu = options.cpu if options.cpu >= 0 else None
    others = os.sched_getaffinity(0) - {cpu}
    if others:
        os.sched_setaffinity(0, others)
    random.seed(1)
    results = measure(str(Path(options.stage).resolve()), options.rounds, cpu)
    if options.keep:
        options.keep.write_text(json.dumps(results))
    missed = False
    for title, samples in results.items():
        print(f"-- {title}: medians of {len(samples['neither'])} launches of {TASKS} tasks")
        for figure, (_, judged) in FIGURES.items():
            if figure in samples["neither"][0]:  # round 0 has all of them
                met = report(samples, figure)
                missed = missed or (judged and samples is results["steps of one allocation"] and not met)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
