# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab's network: one bridge, one network namespace per node, no way out."""
from __future__ import annotations

import subprocess

from slurmconf import CONTROLLER_ADDRESS, address

BRIDGE = "lab0"


def _ip(batch: list[str], *options: str) -> None:
    subprocess.run(["ip", *options, "-batch", "-"], input="\n".join(batch) + "\n", text=True,
                   check=True, capture_output=True)  # fmt: skip


def up(nodes: list[str]) -> None:
    outside = [
        f"link add {BRIDGE} type bridge",
        f"addr add {CONTROLLER_ADDRESS}/16 dev {BRIDGE}",
        f"link set {BRIDGE} up",
    ]
    for i, node in enumerate(nodes):
        outside += [
            f"netns add {node}",
            f"link add v{i} type veth peer name eth0 netns {node}",
            f"link set v{i} master {BRIDGE} up",
        ]
    _ip(outside)
    for i, node in enumerate(nodes):
        inside = ["link set lo up", f"addr add {address(i)}/16 dev eth0", "link set eth0 up"]
        _ip(inside, "-n", node)


def down(nodes: list[str]) -> None:
    for i, node in enumerate(nodes):
        subprocess.run(["ip", "link", "del", f"v{i}"], capture_output=True)
        subprocess.run(["ip", "netns", "del", node], capture_output=True)
    subprocess.run(["ip", "link", "del", BRIDGE], capture_output=True)
