# SPDX-License-Identifier: GPL-2.0-or-later
"""The cloud that the contract tests run against: the lab cloud, or a true one.

A true one is described by the JSON file that COHORT_TEST_CLOUD names:
  {"clouds": FILE, "cloud": NAME, "reader_cloud": NAME, "member_cloud": NAME, "password_cloud": NAME,
   "rules_cloud": NAME   whose access rules suffice for rebuilds (docs)
   "servers": [{"id", "name"}, ...]   at least 4, all ACTIVE on images[0]
   "images": [{"id", "name", "stamp"}, ...]   at least 2, active; "stamp_property": KEY
   "flavor": ID, for servers that are made and removed again; absent skips that
   "seconds": how long one action may take,
   "bad_images": {what is wrong: ID, ...}   that nova does not take for a rebuild
   "commands": {"fail": ARGV, "heal": ARGV, "lock": ARGV, "unlock": ARGV, "stop": ARGV, "pause": ARGV,
                "suspend": ARGV, "rescue": ARGV, "unrescue": ARGV, "shelve": ARGV, "unshelve": ARGV}}
where ARGV's {id} and {name} stand for the server's, and a command that is absent skips its tests
(without shelve and unshelve nothing is skipped but that state).
"""
from __future__ import annotations

import json
import os
import subprocess
import time
import unittest

import harness


ROLES = ("reader", "member", "password", "rules")
VM_STATES = {"stop": "stopped", "pause": "paused", "suspend": "suspended", "rescue": "rescued",
             "unrescue": "active", "shelve": "shelved", "unshelve": "active"}


class Lab:
    """The lab cloud in a process of its own."""

    seconds = 20

    def __init__(self) -> None:
        from cloud_client import LabCloud

        self.lab = LabCloud(harness.lab_servers(8), harness.lab_images())
        self.lab.set(rebuild_delay=0.6, reboot_delay=0.4)
        self.clouds, self.cloud = self.lab.more_clouds, "lab"
        self.roles = {role: f"lab-{role}" for role in ROLES}
        self.servers = harness.lab_servers(8)
        self.images = [{**image, "stamp": image["properties"]["cohort_stamp"]} for image in harness.lab_images()]
        self.stamp_property = "cohort_stamp"
        self.flavor = "lab"
        self.bad_images = {"deactivated": harness.uuid_of("d", 1), "too big": harness.uuid_of("d", 2)}
        self.lab.change_image(self.bad_images["deactivated"], name="off", status="deactivated")
        self.lab.change_image(self.bad_images["too big"], name="big", min_disk=500)

    def can(self, what: str) -> bool:
        return what in ("fail", "lock", "unlock", *VM_STATES)

    def do(self, what: str, server: dict) -> None:
        name = server["name"]
        if what == "fail":
            self.lab.next(name, outcome="error", fault="Build of instance aborted: injected")
        elif what in ("lock", "unlock"):
            self.lab.change_server(name, locked=what == "lock")
        elif what in VM_STATES:
            self.lab.change_server(name, vm_state=VM_STATES[what])

    def close(self) -> None:
        self.lab.stop()


class True_:
    def __init__(self, path: str) -> None:
        with open(path, encoding="utf-8") as file:
            told = json.load(file)
        self.clouds, self.cloud = told["clouds"], told["cloud"]
        self.roles = {role: told.get(f"{role}_cloud") for role in ROLES}
        self.bad_images = told.get("bad_images", {})
        self.servers, self.images = told["servers"], told["images"]
        self.stamp_property = told.get("stamp_property", "cohort_stamp")
        self.flavor = told.get("flavor", "")
        self.seconds = told.get("seconds", 120)
        self.commands = told.get("commands", {})

    def can(self, what: str) -> bool:
        return what in self.commands

    def do(self, what: str, server: dict) -> None:
        if what not in self.commands:
            if what == "heal":
                return
            raise unittest.SkipTest(f"this cloud's description has no command '{what}'")
        command = [word.format(**server) for word in self.commands[what]]
        subprocess.run(command, check=True, timeout=120)

    def close(self) -> None:
        pass


def open_target() -> Lab | True_:
    described = os.environ.get("COHORT_TEST_CLOUD")
    return True_(described) if described else Lab()


class TargetCase(unittest.TestCase):
    """Test cases that share one target; each server in use is brought back to images[0]."""

    target: Lab | True_

    @classmethod
    def setUpClass(cls) -> None:
        cls.target = open_target()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.target.close()

    def call(self, *words: str, role: str = "", **options) -> harness.Result:
        name = self.target.roles[role] if role else self.target.cloud
        if not name:
            self.skipTest(f"this cloud's description has no {role}_cloud")
        return harness.cloudcall(self.target.clouds, *words, cloud=name, **options)

    def good(self, *words: str, **options):
        result = self.call(*words, **options)
        self.assertEqual(result.code, 0, result.value)
        return result.value

    def follow(self, server: dict, request: str) -> dict:
        return self.good("follow", server["id"], request)

    def settled(self, server: dict) -> dict:
        """The server as soon as no task runs."""
        limit = time.monotonic() + self.target.seconds
        while time.monotonic() < limit:
            now = self.good("server", server["id"])
            if not now["task_state"]:
                return now
            time.sleep(0.1)
        raise AssertionError(f"{server['name']} keeps its task: {now}")

    def rebuild(self, server: dict, image: dict) -> dict:
        return self.follow(server, self.good("rebuild", server["id"], image["id"])["request_id"])
