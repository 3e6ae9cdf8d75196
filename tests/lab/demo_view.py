# SPDX-License-Identifier: GPL-2.0-or-later
"""What the demo shows while it runs: one line per change, or a table that redraws on a terminal."""
from __future__ import annotations

import sys
import time
from dataclasses import dataclass

from lab import Lab

BOLD, DIM, GREEN, YELLOW, RED, BLUE, PLAIN = (f"\033[{c}m" for c in (1, 2, 32, 33, 31, 34, 0))


def print_table(head: list[str], rows: list[list[str]]) -> None:
    widths = [max(len(r[i]) for r in [head, *rows]) for i in range(len(head))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(r, widths)).rstrip() for r in [head, *rows]]
    if sys.stdout.isatty():
        lines[0] = f"{BOLD}{lines[0]}{PLAIN}"
    print("\n".join(lines), flush=True)


@dataclass
class Phase:
    """Where a node stands in its rebuild, as Slurm and the node tell it."""

    text: str
    color: str = PLAIN
    taken: bool = True  # the node is out of the users' hands
    ended: bool = False
    good: bool = True


def node_phases(lab: Lab, jobs: dict[str, str], new: str) -> dict[str, Phase]:
    """JOBS: node -> rebuild job. One question to Slurm for all."""
    text = lab.out("squeue", "-h", "-a", "-t", "all", "-j", ",".join(jobs.values()), "-o", "%i|%T|%r")
    rows = {row[0]: row[1:] for row in (line.split("|") for line in text.splitlines())}
    return {
        node: node_phase(lab, node, job, *rows.get(job, ["unknown to Slurm", ""]), new)
        for node, job in jobs.items()
    }


def node_phase(lab: Lab, node: str, job_id: str, state: str, why: str, new: str) -> Phase:
    content = lab.boots(node)[-1]["content"]
    if state == "PENDING":
        waits = "" if why in ("None", "Priority", "Resources", "") else f" ({why})"
        return Phase(f"on {content}; rebuild job {job_id} waits for its node{waits}", BLUE, taken=False)
    if state == "CONFIGURING":
        machine = lab.machines[node]
        if content == new:
            return Phase(f"booted {content}; Slurm is to start job {job_id}", YELLOW)
        if not machine.is_on():
            return Phase("off: the cloud rebuilds it", YELLOW)
        if machine.image == lab.image(new).id:
            return Phase(f"boots {new}", YELLOW)
        return Phase(f"on {content}; job {job_id} has the node, cohort-reboot asks the cloud", YELLOW)
    if state in ("RUNNING", "COMPLETING"):
        return Phase(f"on {content}; job {job_id} verifies", YELLOW)
    if state == "COMPLETED":
        return Phase(f"on {content}, verified, in service", GREEN, ended=True, good=content == new)
    reason = lab.node(node).get("Reason", "no reason given")
    return Phase(f"on {content}; rebuild job {job_id} {state}: {reason}", RED, ended=True, good=False)


class Screen:
    def __init__(self, began: float) -> None:
        self._began = began
        self._live = sys.stdout.isatty()
        self._drawn = 0
        self._shown: dict[str, str] = {}

    def show(self, phases: dict[str, Phase], footer: str) -> None:
        if self._live:
            self._redraw(phases, footer)
            return
        for node, phase in phases.items():
            if self._shown.get(node) != phase.text:
                print(f"{self._clock()}  {node:<4} {phase.text}", flush=True)
                self._shown[node] = phase.text

    def _clock(self) -> str:
        return f"{time.monotonic() - self._began:6.1f} s"

    def _redraw(self, phases: dict[str, Phase], footer: str) -> None:
        lines = [f"{p.color}{node:<5}{p.text}{PLAIN}" for node, p in phases.items()]
        lines.append(f"{DIM}{self._clock().strip()}, {footer}{PLAIN}")
        up = f"\033[{self._drawn}A" if self._drawn else ""
        sys.stdout.write(up + "".join(f"\r\033[K{line}\n" for line in lines))
        sys.stdout.flush()
        self._drawn = len(lines)

    def finish(self) -> None:
        """The last state stays on the screen."""
        self._drawn = 0
