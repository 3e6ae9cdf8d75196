# SPDX-License-Identifier: GPL-2.0-or-later
"""One set of private namespaces around everything that a lab starts.

The first process in them is a shell that reaps orphans; when it ends, or the `unshare` above it is
killed, the kernel ends every process of the lab. Nothing outside is touched: /run is a private
tmpfs that holds all of the lab's data, the network has no way out.
"""
from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

LAB = Path("/run/lab")  # only ever the private one
MARK = "cohort-lab"  # argv[3] of the first process: how `lab enter` finds it
_INSIDE = "COHORT_LAB_INSIDE"
GRACE = 5.0  # seconds from Ctrl-C to kill

# A lone last command would be exec'ed by bash, and then nobody would reap.
_FIRST_PROCESS = """
mount --make-rprivate /
mount -t tmpfs -o mode=755 lab /run || exit 1
mkdir -p /run/lab /run/netns /run/lock
hostname lab
ip link set lo up
"$@"
exit $?
"""


def inside() -> bool:
    return os.environ.get(_INSIDE) == "1"


def command(argv: list[str], label: str) -> list[str]:
    """The command line that runs ARGV in new namespaces; all of it dies with its parent."""
    return [
        "setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--net", "--pid", "--uts", "--ipc",
        "--fork", "--kill-child", "--mount-proc", "--", "bash", "-c", _FIRST_PROCESS, MARK,
        "env", f"{_INSIDE}=1", f"COHORT_LAB_LABEL={label}", *argv,
    ]  # fmt: skip


def reexecute(argv: list[str], label: str) -> None:
    """Runs ARGV in new namespaces and exits with its status; returns only when already inside.

    unshare ignores INT and TERM, so this process stays above it: Ctrl-C reaches the inside through
    the terminal and has GRACE to end well; after that, or on any other signal, all is killed.
    """
    if inside():
        return
    if os.geteuid() != 0:
        sys.exit("The lab makes namespaces and mounts: run it as root.")
    sys.stdout.flush()
    sys.stderr.flush()
    child = subprocess.Popen(command(argv, label))

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _ended)
    try:
        code = child.wait()
    except _Ended as ended:
        code = 128 + ended.args[0]
        if ended.args[0] == signal.SIGINT:
            with contextlib.suppress(subprocess.TimeoutExpired, _Ended):
                child.wait(GRACE)
    child.kill()
    child.wait()
    os._exit(code)  # whatever stands above, pytest's plugins for one, is not to run on


class _Ended(Exception):
    """A signal that ends the lab."""


def _ended(number: int, _frame: object) -> None:
    raise _Ended(number)


def running() -> list[tuple[int, str]]:
    """Labs on this machine: (pid of the first process, label)."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or entry.name == "1":  # 1: the lab that we are in
            continue
        try:
            argv = (entry / "cmdline").read_bytes().decode().split("\0")
        except (OSError, UnicodeDecodeError):
            continue
        if len(argv) > 6 and argv[0] == "bash" and argv[3] == MARK:
            label = next((a.split("=", 1)[1] for a in argv if a.startswith("COHORT_LAB_LABEL=")), "")
            found.append((int(entry.name), label))
    return found
