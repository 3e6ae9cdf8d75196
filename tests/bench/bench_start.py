#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How soon a job starts that fits, with the plugin and without, in turn: the same jobs, side by side.

Usage: bench_start.py --stage DIR [--rounds N] [--jobs N]    (root; `make bench` does it)
Eight nodes, half of them of each of two revisions. In every round the same jobs (one to three nodes,
exclusive, a second or so) are sent at the same moments; a job counts when it fits as it is sent: there
are as many idle nodes of one revision as it wants (without the plugin: of any). Medians of the time
from sbatch's call to the job's first word. Exit 1 when the median with the plugin is more than 1.2
times the one without, and more than 30 ms later.
"""
from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lab")]

import namespace  # noqa: E402
import services  # noqa: E402
from lab import Lab  # noqa: E402
from machines import wait_until  # noqa: E402
from namespace import LAB  # noqa: E402

LABELS = {f"n{i}": "rev_" + ("a" if i <= 4 else "b") * 16 for i in range(1, 9)}


def restart(lab: Lab, plugin: bool) -> None:
    services.stop(lab.controller, "slurmctld")
    lab.conf["JobSubmitPlugins"] = "cohort" if plugin else None
    lab.write_slurm_conf()
    services.start_slurmctld(lab.controller)
    lab.wait_nodes("idle", seconds=60)
    if plugin:
        wait_until(lambda: all(r in lab.node(n)["ActiveFeatures"] for n, r in LABELS.items()), 30, "labels", 0.1)
    time.sleep(3)


def fits(lab: Lab, size: int, plugin: bool) -> bool:
    idle = [n for n, state in lab.node_states().items() if state == "idle"]
    most = max((sum(LABELS[n] == label for n in idle) for label in set(LABELS.values())) if plugin else [len(idle)])
    return most >= size


def run(lab: Lab, plugin: bool, seed: int, jobs: int) -> dict[int, float]:
    """Number of each job that fitted -> how long until it began."""
    dice = random.Random(seed)
    plan = [(dice.choice((1, 2, 2, 3)), dice.uniform(0.3, 1.2), dice.uniform(0.5, 1.5)) for _ in range(jobs)]
    restart(lab, plugin)
    sent: dict[int, tuple[float, str]] = {}
    due = time.monotonic()

    def send(number: int, size: int, seconds: float) -> None:
        good = fits(lab, size, plugin)
        now = time.time()
        job = lab.out("sbatch", "--parsable", f"-N{size}", "--exclusive", "-o", "/dev/null", "--wrap",
                      f"date +%s.%N >/shared/began.$SLURM_JOB_ID; sleep {seconds:.2f}", user="alice", timeout=60)  # fmt: skip
        if good:
            sent[number] = (now, job)

    with ThreadPoolExecutor(8) as pool:
        futures = []
        for number, (size, seconds, pause) in enumerate(plan):
            futures.append(pool.submit(send, number, size, seconds))
            due += pause
            time.sleep(max(0.0, due - time.monotonic()))
        for future in futures:
            future.result()
    wait_until(lambda: not lab.out("squeue", "-h"), 300, "all jobs have run", 0.5)
    return {n: float((LAB / "shared" / f"began.{job}").read_text()) - at for n, (at, job) in sent.items()}


def show(name: str, values: list[float]) -> float:
    middle = statistics.median(values)
    print(f"{name}: median {1000 * middle:.0f} ms, mean {1000 * statistics.mean(values):.0f}, "
          f"longest {1000 * max(values):.0f}, of {len(values)} jobs that fitted")  # fmt: skip
    return middle


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--stage", required=True, help="folder of `make install DESTDIR=`")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=40)
    options = parser.parse_args()
    namespace.reexecute([sys.executable, str(Path(__file__).resolve()), *sys.argv[1:]], "bench")
    ours: list[float] = []
    plain: list[float] = []
    with Lab(nodes=8, stage=str(Path(options.stage).resolve())) as lab:
        lab.wait_joined()
        for node, label in LABELS.items():
            lab.run("scontrol", "update", f"NodeName={node}", "Extra=" + json.dumps({"cohort_rev": label}))
        for number in range(options.rounds):
            # In turn, the other first each time; the same jobs are compared.
            found = {plugin: run(lab, plugin, number, options.jobs) for plugin in (number % 2 == 0, number % 2 == 1)}
            both = sorted(set(found[True]) & set(found[False]))
            ours += [found[True][n] for n in both]
            plain += [found[False][n] for n in both]
    with_plugin, without = show("with the plugin", ours), show("without", plain)
    good = with_plugin <= max(1.2 * without, without + 0.03)
    print(f"{with_plugin / without:.2f} times as long; target " + ("met" if good else "MISSED"))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
