# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab cloud's own interface, under /lab: what a test plans, changes and reads.

GET  /lab/state       servers (with what they really run), images, rebuilds in flight
GET  /lab/counters    logins, lists, post_rebuild, rebuilds, max_rebuilds_in_flight, hook_spawn ...
GET  /lab/secrets     what must be in no log: secrets, passwords, tokens, adminPass values
GET  /lab/log         the requests: method, path, status (no headers, no bodies)
POST /lab/reset       counters, log, plans, faults and knobs as at the start
POST /lab/set         {knob: value, ...}: class Knobs in cloud_state.py
POST /lab/next        {"server": NAME or "*", "outcome": ok|error|lie|stuck, "fault", "delay", "count"}
POST /lab/fault       {"method", "path": regex, "count", "status", "headers", "body", "damage", "after"}
POST /lab/credential  {"id": ID or "*", "revoked": bool}
POST /lab/tokens      {}: all tokens end now
POST /lab/server      {"server": NAME, field: value, ...}; a new name with "id" and "image" adds one
POST /lab/image       {"id": ..., field: value, ...}
POST /lab/catalog     {"regions": [...], "extra": [services]}
"""
from __future__ import annotations

from dataclasses import asdict, fields

from cloud_http import Answer, Request, of_json
from cloud_keystone import Keystone
from cloud_state import Cloud, Fault, Image, Knobs, Plan, Server


class Control:
    def __init__(self, cloud: Cloud, keystone: Keystone) -> None:
        self.cloud = cloud
        self.keystone = keystone

    async def handle(self, request: Request) -> Answer:
        verb = request.path.removeprefix("/lab/")
        reader = getattr(self, f"_get_{verb}", None) if request.method == "GET" else None
        writer = getattr(self, f"_post_{verb}", None) if request.method == "POST" else None
        try:
            if reader:
                return of_json(reader())
            if writer:
                writer(request.json() if request.body else {})
                return of_json({})
        except (KeyError, TypeError, ValueError) as error:
            return of_json({"error": f"{type(error).__name__}: {error}"}, 400)
        return of_json({"error": f"no {request.method} {request.path}"}, 404)

    def _get_state(self) -> dict:
        servers = {}
        for server in self.cloud.servers.values():
            shown = asdict(server)
            del shown["actions"]
            servers[server.name] = shown | {"status": server.status,
                                            "actions": [asdict(a) for a in server.actions]}
        return {"servers": servers, "images": {i.id: asdict(i) for i in self.cloud.images.values()},
                "rebuilds_in_flight": self.cloud.rebuilds_in_flight}

    def _get_counters(self) -> dict:
        return dict(self.cloud.counters)

    def _get_secrets(self) -> list:
        return sorted(self.cloud.secrets | {c.secret for c in self.cloud.credentials.values()})

    def _get_log(self) -> list:
        return self.cloud.log

    def _post_reset(self, _body: dict) -> None:
        self.cloud.counters.clear()
        self.cloud.log.clear()
        self.cloud.plans.clear()
        self.cloud.faults.clear()
        self.cloud.knobs = Knobs()

    def _post_set(self, body: dict) -> None:
        known = {field.name for field in fields(Knobs)}
        for key, value in body.items():
            if key not in known:
                raise KeyError(f"no knob {key}; there are {sorted(known)}")
            setattr(self.cloud.knobs, key, value)

    def _post_next(self, body: dict) -> None:
        name = body.pop("server")
        plan = Plan(**body)
        if plan.outcome not in ("ok", "error", "lie", "stuck"):
            raise ValueError(f"no outcome {plan.outcome}")
        known = {name for server in self.cloud.servers.values() for name in (server.name, server.id)}
        if name in known:
            names = [self.cloud.by_name(name).name]
        else:  # a server that is still to be created
            names = [s.name for s in self.cloud.servers.values()] if name == "*" else [name]
        for one in names:
            self.cloud.plans[one] = Plan(**body)

    def _post_fault(self, body: dict) -> None:
        self.cloud.faults.append(Fault(**body))

    def _post_credential(self, body: dict) -> None:
        wish = body["id"]
        for key, credential in self.cloud.credentials.items():
            if wish in ("*", key):
                credential.revoked = bool(body["revoked"])

    def _post_tokens(self, _body: dict) -> None:
        self.cloud.tokens.clear()

    def _post_server(self, body: dict) -> None:
        name = body.pop("server")
        try:
            server = self.cloud.by_name(name)
        except KeyError:
            server = Server(body["id"], name, body["image"], content=body["image"])
            self.cloud.servers[server.id] = server
        self._set_fields(server, body)
        server.touch()

    def _post_image(self, body: dict) -> None:
        image = self.cloud.images.setdefault(body["id"], Image(body["id"], body.get("name", "")))
        self._set_fields(image, body)

    @staticmethod
    def _set_fields(target: object, body: dict) -> None:
        for key, value in body.items():
            if not hasattr(target, key):
                raise KeyError(f"no field {key}")
            setattr(target, key, value)

    def _post_catalog(self, body: dict) -> None:
        self.keystone.regions = body.get("regions", self.keystone.regions)
        self.keystone.extra_catalog = body.get("extra", self.keystone.extra_catalog)
