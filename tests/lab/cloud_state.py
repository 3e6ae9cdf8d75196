# SPDX-License-Identifier: GPL-2.0-or-later
"""What the lab cloud holds: servers, images, credentials, tokens, what is planned to go wrong.

In memory only. All of it is touched from one event loop, so nothing is locked.
"""
from __future__ import annotations

import re
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timezone

PROJECT = "6f70656e737461636b20342065766572"
DOMAIN = {"id": "default", "name": "Default"}


def now_iso(fraction: bool = False) -> str:
    text = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")
    return text if fraction else text[:19] + "Z"


@dataclass
class Action:
    action: str
    request_id: str
    start_time: str = field(default_factory=lambda: now_iso(True))
    message: str | None = None
    events: list[dict] = field(default_factory=list)

    def begin(self, event: str) -> dict:
        entry = {"event": event, "start_time": now_iso(True), "finish_time": None, "result": None}
        self.events.insert(0, entry)  # nova shows the newest first
        return entry

    def end(self, entry: dict, ok: bool) -> None:
        entry["finish_time"] = now_iso(True)
        entry["result"] = "Success" if ok else "Error"
        if not ok:
            self.message = "Error"


@dataclass
class Server:
    id: str
    name: str
    image: str  # "" for a volume-backed server
    vm_state: str = "active"  # building, active, stopped, error, paused, suspended, shelved_offloaded, rescued
    task_state: str | None = None
    locked: bool = False
    locked_reason: str | None = None
    fault: dict | None = None
    volume_backed: bool = False
    content: str = ""  # the image whose content the machine really has
    created: str = field(default_factory=now_iso)
    updated: str = field(default_factory=now_iso)
    actions: list[Action] = field(default_factory=list)
    spawned: int = 0
    machine: bool = True  # false: no hook runs for it
    metadata: dict[str, str] = field(default_factory=dict)
    order: dict = field(default_factory=dict)  # what it was created with

    _STATUS = {"active": "ACTIVE", "stopped": "SHUTOFF", "error": "ERROR", "paused": "PAUSED",
               "suspended": "SUSPENDED", "shelved": "SHELVED", "shelved_offloaded": "SHELVED_OFFLOADED",
               "rescued": "RESCUE", "building": "BUILD"}

    @property
    def status(self) -> str:
        task = self.task_state or ""
        if task.startswith("rebuild"):
            return "REBUILD"
        if task.startswith("reboot") and self.vm_state == "active":
            return "HARD_REBOOT" if "hard" in task else "REBOOT"
        return self._STATUS[self.vm_state]

    def touch(self) -> None:
        self.updated = now_iso()


@dataclass
class Image:
    id: str
    name: str
    status: str = "active"
    visibility: str = "public"
    hidden: bool = False
    min_disk: int = 0
    properties: dict[str, str] = field(default_factory=dict)


@dataclass
class Credential:
    """An application credential (id and secret) or, with the same fields, a user and password."""
    id: str
    secret: str
    user: str
    roles: tuple[str, ...] = ("member", "reader")
    rules: tuple[tuple[str, str], ...] | None = None  # (method, path pattern) of access rules
    revoked: bool = False


@dataclass
class Plan:
    """What the next actions of one server do: ok, error, lie, stuck."""
    outcome: str = "ok"
    fault: str = "No valid host was found. There are not enough hosts available."
    delay: float | None = None
    count: int = 1


@dataclass
class Fault:
    """What happens to the next COUNT requests that match, instead of or after their work."""
    method: str = "*"
    path: str = ".*"
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: str = ""
    damage: str = ""     # close, truncate, hang
    after: bool = False  # the request is worked on first
    count: int = 1

    def matches(self, method: str, path: str) -> bool:
        return self.count > 0 and self.method in ("*", method) and re.search(self.path, path) is not None


@dataclass
class Knobs:
    """Set by /lab/set."""
    rebuild_delay: float = 0.5
    reboot_delay: float = 0.2
    create_delay: float = 0.5
    delete_delay: float = 0.3
    latency: float = 0.0
    page: int = 1000
    image_page: int = 25
    max_microversion: str = "2.93"
    max_posts: int = 0      # more action POSTs at once get a 503; 0: no limit
    token_life: float = 3600
    keystone_down: bool = False


class Cloud:
    def __init__(self) -> None:
        self.servers: dict[str, Server] = {}
        self.images: dict[str, Image] = {}
        self.credentials: dict[str, Credential] = {}
        self.tokens: dict[str, tuple[Credential, float]] = {}
        self.plans: dict[str, Plan] = {}
        self.faults: list[Fault] = []
        self.knobs = Knobs()
        self.counters: Counter[str] = Counter()
        self.log: list[dict] = []
        self.secrets: set[str] = set()  # tokens and adminPass values that were given out
        self.rebuilds_in_flight = 0
        self.posts_in_flight = 0

    def by_name(self, name: str) -> Server:
        for server in self.servers.values():
            if name in (server.name, server.id):
                return server
        raise KeyError(f"no server {name}")

    def take_fault(self, method: str, path: str) -> Fault | None:
        for fault in self.faults:
            if fault.matches(method, path):
                fault.count -= 1
                return fault
        return None

    def take_plan(self, name: str) -> Plan:
        plan = self.plans.get(name)
        if plan is None:
            return Plan()
        plan.count -= 1
        if plan.count <= 0:
            del self.plans[name]
        return plan

    def new_token(self, credential: Credential) -> tuple[str, float]:
        token, expires = "gAAAAAB" + uuid.uuid4().hex + uuid.uuid4().hex, time.time() + self.knobs.token_life
        self.tokens[token] = (credential, expires)
        self.secrets.add(token)
        return token, expires

    def owner_of(self, token: str) -> Credential | None:
        credential, expires = self.tokens.get(token, (None, 0.0))
        if credential is None or credential.revoked or expires < time.time():
            return None
        return credential

    def rebuild_begins(self) -> None:
        self.rebuilds_in_flight += 1
        self.counters["rebuilds"] += 1
        self.counters["max_rebuilds_in_flight"] = max(
            self.counters["max_rebuilds_in_flight"], self.rebuilds_in_flight)

    def rebuild_ends(self) -> None:
        self.rebuilds_in_flight -= 1
