# SPDX-License-Identifier: GPL-2.0-or-later
"""Our units under a true systemd: the order of a node's boot and of its shutdown.

systemd is the first process of namespaces of its own, with the unit files as installed and stand-ins
for what they come before and after. Each start and stop writes a line.
"""
from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import STAGE
from machines import wait_until

ROOT = Path(os.environ.get("COHORT_ROOT", "/"))
OURS = ("cohort-leave.service", "cohort-join.service", "cohort-profile.service")
BOOT = """
set -e
mount -t tmpfs tmpfs "$WORK"
mkdir "$WORK"/{up,work,root}
mount -t overlay overlay -o "lowerdir=$LOWER,upperdir=$WORK/up,workdir=$WORK/work" "$WORK/root"
cd "$WORK/root"
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount --rbind /sys sys
mount -o remount,bind,ro sys
mount -t tmpfs tmpfs dev
for device in null zero full random urandom tty; do
    touch "dev/$device"
    mount --bind "/dev/$device" "dev/$device"
done
mkdir -p dev/told old  # what is mounted under /dev, systemd leaves alone at a shutdown
mount --bind "$LOG" dev/told
rm -rf etc/systemd/system/* etc/fstab
cp -r "$UNITS"/. etc/systemd/system/
install -m 0755 "$UNITS/cohort-node" usr/sbin/cohort-node
pivot_root . old
umount -l /old
exec env -i container=lab PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --unit=node.target --show-status=no
"""
# What a node has beside us: NAME -> further lines of [Unit].
OTHERS = {
    "munge.service": "After=network-online.target",
    "slurmd.service": "After=munge.service network-online.target remote-fs.target",
    "net.service": "Before=network.target\nWants=network.target",
    "wait.service": "After=net.service\nBefore=network-online.target",
    "home.service": "After=network-online.target\nBefore=remote-fs.target",
}
# What `leave` would find: it takes a while, and needs all of them until its end.
PROGRAM = """#!/bin/bash
say() { echo "$*" >>/dev/told/order; }
say "begin $*"
if [ "$1" = leave ]; then
    sleep 1
    for unit in slurmd munge net home; do
        [ -e "/run/alive.$unit" ] || say "$unit is gone"
    done
fi
say "end $*"
"""


# Nothing of the machine that the tests run on is set up again.
BARE = ("sysinit.target", "basic.target")


def unit(name: str, more: str) -> str:
    word = name.split(".")[0]
    return (f"[Unit]\nDefaultDependencies=no\nConflicts=shutdown.target\nBefore=shutdown.target\n{more}\n[Service]\nType=oneshot\nRemainAfterExit=yes\n"
            f"ExecStart=/bin/sh -c 'echo start {word} >>/dev/told/order; touch /run/alive.{word}'\n"
            f"ExecStop=/bin/sh -c 'rm /run/alive.{word}; echo stop {word} >>/dev/told/order'\n")  # fmt: skip


@pytest.fixture
def node(tmp_path):
    """Its log folder, and a function that starts it; the machine ends with the test."""
    systemd = ROOT / "lib" / "systemd" / "systemd"
    if not systemd.exists():
        pytest.skip("systemd is not installed")
    installed = next((p for p in Path(STAGE).glob("**/cohort-leave.service") if STAGE), None)
    if not installed:
        pytest.skip("our units are not installed in COHORT_STAGE")
    folders = {name: tmp_path / name for name in ("log", "units", "work")}
    for folder in folders.values():
        folder.mkdir()
    for name in OURS:
        (folders["units"] / name).write_text((installed.parent / name).read_text())
    for name, more in OTHERS.items():
        (folders["units"] / name).write_text(unit(name, more))
    drop_in = next(installed.parent.glob("slurmd.service.d/*.conf"))
    (folders["units"] / "slurmd.service.d").mkdir()
    (folders["units"] / "slurmd.service.d" / drop_in.name).write_text(drop_in.read_text())
    wanted = " ".join([*OURS, *OTHERS, "network-online.target", "remote-fs.target"])
    (folders["units"] / "node.target").write_text(f"[Unit]\nDefaultDependencies=no\nWants={wanted}\nAfter={wanted}\n")
    for name in BARE:
        (folders["units"] / name).write_text("[Unit]\nDefaultDependencies=no\n")
    (folders["units"] / "cohort-node").write_text(PROGRAM)
    started: list[subprocess.Popen] = []

    def start() -> subprocess.Popen:
        environment = {"PATH": os.environ["PATH"], "LOWER": str(ROOT), "WORK": str(folders["work"]),
                       "LOG": str(folders["log"]), "UNITS": str(folders["units"])}  # fmt: skip
        started.append(subprocess.Popen(["unshare", "-m", "-p", "-f", "-u", "-i", "-C", "bash", "-c", BOOT], env=environment,
                                        stdout=(folders["log"] / "out").open("w"), stderr=subprocess.STDOUT))  # fmt: skip
        return started[-1]

    yield folders["log"], start
    for process in started:
        if process.poll() is None:
            subprocess.run(["pkill", "-KILL", "-P", str(process.pid)], check=False)
        process.wait(30)


def lines(log: Path) -> list[str]:
    order = log / "order"
    return order.read_text().splitlines() if order.exists() else []


def first(process: subprocess.Popen) -> int:
    return int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])


def systemctl(process: subprocess.Popen, *words: str) -> int:
    inside = ["nsenter", "-t", str(first(process)), "-m", "-p", "systemctl", "--quiet"]
    return subprocess.run([*inside, *words], check=False).returncode


def test_leave_ends_before_anything_it_needs_is_stopped(node) -> None:
    log, start = node
    process = start()
    try:
        wait_until(lambda: "end join --after --jitter 5s" in lines(log), 60, "the node has booted", 0.1)
    except TimeoutError:
        if not lines(log):
            pytest.skip(f"systemd does not come up in namespaces here: {(log / 'out').read_text()[-300:]}")
        raise
    booted = lines(log)
    at = {line: n for n, line in enumerate(booted)}
    assert at["end profile write"] < at["begin join --before"] < at["end join --before"] < at["start slurmd"], booted
    assert at["start slurmd"] < at["begin join --after --jitter 5s"], booted
    assert not [line for line in booted if "leave" in line], booted
    wait_until(lambda: systemctl(process, "is-active", "node.target") == 0, 30, "all is up", 0.1)
    os.kill(first(process), signal.SIGRTMIN + 4)  # poweroff.target
    assert process.wait(60) is not None
    down = lines(log)[len(booted):]
    assert down[:2] == ["begin leave --timeout 10min", "end leave --timeout 10min"], down
    assert {"stop slurmd", "stop munge", "stop net", "stop home"} <= set(down[2:]), down
    assert down.index("stop slurmd") < down.index("stop munge"), down


def test_a_restart_of_slurmd_is_no_leave(node) -> None:
    """join publishes anew; the drain and the end of the jobs are for a shutdown alone."""
    log, start = node
    process = start()
    after = "end join --after --jitter 5s"
    try:
        wait_until(lambda: after in lines(log), 60, "the node has booted", 0.1)
    except TimeoutError:
        if not lines(log):
            pytest.skip("systemd does not come up in namespaces here")
        raise
    wait_until(lambda: systemctl(process, "is-active", "node.target") == 0, 30, "all is up", 0.1)
    assert systemctl(process, "restart", "slurmd") == 0
    wait_until(lambda: lines(log).count(after) >= 2, 30, "join has run again", 0.1)
    assert lines(log).count("stop slurmd") >= 1 and not [line for line in lines(log) if "leave" in line], lines(log)
