# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines of the lab: an overlay root of their own in namespaces of their own.

A machine is a folder under /run/lab/machines, so that every process of the lab (a test, the cloud's
power hook, the command line) sees the same one: `settings.json` (what it is), `disk` (its overlay's
upper layer; a rebuild makes a new one), `image` (UUID of the content put on that disk), `power.pid`
(the unshare that holds it; no file = off). Killing that process is the power switch; booting again
gives a new boot id and, by its time namespace, a new boot time.
"""
from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pwd
import shlex
import shutil
import signal
import subprocess
import time
import uuid
from pathlib import Path
from typing import Iterator, Sequence

from namespace import LAB

HERE = Path(__file__).resolve().parent
MACHINES = LAB / "machines"
LOGS = LAB / "log"
CONTROLLER = "ctl"
BACKUP = "ctl2"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def gone(pid: int) -> bool:
    """True when PID has ended, reaped or not; reaps it when it was started here."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    except (OSError, IndexError):
        return True


def wait_until(condition, seconds: float, what: str, interval: float = 0.02):
    """Polls CONDITION until it is true and returns its value; TimeoutError names WHAT."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds:g} s: {what}")
        time.sleep(interval)


class Machine:
    def __init__(self, name: str) -> None:
        self.name = name
        self.folder = MACHINES / name

    # -- what it is ---------------------------------------------------------------------------
    def create(self, **settings) -> "Machine":
        """settings: layers (list, topmost first), boot (program in its root), binds (list of
        source|target|options), network (has a network namespace of its own), delay (s)."""
        (self.folder / "root").mkdir(parents=True)
        self.write_settings(settings)
        return self

    def settings(self) -> dict:
        return json.loads((self.folder / "settings.json").read_text())

    def write_settings(self, settings: dict) -> None:
        (self.folder / "settings.json").write_text(json.dumps(settings))

    @property
    def image(self) -> str:
        """UUID of the image whose content is on the disk; empty for the controller."""
        link = self.folder / "image"
        return link.read_text() if link.exists() else ""

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        with open(self.folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    # -- power --------------------------------------------------------------------------------
    def holder(self) -> int:
        """The unshare that holds the machine, 0 when it is off."""
        try:
            pid = int((self.folder / "power.pid").read_text())
        except (OSError, ValueError):
            return 0
        return 0 if gone(pid) else pid

    def init(self) -> int:
        """Process 1 of the machine, as the lab sees it; 0 when it is off."""
        holder = self.holder()
        try:
            children = Path(f"/proc/{holder}/task/{holder}/children").read_text().split()
        except OSError:
            return 0
        return int(children[0]) if children else 0

    def is_on(self) -> bool:
        return self.init() != 0

    def power_off(self) -> None:
        """As pulling the plug: nothing in the machine gets a chance to say goodbye."""
        pids = [pid for pid in (self.init(), self.holder()) if pid]
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_until(lambda: all(gone(p) for p in pids), 10, f"{self.name} is off", 0.005)
        (self.folder / "power.pid").unlink(missing_ok=True)

    def wipe(self, image: str = "") -> None:
        """A new empty disk with IMAGE's content on it. The machine must be off."""
        disk = self.folder / f"disk-{uuid.uuid4().hex[:8]}"
        (disk / "upper").mkdir(parents=True)
        (disk / "work").mkdir()
        old = self.disk()
        (self.folder / "disk").write_text(str(disk))
        (self.folder / "image").write_text(image)
        if old:
            shutil.rmtree(old, ignore_errors=True)

    def disk(self) -> Path | None:
        link = self.folder / "disk"
        return Path(link.read_text()) if link.exists() else None

    def power_on(self) -> None:
        if self.holder():
            return
        settings = self.settings()
        if not self.disk():
            self.wipe(self.image)
        boot_id = self.folder / "boot_id"
        boot_id.unlink(missing_ok=True)  # an old namespace may still hold the old file
        boot_id.write_text(f"{uuid.uuid4()}\n")
        self._describe_boot(settings, boot_id)
        command = ["nsenter", f"--net=/run/netns/{self.name}"] if settings["network"] else []
        uptime = int(float(Path("/proc/uptime").read_text().split()[0]))
        command += [
            "unshare", "--time", "--boottime", str(-uptime), "--mount", "--uts", "--ipc", "--pid",
            "--fork", "--kill-child", "--", str(HERE / "machine-init"), str(self.folder),
        ]  # fmt: skip
        with open(LOGS / f"{self.name}.console", "ab") as console:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=console, stderr=console,
                env={"PATH": PATH, "LANG": "C.UTF-8"}, start_new_session=True, cwd="/",
            )  # fmt: skip
        process.returncode = 0  # reaped by gone(), or by the lab's first process
        (self.folder / "power.pid").write_text(str(process.pid))

    def _describe_boot(self, settings: dict, boot_id: Path) -> None:
        image = LAB / "images" / self.image / "root"
        layers = ([str(image)] if self.image else []) + settings["layers"]
        binds = settings["binds"] + [
            f"{boot_id}|/proc/sys/kernel/random/boot_id|ro",
            f"{LAB}/devlog/{self.name}|/dev/log|",
            f"{LOGS}/{self.name}.console|/dev/console|",
        ]
        description = {
            "name": self.name,
            "lower": ":".join(layers),
            "disk": str(self.disk()),
            "program": settings["boot"],
            "delay": settings.get("delay", 0),
            "binds": binds,
        }
        (self.folder / "boot.json").write_text(json.dumps(description))

    def shut_down(self, seconds: float = 3) -> None:
        """What an orderly reboot gives to the programs: TERM, some time, then off."""
        with contextlib.suppress(subprocess.SubprocessError):
            self.run(["bash", "-c", "kill -TERM -1"], check=False, timeout=5)
            wait_until(lambda: len(self.processes()) <= 3, seconds, "processes ended", 0.05)
        self.power_off()

    # -- in it --------------------------------------------------------------------------------
    def processes(self) -> list[str]:
        """Command names of everything that runs in the machine."""
        out = self.run(["ps", "-A", "-o", "comm="], check=False, timeout=5).stdout
        return out.split()

    def enter(self, user: str = "root", cwd: str = "/") -> list[str]:
        """The command prefix that runs something in the machine."""
        init = self.init()
        if not init:
            raise RuntimeError(f"{self.name} is off")
        prefix = ["nsenter", f"--target={init}", "--mount", "--uts", "--ipc", "--net", "--pid",
                  "--time", "--root", f"--wdns={cwd}"]  # fmt: skip
        if user != "root":
            entry = self.account(user)
            prefix += [f"--setgid={entry[1]}", f"--setuid={entry[0]}"]
        return prefix

    def account(self, user: str) -> tuple[int, int, str]:
        """uid, gid and home of USER in the machine."""
        for line in (LAB / "site" / "etc" / "passwd").read_text().splitlines():
            field = line.split(":")
            if field[0] == user:
                return int(field[2]), int(field[3]), field[5]
        raise KeyError(user)

    def environment(self, user: str) -> dict[str, str]:
        home = self.account(user)[2] if user != "root" else pwd.getpwuid(0).pw_dir
        return {"PATH": PATH, "LANG": "C.UTF-8", "USER": user, "LOGNAME": user, "HOME": home,
                "SHELL": "/bin/bash", "TERM": os.environ.get("TERM", "dumb")}  # fmt: skip

    def run(
        self, command: Sequence[str], user: str = "root", cwd: str = "/", check: bool = True,
        timeout: float = 30, env: dict[str, str] | None = None, stdin: str | None = None,
    ) -> subprocess.CompletedProcess:  # fmt: skip
        """Runs COMMAND in the machine; text output; CalledProcessError shows what it printed."""
        done = subprocess.run(
            [*self.enter(user, cwd), "--", *command], text=True, capture_output=True, input=stdin,
            timeout=timeout, env=self.environment(user) | (env or {}),
            stdin=subprocess.DEVNULL if stdin is None else None,
        )  # fmt: skip
        if check and done.returncode:
            raise RuntimeError(
                f"{self.name}: {shlex.join(command)}: exit {done.returncode}\n"
                f"{done.stdout}{done.stderr}"
            )
        return done

    def spawn(
        self, command: Sequence[str], log: str, user: str = "root",
        env: dict[str, str] | None = None,
    ) -> subprocess.Popen:  # fmt: skip
        """Starts a daemon that stays in the foreground; its output goes to LOGS/log."""
        with open(LOGS / log, "ab") as out:
            return subprocess.Popen(
                [*self.enter(user), "--", *command], stdin=subprocess.DEVNULL, stdout=out,
                stderr=out, env=self.environment(user) | (env or {}), start_new_session=True,
            )  # fmt: skip


def node_names(count: int) -> list[str]:
    return [f"n{i}" for i in range(1, count + 1)]
