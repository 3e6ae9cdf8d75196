#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What five hundred rebuild jobs that an administrator submits by hand cost the users' jobs.

Usage: bench_queue.py --stage DIR [--jobs N] [--queue N] [--rounds N]    (root; `make bench` does it)
In turn without them, with as many held jobs that are no business of ours, and with them in the queue:
users' jobs, one every 0.2 s, on eight real nodes, before a queue of other users' jobs that wait for one
of them: 2000, about four for each node of a cluster that has 500 to rebuild.
Their start delay (from sbatch's answer to the script's first line) and the scheduler's mean cycle
(sdiag), medians. Exit 1 when either is more than 1.2 times that of the rounds without. Slurm looks at each
pending job in every pass, held or not: what that costs is the second kind of round; before a short queue
(--queue 200) that alone is half of a pass.
"""
from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lab")]

import namespace  # noqa: E402
from lab import Lab  # noqa: E402

LIMIT = 1.2
USER_JOBS = 60
SUBMIT = f"""
import json, os, subprocess, time
os.chdir(os.environ["HOME"])
sent = {{}}
for _ in range({USER_JOBS}):
    job = subprocess.run(["sbatch", "--parsable", "-t", "1", "-o", "/dev/null", "--wrap",
                          "date +%s.%N >start.$SLURM_JOB_ID; sleep 0.3"], check=True, capture_output=True, text=True)
    sent[job.stdout.strip()] = time.time()
    time.sleep(0.2)
until = time.time() + 120
while time.time() < until and not all(os.path.exists(f"start.{{job}}") for job in sent):
    time.sleep(0.2)
time.sleep(0.5)
print(json.dumps([float(open(f"start.{{job}}").read()) - at for job, at in sent.items()]))
"""


def delays(lab: Lab) -> tuple[float, float]:
    """Median start delay in seconds, mean cycle of the main scheduler in microseconds."""
    lab.run("sdiag", "-r")
    times = json.loads(lab.out("python3", "-c", SUBMIT, user="alice", timeout=300))
    cycle = re.search(r"Mean cycle:\s+(\d+)", lab.out("sdiag"))
    return statistics.median(times), float(cycle.group(1)) if cycle else 0.0


def send_jobs(lab: Lab, count: int, option: str) -> None:
    script = f"for n in $(seq {count}); do sbatch {option} -w x$n -o /dev/null --wrap 'cohort-node verify'; done"
    lab.run("bash", "-c", script, timeout=600)
    waiting = lab.out("squeue", "-h", "-o", "%r", "-u", "root").splitlines()
    print(f"sbatch {option}: {len(waiting)} in the queue, {sum('Held' in r for r in waiting)} of them held", flush=True)


def clear(lab: Lab) -> None:
    lab.run("scancel", "-u", "root", timeout=120)
    time.sleep(5)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--stage", required=True, help="folder of `make install DESTDIR=`")
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument("--queue", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args()
    namespace.reexecute([sys.executable, str(Path(__file__).resolve()), *sys.argv[1:]], "bench")
    conf = {"NodeName": f"x[1-{options.jobs}] NodeAddr=10.77.0.1 CPUs=4 RealMemory=1000 State=DOWN",
            "SlurmctldDebug": "info"}
    partitions = [f"PartitionName=main Nodes=n[1-8],x[1-{options.jobs}] Default=YES State=UP"]
    ways = {"without": "", "held": "--hold", "with": "--reboot"}
    found: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    with Lab(nodes=8, stage=str(Path(options.stage).resolve()), conf=conf, partitions=partitions, cloud={}) as lab:
        lab.wait_joined()
        lab.wait_job(lab.submit("-w", "n8", "--exclusive", "-t", "600", user="bob", wrap="sleep 36000"), "RUNNING")
        queue = f"for i in $(seq {options.queue}); do sbatch --nice=100000 -w n8 -o /dev/null --wrap true; done"
        lab.run("bash", "-c", queue, user="bob", timeout=900)
        delays(lab)
        for _ in range(options.rounds):
            for way, option in ways.items():
                if option:
                    send_jobs(lab, options.jobs, option)
                found[way].append(delays(lab))
                print(f"{way}: {found[way][-1][0]:.3f} s, {found[way][-1][1]:.0f} us", flush=True)
                if option:
                    clear(lab)
    good = True
    for i, (what, unit) in enumerate((("users' start delay", "s"), ("scheduler's mean cycle", "us"))):
        without, held, with_them = (statistics.median(row[i] for row in found[way]) for way in ways)
        ratio = with_them / without if without else 1.0
        good &= ratio <= LIMIT
        print(f"{what}: {without:.3f} {unit} without, {held:.3f} with held jobs of any kind, {with_them:.3f} with them: "
              f"ratio {ratio:.2f}, to held jobs {with_them / held if held else 1.0:.2f} "
              f"(target {LIMIT}: {'met' if ratio <= LIMIT else 'MISSED'})")  # fmt: skip
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
