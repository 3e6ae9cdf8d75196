# SPDX-License-Identifier: GPL-2.0-or-later
"""What a test or the demo asks of a running lab: commands, jobs, nodes, logs."""
from __future__ import annotations

import json
import re
import subprocess
from typing import Sequence

import services
import slurmconf
from machines import LOGS, Machine, wait_until
from namespace import LAB


class Queries:
    """The half of class Lab that only looks; the attributes are Lab's."""

    nodes: list[str]
    partitions: list[str] | None
    controller: Machine

    def run(self, *command: str, user: str = "root", check: bool = True, timeout: float = 30,
            env: dict[str, str] | None = None, stdin: str | None = None) -> subprocess.CompletedProcess:  # fmt: skip
        """A command on the controller, in the user's shared home."""
        cwd = "/shared" if user == "root" else f"/shared/home/{user}"
        return self.controller.run(command, user=user, cwd=cwd, check=check, timeout=timeout,
                                   env=env, stdin=stdin)  # fmt: skip

    def out(self, *command: str, **options) -> str:
        return self.run(*command, **options).stdout.strip()

    def submit(self, *options: str, user: str = "alice", wrap: str = "true") -> str:
        """sbatch as USER; the job's id."""
        return self.out("sbatch", "--parsable", *options, "--wrap", wrap, user=user).split(";")[0]

    def job(self, job_id: str) -> dict[str, str]:
        """scontrol's record of a job."""
        return fields(self.out("scontrol", "-o", "show", "job", job_id))

    def node(self, name: str) -> dict[str, str]:
        return fields(self.out("scontrol", "-o", "show", "node", name))

    def node_states(self) -> dict[str, str]:
        """Node -> compact state as sinfo shows it ("idle", "alloc", "down*")."""
        text = self.out("sinfo", "-h", "-N", "-p", self.main_partition(), "-o", "%N %t")
        return dict(line.split(None, 1) for line in text.splitlines())

    def main_partition(self) -> str:
        line = (self.partitions or [slurmconf.PARTITION])[0]
        return line.split()[0].split("=")[1]

    def wait_nodes(self, state: str, nodes: Sequence[str] = (), seconds: float = 30) -> None:
        wanted = list(nodes or self.nodes)
        seen: dict[str, str] = {}

        def reached() -> bool:
            seen.update(self.node_states())
            return all(seen.get(n) == state for n in wanted)

        try:
            wait_until(reached, seconds, "", 0.1)
        except TimeoutError as error:
            consoles = [f"{n}.console" for n in wanted if seen.get(n) != state][:2]
            raise TimeoutError(
                f"not all of {wanted} {state} within {seconds:g} s: {seen}\n"
                + services.tail([*consoles, "slurmctld.out", "slurmctld.log"])
            ) from error

    def wait_joined(self, seconds: float = 30) -> None:
        """Idle comes a moment before the node's join has said its last word about its label."""
        wait_until(lambda: all("join --after: done" in self.log(f"{n}.console") for n in self.nodes),
                   seconds, "all nodes have joined", 0.1)  # fmt: skip

    def wait_job(self, job_id: str, *states: str, seconds: float = 60) -> str:
        """Waits for one of STATES (default: COMPLETED); returns the state reached."""
        wanted = states or ("COMPLETED",)
        seen = [""]

        def reached() -> bool:
            seen[0] = self.job(job_id).get("JobState", "")
            return seen[0] in wanted

        try:
            wait_until(reached, seconds, "", 0.1)
        except TimeoutError as error:
            raise TimeoutError(f"job {job_id} is {seen[0]}, wanted {wanted}") from error
        return seen[0]

    def boots(self, node: str) -> list[dict]:
        """What the node wrote of itself at each boot, oldest first."""
        path = LAB / "shared" / "boots" / f"{node}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def log(self, name: str) -> str:
        """A log file: slurmctld.log, slurmd.n1.log, ctl.syslog, n1.console, cloud.log ..."""
        path = LOGS / name
        return path.read_text(errors="replace") if path.exists() else ""


def fields(line: str) -> dict[str, str]:
    """scontrol -o: "A=1 B=2 3 C=" -> {"A": "1", "B": "2 3", "C": ""}."""
    found: dict[str, str] = {}
    key = ""
    for word in line.split(" "):
        name, equals, value = word.partition("=")
        if equals and re.fullmatch(r"[A-Za-z][\w:/]*", name):
            key = name
            found[key] = value
        elif key:
            found[key] += " " + word
    return {key: value.strip() for key, value in found.items()}
