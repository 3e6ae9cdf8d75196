# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab cloud's nova: the calls that a rebuild client makes, answered as nova (Zed) answers them."""
from __future__ import annotations

import re
import uuid
from datetime import datetime, timezone
from urllib.parse import urlencode

from cloud_http import Answer, Request, of_html, of_json
from cloud_keystone import Keystone
from cloud_power import Power
from cloud_state import PROJECT, Action, Cloud, Server

KINDS = {400: "badRequest", 403: "forbidden", 404: "itemNotFound", 405: "badMethod",
         409: "conflictingRequest", 413: "overLimit", 429: "overLimit", 503: "serviceUnavailable"}
MAX_BODY = 114688  # [api] max_request_body_size
FLAVOR = {"vcpus": 4, "ram": 1000, "disk": 1, "ephemeral": 0, "swap": 0, "original_name": "lab", "extra_specs": {}}
FLAVORS = ("1", "lab")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
REBUILDABLE = ("active", "stopped", "error")
HARD_REBOOTABLE = ("active", "stopped", "paused", "suspended", "error")


def error(code: int, message: str) -> Answer:
    return of_json({KINDS.get(code, "computeFault"): {"code": code, "message": message}}, code)


def number(version: str) -> tuple[int, int]:
    major, minor = version.split(".")
    return int(major), int(minor)


