# SPDX-License-Identifier: GPL-2.0-or-later
"""A lab ends completely, however it is ended, and labs do not see each other."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import namespace
from machines import wait_until

LAB = str(Path(__file__).resolve().parents[1] / "lab" / "lab")


def daemons() -> list[str]:
    """Slurm's daemons and whatever else a lab starts, as seen from here."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                name = (entry / "comm").read_text().strip()
            except OSError:
                continue
            if name in ("slurmd", "slurmctld", "slurmdbd", "munged", "mariadbd", "node-boot"):
                found.append(name)
    return found


def start(label: str) -> subprocess.Popen:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COHORT_LAB")}
    process = subprocess.Popen(
        [sys.executable, LAB, "up", "--nodes", "2", "--label", label], text=True,
        stdout=subprocess.PIPE, env=environment, start_new_session=True,
    )  # fmt: skip
    assert process.stdout
    assert "2 nodes idle" in process.stdout.readline()
    return process


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_everything_ends_with_the_command(number):
    process = start("one")
    assert len(daemons()) >= 6
    if number == signal.SIGINT:  # Ctrl-C reaches the whole foreground group
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    process.wait(20)
    wait_until(lambda: not daemons(), 10, f"nothing is left, but {daemons()} is")
    assert not namespace.running()


def test_two_labs_side_by_side_and_nothing_of_them_outside():
    mounts = Path("/proc/mounts").read_text()
    addresses = subprocess.run(["ip", "addr"], capture_output=True, text=True).stdout
    labs = [start("left"), start("right")]
    enter = [sys.executable, LAB, "enter", "--lab"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COHORT_LAB")}

    def inside(label: str, *command: str) -> str:
        return subprocess.run([*enter, label, *command], env=environment, text=True, check=True,
                              capture_output=True, timeout=20).stdout.strip()  # fmt: skip

    job = inside("left", "sbatch", "--parsable", "-o/dev/null", "--wrap", "sleep 60")
    assert inside("left", "squeue", "-h", "-o", "%i") == job
    assert inside("right", "squeue", "-h", "-o", "%i") == ""
    assert Path("/proc/mounts").read_text() == mounts
    assert subprocess.run(["ip", "addr"], capture_output=True, text=True).stdout == addresses
    for lab in labs:
        lab.kill()
        lab.wait(20)
    wait_until(lambda: not daemons(), 10, "nothing is left")
