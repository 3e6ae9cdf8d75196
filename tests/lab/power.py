# SPDX-License-Identifier: GPL-2.0-or-later
"""What a hypervisor does to a machine: the events that a cloud's driver can send.

  spawn    a new disk with IMAGE's content, then on (a rebuild)
  destroy  off (the disk goes with the next spawn)
  soft     orderly reboot, same disk
  hard     reboot by the power switch, same disk
  start, stop
Each returns when the machine has been powered, not when it has booted.
"""
from __future__ import annotations

import images
from machines import Machine

EVENTS = ("spawn", "destroy", "soft", "hard", "start", "stop")


def send(event: str, name: str, image: str = "") -> None:
    machine = Machine(name)
    if event not in EVENTS:
        raise ValueError(f"unknown event {event}; there are {', '.join(EVENTS)}")
    if not machine.folder.exists():
        raise ValueError(f"no machine {name} in this lab")
    content = images.by_id(image).id if event == "spawn" else ""
    with machine.locked():
        if event == "soft" and machine.is_on():
            machine.shut_down()
        elif event in ("destroy", "stop", "hard", "spawn", "soft"):
            machine.power_off()
        if event == "spawn":
            machine.wipe(content)
        if event in ("spawn", "soft", "hard", "start"):
            machine.power_on()