class Refusal(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.answer = error(code, message)


class Nova:
    def __init__(self, cloud: Cloud, keystone: Keystone, power: Power) -> None:
        self.cloud = cloud
        self.keystone = keystone
        self.power = power

    # -- the frame of every call ------------------------------------------------------------------
    async def handle(self, request: Request, path: str) -> Answer:
        request_id = f"req-{uuid.uuid4()}"
        if len(request.body) > MAX_BODY:
            return of_html(413, "The request is larger than the server is willing to process.")
        try:
            version = self._version(request)
            answer = self._route(request, path, version, request_id)
        except Refusal as refusal:
            version = "2.1"
            answer = refusal.answer
        answer.headers |= {"X-OpenStack-Request-ID": request_id, "X-Compute-Request-Id": request_id,
                           "OpenStack-API-Version": f"compute {version}",
                           "X-OpenStack-Nova-API-Version": version,
                           "Vary": "OpenStack-API-Version, X-OpenStack-Nova-API-Version"}
        return answer

    def _version(self, request: Request) -> str:
        wish = request.headers.get("openstack-api-version", "").removeprefix("compute ").strip()
        wish = wish or request.headers.get("x-openstack-nova-api-version", "2.1")
        top = self.cloud.knobs.max_microversion
        if wish == "latest":
            return top or "2.1"
        if not re.fullmatch(r"2\.\d+", wish):
            raise Refusal(400, f"API Version String '{wish}' is of invalid format. It must be of format MajorNum.MinorNum.")
        if number(wish) > number(top or "2.1"):
            raise Refusal(406, f"Version {wish} is not supported by the API. Minimum is 2.1 and maximum is {top}.")
        return wish

    def _document(self) -> dict:
        top = self.cloud.knobs.max_microversion
        return {"id": "v2.1", "status": "CURRENT", "version": top, "min_version": "2.1" if top else "",
                "updated": "2013-07-23T11:33:21Z",
                "links": [{"rel": "self", "href": self.keystone.base + "/compute/v2.1/"}]}

    def _route(self, request: Request, path: str, version: str, request_id: str) -> Answer:
        pieces = [piece for piece in path.split("/") if piece]
        if not pieces:
            return of_json({"versions": [self._document()]})
        if pieces == ["v2.1"]:
            return of_json({"version": self._document()})
        if pieces[:1] != ["v2.1"]:
            return error(404, "The resource could not be found.")
        rest = pieces[1:]
        if rest[:1] == [PROJECT]:
            rest = rest[1:]
        reads = request.method == "GET"
        if refusal := self.keystone.judge(request, "compute", path, "reader" if reads else "member"):
            return refusal
        return self._servers(request, rest, version, request_id)

    def _servers(self, request: Request, rest: list[str], version: str, request_id: str) -> Answer:
        if request.method == "GET" and rest in (["servers"], ["servers", "detail"]):
            return self._list(request, version, len(rest) == 2)
        if request.method == "POST" and rest == ["servers"]:
            return self._create(request, version, request_id)
        if len(rest) < 2 or rest[0] != "servers":
            return error(404, "The resource could not be found.")
        server = self.cloud.servers.get(rest[1])
        if server is None:
            return error(404, f"Instance {rest[1]} could not be found.")
        if request.method == "POST" and rest[2:] == ["action"]:
            return self._act(request, server, version, request_id)
        if request.method == "DELETE" and len(rest) == 2:
            return self._delete(server, request_id)
        if request.method != "GET":
            return error(405, "Method Not Allowed")
        if len(rest) == 2:
            return of_json({"server": self.view(server, version)})
        if rest[2] == "os-instance-actions":
            return self._actions(server, rest[3:], version)
        return error(404, "The resource could not be found.")

    # -- reading ----------------------------------------------------------------------------------
    def view(self, server: Server, version: str) -> dict:
        base = self.keystone.base
        shown: dict = {
            "id": server.id, "name": server.name, "status": server.status, "tenant_id": PROJECT,
            "user_id": "slurm", "created": server.created, "updated": server.updated,
            "metadata": server.metadata, "addresses": {}, "accessIPv4": "", "accessIPv6": "", "config_drive": "",
            "key_name": None, "hostId": "lab", "flavor": FLAVOR if number(version) >= (2, 47) else {"id": "1"}, "progress": 0,
            "image": "" if server.volume_backed else {
                "id": server.image,
                "links": [{"rel": "bookmark", "href": f"{base}/compute/images/{server.image}"}]},
            "links": [{"rel": "self", "href": f"{base}/compute/v2.1/servers/{server.id}"}],
            "OS-DCF:diskConfig": "MANUAL", "OS-EXT-AZ:availability_zone": "nova",
            "OS-EXT-STS:vm_state": server.vm_state, "OS-EXT-STS:task_state": server.task_state,
            "OS-EXT-STS:power_state": 1 if server.vm_state == "active" else 4}
        if server.fault and server.status == "ERROR":
            shown["fault"] = server.fault
        if number(version) >= (2, 9):
            shown["locked"] = server.locked
        if number(version) >= (2, 73):
            shown["locked_reason"] = server.locked_reason
        return shown

    def _list(self, request: Request, version: str, detail: bool) -> Answer:
        self.cloud.counters["lists"] += 1
        found = list(self.cloud.servers.values())
        if pattern := request.first("name"):
            try:
                expression = re.compile(pattern, re.IGNORECASE)
            except re.error:
                raise Refusal(400, "Invalid filters are specified.") from None
            found = [s for s in found if expression.search(s.name)]
        if status := request.first("status"):
            found = [s for s in found if s.status == status.upper()]
        if since := request.first("changes-since"):
            moment = datetime.fromisoformat(since.replace("Z", "+00:00")).astimezone(timezone.utc)
            text = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
            found = [s for s in found if s.updated >= text]
        limit = self.cloud.knobs.page
        if request.first("limit"):
            limit = min(limit, int(request.first("limit")))
        start = 0
        if marker := request.first("marker"):
            start = next((i + 1 for i, s in enumerate(found) if s.id == marker), -1)
            if start < 0:
                raise Refusal(400, f"marker [{marker}] not found")
        page = found[start : start + limit]
        body: dict = {"servers": [self.view(s, version) if detail else {"id": s.id, "name": s.name, "links": []}
                                  for s in page]}
        if start + limit < len(found):
            query = {key: values[0] for key, values in request.query.items() if key != "marker"}
            tail = "/compute/v2.1/servers" + ("/detail" if detail else "")
            href = f"{self.keystone.base}{tail}?{urlencode({**query, 'marker': page[-1].id})}"
            body["servers_links"] = [{"rel": "next", "href": href}]
        return of_json(body)

    def _actions(self, server: Server, rest: list[str], version: str) -> Answer:
        def summary(action: Action) -> dict:
            return {"action": action.action, "instance_uuid": server.id, "request_id": action.request_id,
                    "message": action.message, "project_id": PROJECT, "user_id": "slurm",
                    "start_time": action.start_time}

        if not rest:
            return of_json({"instanceActions": [summary(a) for a in reversed(server.actions)]})
        for action in server.actions:
            if action.request_id == rest[0]:
                shown = summary(action)
                if number(version) >= (2, 51):  # the owner sees events without their traceback
                    shown["events"] = [dict(event) for event in action.events]
                return of_json({"instanceAction": shown})
        return error(404, f"Action for request_id {rest[0]} on instance {server.id} not found")

    # -- acting -----------------------------------------------------------------------------------
    def _act(self, request: Request, server: Server, version: str, request_id: str) -> Answer:
        try:
            body = request.json()
            (name, detail), = body.items()
        except (ValueError, AttributeError):
            return error(400, "Malformed request body")
        verbs = {"rebuild": self._rebuild, "reboot": self._reboot, "os-start": self._start,
                 "os-stop": self._stop, "lock": self._lock, "unlock": self._lock}
        if name not in verbs:
            return error(400, f"There is no such action: {name}")
        self.cloud.counters[f"post_{name}"] += 1
        return verbs[name](server, name, detail, version, request_id)

    def _check(self, server: Server, verb: str, states: tuple[str, ...], free: bool = True) -> None:
        if server.locked:
            raise Refusal(409, f"Instance {server.id} is locked")
        where = None
        if server.vm_state not in states:
            where = f"vm_state {server.vm_state}"
        elif free and server.task_state is not None:
            where = f"task_state {server.task_state}"
        if where:
            raise Refusal(409, f"Cannot '{verb}' instance {server.id} while it is in {where}")

    def _begin(self, server: Server, action: str, request_id: str, task: str | None) -> Action:
        record = Action(action, request_id)
        server.actions.append(record)
        server.task_state = task
        server.touch()
        return record

    def _create(self, request: Request, version: str, request_id: str) -> Answer:
        order = request.json().get("server", {})
        if order.get("flavorRef") not in FLAVORS:
            raise Refusal(400, f"Flavor {order.get('flavorRef')} could not be found.")
        image = self.cloud.images.get(str(order.get("imageRef")).lower())
        if image is None:
            raise Refusal(400, "Can not find requested image")
        if image.status != "active":
            raise Refusal(400, f"Image {image.id} is not active.")
        networks = order.get("networks")
        if isinstance(networks, str) != (number(version) >= (2, 37)) and networks is not None:
            raise Refusal(400, f"Invalid input for field/attribute networks. Value: {networks}.")
        self.cloud.counters["post_create"] += 1
        server = Server(str(uuid.uuid4()), order["name"], image.id, vm_state="building",
                        metadata=dict(order.get("metadata") or {}), order=order)
        self.cloud.servers[server.id] = server
        record = self._begin(server, "create", request_id, "scheduling")
        self.power.begin(self.power.create(server, record, self.cloud.take_plan(server.name)))
        password = "lab-" + uuid.uuid4().hex[:12]
        self.cloud.secrets.add(password)
        location = f"{self.keystone.base}/compute/v2.1/servers/{server.id}"
        shown = {"id": server.id, "links": [{"rel": "self", "href": location}], "OS-DCF:diskConfig": "MANUAL",
                 "security_groups": [{"name": "default"}], "adminPass": password}
        return of_json({"server": shown}, 202, {"Location": location})

    def _delete(self, server: Server, request_id: str) -> Answer:
        if server.locked:
            raise Refusal(409, f"Instance {server.id} is locked")
        if server.task_state == "deleting":
            return Answer(204)
        self.cloud.counters["deletes"] += 1
        record = self._begin(server, "delete", request_id, "deleting")
        self.power.begin(self.power.delete(server, record))
        return Answer(204)

    def _rebuild(self, server: Server, _name: str, detail: object, version: str, request_id: str) -> Answer:
        reference = detail.get("imageRef") if isinstance(detail, dict) else None
        if not isinstance(reference, str) or not (reference == "" or UUID.fullmatch(reference.lower())):
            raise Refusal(400, f"Invalid input for field/attribute imageRef. Value: {reference}. "
                               f"'{reference}' is not a 'uuid'")
        if server.locked:
            raise Refusal(409, f"Instance {server.id} is locked")
        image = self.cloud.images.get(reference.lower())
        if image is None:
            raise Refusal(400, "Cannot find image for rebuild")
        if image.status != "active":
            raise Refusal(400, f"Image {image.id} is not active.")
        if image.min_disk > 1:
            raise Refusal(400, "Flavor's disk is too small for requested image.")
        self._check(server, "rebuild", REBUILDABLE)
        if server.volume_backed and number(version) < (2, 93):
            raise Refusal(400, "Unable to rebuild with a different image for a volume-backed server.")
        server.image = image.id  # already now, and also when the rebuild fails
        record = self._begin(server, "rebuild", request_id, "rebuilding")
        self.power.begin(self.power.rebuild(server, record, self.cloud.take_plan(server.name)))
        shown = self.view(server, version) | {"adminPass": "lab-" + uuid.uuid4().hex[:12]}
        self.cloud.secrets.add(shown["adminPass"])
        location = f"{self.keystone.base}/compute/v2.1/servers/{server.id}"
        return of_json({"server": shown}, 202, {"Location": location})

    def _reboot(self, server: Server, _name: str, detail: object, _version: str, request_id: str) -> Answer:
        kind = str(detail.get("type", "")).lower() if isinstance(detail, dict) else ""
        if kind not in ("soft", "hard"):
            raise Refusal(400, "Invalid input for field/attribute type.")
        if kind == "soft":
            self._check(server, "reboot", ("active",))
        else:
            self._check(server, "reboot", HARD_REBOOTABLE, free=not str(server.task_state).startswith("reboot"))
        task = "rebooting" if kind == "soft" else "rebooting_hard"
        record = self._begin(server, "reboot", request_id, task)
        self.power.begin(self.power.reboot(server, record, kind, self.cloud.take_plan(server.name)))
        return Answer(202)

    def _start(self, server: Server, _name: str, _detail: object, _version: str, request_id: str) -> Answer:
        self._check(server, "start", ("stopped",))
        record = self._begin(server, "start", request_id, "powering-on")
        self.power.begin(self.power.switch(server, record, True))
        return Answer(202)

    def _stop(self, server: Server, _name: str, _detail: object, _version: str, request_id: str) -> Answer:
        self._check(server, "stop", ("active", "error"))
        record = self._begin(server, "stop", request_id, "powering-off")
        self.power.begin(self.power.switch(server, record, False))
        return Answer(202)

    def _lock(self, server: Server, name: str, detail: object, version: str, request_id: str) -> Answer:
        server.locked = name == "lock"
        reason = detail.get("locked_reason") if isinstance(detail, dict) else None
        server.locked_reason = reason if server.locked and number(version) >= (2, 73) else None
        self._begin(server, name, request_id, server.task_state)
        return Answer(202)
