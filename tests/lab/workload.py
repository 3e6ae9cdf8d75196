# SPDX-License-Identifier: GPL-2.0-or-later
"""A stream of user jobs: alice and bob, one and two nodes, short and long, until told to stop.

The stream keeps a few jobs waiting at any time, so that every node that can take a job gets one,
and never piles up more. Every refusal is kept: a user must not notice a rollout.
"""
from __future__ import annotations

import itertools
import subprocess
import threading
from dataclasses import dataclass, field

from lab import Lab

STREAM = "stream"  # job names: what sacct is asked for
LONG = "long"
# (nodes, CPUs per task, seconds): a bit of everything, a fifth of it on two nodes
PATTERN = [(1, 4, 2), (1, 2, 1), (1, 4, 2), (2, 2, 2), (1, 2, 4), (1, 4, 1), (1, 1, 2), (1, 4, 2),
           (2, 4, 1), (1, 2, 3)]  # fmt: skip


@dataclass
class Submitted:
    jobs: list[str] = field(default_factory=list)
    pairs: int = 0
    refused: list[str] = field(default_factory=list)


class Stream(threading.Thread):
    """waiting: jobs of the stream that may be pending at once; pause: seconds between two
    submissions."""

    def __init__(self, lab: Lab, waiting: int = 6, pause: float = 0.25) -> None:
        super().__init__(daemon=True)
        self._lab = lab
        self._waiting = waiting
        self._pause = pause
        self._enough = threading.Event()
        self.submitted = Submitted()

    def run(self) -> None:
        for number, (nodes, cpus, seconds) in enumerate(itertools.cycle(PATTERN)):
            while self._pending() >= self._waiting:
                if self._enough.wait(0.3):
                    return
            self.submit(
                STREAM, f"-N{nodes}", f"-c{cpus}", user=("alice", "bob")[number % 2],
                wrap=f"srun sleep {seconds}; srun hostname",
            )  # fmt: skip
            self.submitted.pairs += nodes == 2
            if self._enough.wait(self._pause):
                return

    def submit(self, name: str, *options: str, user: str, wrap: str) -> None:
        command = ["sbatch", "--parsable", "-J", name, "-o", "out/%j", *options, "--wrap", wrap]
        try:
            done = self._lab.run(*command, user=user, check=False, timeout=60)
        except subprocess.TimeoutExpired:
            self.submitted.refused.append(f"{user}: {' '.join(command)}: no answer")
            return
        if done.returncode:
            self.submitted.refused.append(f"{user}: {done.stderr.strip()}")
        else:
            self.submitted.jobs.append(done.stdout.strip().split(";")[0])

    def _pending(self) -> int:
        done = self._lab.run("squeue", "-h", "-t", "PD", "-u", "alice,bob", "-o", "%i", check=False)
        return len(done.stdout.split())

    def end(self) -> None:
        self._enough.set()
        self.join()

    def all_ended(self) -> bool:
        done = self._lab.run("squeue", "-h", "-u", "alice,bob", "-o", "%i", check=False)
        return done.returncode == 0 and not done.stdout.split()


def prepare_homes(lab: Lab) -> None:
    for user in ("alice", "bob"):
        lab.run("mkdir", "-p", "out", user=user)
