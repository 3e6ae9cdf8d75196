# SPDX-License-Identifier: GPL-2.0-or-later
"""nova's virt driver of the lab: no hypervisor, but delays, failures and a power hook as planned.

What it does is read at each action from files under $LAB_DRIVER:
  delay         seconds that spawn() and reboot() take
  fail/NAME     spawn() of the server NAME raises, with the file's text as the reason
  hook          run as: hook EVENT NAME UUID [IMAGE]; EVENT as in power.py
  hooked        names of the servers that are machines, one a line: the hook runs for these only
and what it did goes to the file `events`, one line each: TIME begin|end EVENT NAME.
"""
from __future__ import annotations

import os
import time

from eventlet.green import subprocess
from nova import exception
from nova.virt import fake

FOLDER = os.environ.get("LAB_DRIVER", "/nonexistent")


def read(name: str, otherwise: str = "") -> str:
    try:
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return otherwise


def note(moment: str, event: str, name: str) -> None:
    with open(os.path.join(FOLDER, "events"), "a", encoding="utf-8") as file:
        file.write(f"{time.time():.3f} {moment} {event} {name}\n")


def run_hook(event: str, instance) -> None:
    hook = os.path.join(FOLDER, "hook")
    if instance.display_name not in read("hooked").split() or not os.access(hook, os.X_OK):
        return
    words = [hook, event, instance.display_name, instance.uuid]
    done = subprocess.run(words + ([instance.image_ref] if event == "spawn" else []),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise exception.NovaException(f"power hook {event}: {done.stdout.strip()[-300:]}")


class Driver(fake.FakeDriver):
    def _know(self, instance) -> None:
        """The fake hypervisor lives in memory: forgive a restart of nova."""
        if instance.uuid not in self.instances:
            fake.FakeDriver.spawn(self, None, instance, None, None, None, None)

    def spawn(self, context, instance, *arguments, **options):
        note("begin", "spawn", instance.display_name)
        try:
            time.sleep(float(read("delay", "0")))  # eventlet's: others go on
            planned = os.path.join("fail", instance.display_name)
            if os.path.exists(os.path.join(FOLDER, planned)):
                raise exception.NovaException(read(planned) or "injected failure")
            super().spawn(context, instance, *arguments, **options)
            run_hook("spawn", instance)
        finally:
            note("end", "spawn", instance.display_name)

    def destroy(self, context, instance, *arguments, **options):
        super().destroy(context, instance, *arguments, **options)
        run_hook("destroy", instance)

    def reboot(self, context, instance, network_info, reboot_type, *arguments, **options):
        self._know(instance)
        time.sleep(float(read("delay", "0")))
        super().reboot(context, instance, network_info, reboot_type, *arguments, **options)
        run_hook(reboot_type.lower(), instance)

    def power_off(self, instance, *arguments, **options):
        self._know(instance)
        super().power_off(instance, *arguments, **options)
        run_hook("stop", instance)

    def power_on(self, context, instance, *arguments, **options):
        self._know(instance)
        super().power_on(context, instance, *arguments, **options)
        run_hook("start", instance)
