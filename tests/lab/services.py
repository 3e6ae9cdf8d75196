# SPDX-License-Identifier: GPL-2.0-or-later
"""The controller's daemons: started in the foreground, as systemd does, by name."""
from __future__ import annotations

import contextlib
from pathlib import Path

import database
from machines import LOGS, Machine, wait_until

HOST_LIBRARIES = "/usr/lib/lab/host"  # in a machine of another root
PID_FILES = {
    "slurmctld": "/run/slurm/slurmctld.pid",
    "slurmdbd": "/run/slurm/slurmdbd.pid",
    "slurmd": "/run/slurm/slurmd.pid",
}


def start_munged(controller: Machine) -> None:
    controller.spawn(["munged", "--foreground", "--num-threads=4"], "munged.log", user="munge")
    wait_until(
        lambda: controller.run(["test", "-S", "/run/munge/munge.socket.2"], check=False).returncode
        == 0,
        10,
        "munged's socket",
    )


def start_slurmdbd(controller: Machine) -> None:
    daemon = controller.spawn(["slurmdbd", "-D"], "slurmdbd.out")

    def answers() -> bool:
        nonlocal daemon
        if daemon.poll() is not None and "failed: 5027" in (LOGS / "slurmdbd.out").read_text():
            # libmariadb 11.8.9 (trixie) takes no result set from Slurm's plugin: the host's does.
            (LOGS / "slurmdbd.out").write_text("")
            daemon = controller.spawn(["slurmdbd", "-D"], "slurmdbd.out",
                                      env={"LD_LIBRARY_PATH": HOST_LIBRARIES})  # fmt: skip
        done = controller.run(["sacctmgr", "-n", "show", "cluster"], check=False, timeout=15)
        return done.returncode == 0

    wait_until(answers, 30, "slurmdbd answers", 0.1)


def start_slurmctld(controller: Machine, wait: bool = True) -> None:
    controller.spawn(["slurmctld", "-D"], "slurmctld.out")
    if wait:
        wait_until(lambda: slurmctld_answers(controller), 30, "slurmctld answers", 0.1)


def slurmctld_answers(controller: Machine) -> bool:
    done = controller.run(["timeout", "5", "scontrol", "ping"], check=False, timeout=15)
    return done.returncode == 0 and "UP" in done.stdout


def pid(machine: Machine, service: str) -> int:
    """Process id inside the machine; 0 when it does not run."""
    done = machine.run(["cat", PID_FILES[service]], check=False)
    number = done.stdout.strip()
    alive = number and machine.run(["kill", "-0", number], check=False).returncode == 0
    return int(number) if alive else 0


def stop(machine: Machine, service: str, signal: str = "TERM", seconds: float = 30) -> None:
    """Ends a service and waits until it is gone."""
    number = pid(machine, service)
    if not number:
        return
    machine.run(["kill", f"-{signal}", str(number)], check=False)
    wait_until(
        lambda: machine.run(["kill", "-0", str(number)], check=False).returncode != 0,
        seconds,
        f"{service} has ended",
        0.05,
    )


def tail(names: list[str], lines: int = 15) -> str:
    """Ends of log files, for error messages."""
    text = ""
    for name in names:
        with contextlib.suppress(OSError):
            last = Path(LOGS / name).read_text(errors="replace").splitlines()[-lines:]
            text += f"--- {name}\n" + "\n".join(last) + "\n"
    return text


def start_database(controller: Machine, cache: Path) -> None:
    """MariaDB and slurmdbd with the lab's accounts; leaves a cached copy when there was none."""
    with database.template(cache, database.cache_key(controller)) as saved:
        if database.restore(saved):
            database.own(controller)
        else:
            database.own(controller)
            database.install(controller)
            server = database.start(controller)
            database.query(controller, database.GRANTS)
            start_slurmdbd(controller)
            database.add_accounts(controller)
            stop(controller, "slurmdbd")
            database.stop(controller, server)
            database.save(saved)
    database.start(controller)
    start_slurmdbd(controller)
