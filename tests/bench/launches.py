# SPDX-License-Identifier: GPL-2.0-or-later
"""Launches one after the other, each with a clock and the processors' own account.

A launch is over when its slurmstepd has gone: what it still does after srun's end counts for it, and
not for the launch that follows.
"""
from __future__ import annotations

import os
import struct
import subprocess
import time
from pathlib import Path

from machines import wait_until

CGROUPS = Path("/sys/fs/cgroup")
NAME = "cohort-bench"


class Account:
    """Processor time of some processes and of all that they start: a cgroup's (version 1 or 2)."""

    def __init__(self) -> None:
        """OSError where no cgroup can be made."""
        old = CGROUPS / "cpuacct"
        self.folder = (old if old.is_dir() else CGROUPS) / f"{NAME}-{os.getpid()}-{time.time_ns()}"
        self.folder.mkdir()
        self.usage = self.folder / ("cpuacct.usage" if old.is_dir() else "cpu.stat")

    def add(self, pid: int = 0) -> None:
        """0: the process that calls."""
        (self.folder / "cgroup.procs").write_text(str(pid))

    def seconds(self) -> float:
        text = self.usage.read_text()
        if text.startswith("usage_usec "):
            return int(text.split()[1]) / 1e6
        return int(text) / 1e9

    def close(self) -> None:
        self.folder.rmdir()


def descendants(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(p for child in children for p in descendants(int(child)))]


def named(comm: str) -> bool:
    """Does a process of this lab (its own pid namespace) have that name?"""
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "comm").read_text().strip() == comm:
                return True
        except OSError:
            continue
    return False


class Launcher:
    """Runs commands on the lab's controller whose tasks are first_instruction STAMPS. They, and all
    of NODE, stay on the processor CPU (None: as the kernel likes)."""

    def __init__(self, lab, node: str, stamps: Path, tasks: int, cpu: int | None) -> None:
        self.prefix = [*lab.controller.enter(), "--"]
        self.environment = lab.controller.environment("root")
        self.stamps, self.tasks, self.cpu = stamps, tasks, cpu
        self.account: Account | None = None
        try:
            self.account = Account()
        except OSError as error:
            print(f"no figures of processor time: {error}")
        for pid in descendants(lab.machines[node].init()):
            for thread in Path(f"/proc/{pid}/task").iterdir():
                self._take(int(thread.name))
            if self.account:
                self.account.add(pid)

    def _take(self, thread: int = 0) -> None:
        if self.cpu is not None:
            os.sched_setaffinity(thread, {self.cpu})

    def _enter(self) -> None:
        """In the process that becomes srun."""
        self._take()
        if self.account:
            self.account.add()

    def launch(self, command: list[str]) -> dict[str, float]:
        """Seconds: "last task" from the exec to the last task's first instruction, "srun" to its
        end, "processor" what srun, slurmd, slurmstepd and the tasks used."""
        self.stamps.write_bytes(b"")
        before = self.account.seconds() if self.account else 0.0
        begin = time.monotonic_ns()
        subprocess.run([*self.prefix, *command], check=True, env=self.environment, stdin=subprocess.DEVNULL,
                       preexec_fn=self._enter)  # fmt: skip
        end = time.monotonic_ns()
        wait_until(lambda: not named("slurmstepd"), 60, "the step has gone", 0.005)
        data = self.stamps.read_bytes()
        began = struct.unpack(f"={len(data) // 8}q", data)
        if len(began) != self.tasks:
            raise RuntimeError(f"{len(began)} of {self.tasks} tasks began: {command}")
        found = {"last task": (max(began) - begin) / 1e9, "srun": (end - begin) / 1e9}
        if self.account:
            found["processor"] = self.account.seconds() - before
        return found

    def close(self) -> None:
        """After the lab has ended."""
        if self.account:
            wait_until(lambda: not (self.account.folder / "cgroup.procs").read_text(), 10, "an empty cgroup")
            self.account.close()
