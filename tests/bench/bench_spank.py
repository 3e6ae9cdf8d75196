#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the launch costs a task: 64 tasks on one node with spank_cohort.so, with the equivalent
TaskProlog, and with neither, one after the other in turn, so that a slow minute hits all three.

Usage: bench_spank.py --stage DIR [--rounds N]    (root; `make bench` does it)
Steps of one allocation, then whole jobs, where the gate before the job (a process of Slurm's that a
TaskProlog does not have) is counted in. Prints, per task: the median of the paired differences to
"neither" with its 95 % interval (order statistics, no assumption on the distribution). Exit 1 when
the plugin's steps miss their targets: upper end at most 0.06 ms per task, and at most 1/15 of the
TaskProlog's median. One launch varies by tens of milliseconds, which is more than the plugin costs in
all: hence the many rounds, about ten minutes on an idle machine.
"""
from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lab"), str(HERE.parent / "system")]

import namespace  # noqa: E402
import sealed  # noqa: E402
import spanklab  # noqa: E402
from lab import SOURCE, Lab  # noqa: E402

TASKS = 64
TARGET_MS = 0.06
TARGET_SHARE = 1 / 15
WAYS = ("neither", "spank", "taskprolog")

# Runs on the controller, in an allocation or not: nothing but srun between two looks at the clock.
LOOP = """
import json, subprocess, sys, time
rounds, tasks = int(sys.argv[1]), sys.argv[2]
with_spank, without = "required spank_cohort.so", "# nothing"
ways = {"neither": (without, []), "spank": (with_spank, []),
        "taskprolog": (without, ["--task-prolog=/shared/task-prolog"])}
base = ["srun", "-N1", "-w", "n1", "-n", tasks, "--overcommit", "--quiet"]
times = {way: [] for way in ways}
for i in range(rounds + 2):
    order = list(ways)
    for way in order[i % 3:] + order[:i % 3]:
        line, options = ways[way]
        open("/etc/slurm/plugstack.conf", "w").write(line + "\\n")
        begin = time.perf_counter()
        subprocess.run([*base, *options, "/bin/true"], check=True)
        if i >= 2:
            times[way].append(time.perf_counter() - begin)
print(json.dumps(times))
"""


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


def measure(stage: str, rounds: int) -> list[dict[str, list[float]]]:
    """Of steps, and of jobs."""
    (spanklab.LAB / "etc-slurm").mkdir(parents=True, exist_ok=True)
    spanklab.plugstack()
    options = {"stage": stage, "conf": {"PlugStackConfig": "/etc/slurm/plugstack.conf"}}
    with Lab(nodes=1, **options) as lab:
        spanklab.wait_joined(lab)
        spanklab.prepare(lab, sealed.files())
        prolog = spanklab.LAB / "shared" / "task-prolog"
        prolog.write_text((SOURCE / "etc" / "cohort-task-prolog").read_text())
        prolog.chmod(0o755)
        loop = ["/usr/bin/python3", "-c", LOOP]
        outputs = [lab.out(*before, *loop, str(count), str(TASKS), timeout=6000)
                   for before, count in ((["salloc", "--quiet", "--exclusive", "-w", "n1"], rounds),
                                         ([], max(30, rounds // 4)))]  # fmt: skip
    return [json.loads(out.splitlines()[-1]) for out in outputs]


def report(title: str, times: dict[str, list[float]]) -> bool:
    """True when the targets are met."""
    print(f"-- {title}")
    for way in WAYS:
        print(f"{way:12} median {statistics.median(times[way]) * 1000:8.1f} ms for {TASKS} tasks")
    found = {}
    for way in ("spank", "taskprolog"):
        differences = [(a - b) * 1000 / TASKS for a, b in zip(times[way], times["neither"])]
        found[way] = interval(differences)
        middle, low, high = found[way]
        print(f"{way:12} {middle:+.4f} ms per task, 95 % [{low:+.4f}, {high:+.4f}], "
              f"{len(differences)} pairs")  # fmt: skip
    upper, other = found["spank"][2], found["taskprolog"][0]
    ok = upper <= TARGET_MS and upper <= other * TARGET_SHARE
    print(f"spank's upper end {upper:.4f} ms; targets {TARGET_MS} ms and {other * TARGET_SHARE:.4f} ms: "
          f"{'met' if ok else 'MISSED'}")  # fmt: skip
    return ok


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--stage", required=True, help="folder of `make install DESTDIR=`")
    parser.add_argument("--rounds", type=int, default=400)
    options = parser.parse_args()
    namespace.reexecute([sys.executable, str(Path(__file__).resolve()), *sys.argv[1:]], "bench")
    steps, jobs = measure(str(Path(options.stage).resolve()), options.rounds)
    met = report("steps of one allocation", steps)
    report("whole jobs (for information)", jobs)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
