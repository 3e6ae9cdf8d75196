# SPDX-License-Identifier: GPL-2.0-or-later
"""What a true cloud is given before a test: accounts and endpoints, images, servers."""
from __future__ import annotations

import json
import secrets
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from openstack_api import Api, ApiError
from openstack_conf import ADMIN, REGION, SERVICE, Place

PROJECT = "slurm"
FLAVOR = "lab"
# The application credentials and what they may do; the same names as the lab cloud's.
ROLES = {"lab": ("member", "reader"), "lab-member": ("member",), "lab-reader": ("reader",),
         "lab-rules": ("member", "reader")}  # fmt: skip
RULES = [{"service": service, "method": method, "path": path} for service, method, path in (
    ("compute", "GET", "/v2.1/servers"), ("compute", "GET", "/v2.1/servers/**"),
    ("compute", "POST", "/v2.1/servers/*/action"), ("image", "GET", "/v2/images"))]  # fmt: skip
ACTIVE_LIMIT = 180.0


def urls(place: Place) -> dict[str, str]:
    return {"keystone": place.url("keystone") + "/v3", "glance": place.url("glance") + "/v2",
            "nova": place.url("nova") + "/v2.1"}  # fmt: skip


def admin(place: Place) -> Api:
    return Api(urls(place)).sign_in("admin", ADMIN, "admin")


def owner(place: Place) -> Api:
    return Api(urls(place)).sign_in(PROJECT, passwords(place)[PROJECT], PROJECT)


def passwords(place: Place) -> dict[str, str]:
    return json.loads((place.folder / "passwords.json").read_text())


def seed_keystone(place: Place) -> None:
    """Accounts, endpoints and credentials; leaves clouds.json and passwords.json in the folder."""
    api = admin(place)
    roles = {r["name"]: r["id"] for r in api.call("GET", "keystone", "/roles")["roles"]}
    projects = {name: api.make("projects", "project", name=name, domain_id="default")["id"]
                for name in ("service", PROJECT)}  # fmt: skip
    words = {"service": SERVICE, PROJECT: "password-" + secrets.token_hex(16)}
    for user, word in words.items():
        user_id = api.make("users", "user", name=user, domain_id="default", password=word)["id"]
        for role in ("admin", "service") if user == "service" else ("member", "reader"):
            if role in roles:
                path = f"/projects/{projects[user]}/users/{user_id}/roles/{roles[role]}"
                api.call("PUT", "keystone", path)
    for kind, name, path in (("image", "glance", ""), ("placement", "placement", ""),
                             ("compute", "nova", "/v2.1"), ("network", "neutron", "")):  # fmt: skip
        service = api.make("services", "service", type=kind, name=name)["id"]
        for interface in ("public", "internal", "admin"):
            api.make("endpoints", "endpoint", service_id=service, interface=interface,
                     url=place.url(name) + path, region_id=REGION)  # fmt: skip
    (place.folder / "passwords.json").write_text(json.dumps(words))
    (place.folder / "clouds.json").write_text(json.dumps(_credentials(place)))


def _credentials(place: Place) -> dict[str, dict]:
    """Name of the cloud -> its auth section."""
    word = passwords(place)[PROJECT]
    api = owner(place)
    made = {}
    for name, roles in ROLES.items():
        values = {"name": name, "secret": "secret-" + secrets.token_hex(16),
                  "roles": [{"name": role} for role in roles]}  # fmt: skip
        if name == "lab-rules":
            values["access_rules"] = RULES
        credential = api.make(f"users/{api.user}/application_credentials", "application_credential", **values)
        made[name] = {"auth_url": place.url("keystone"),
                      "application_credential_id": credential["id"],
                      "application_credential_secret": values["secret"]}  # fmt: skip
    made["lab-password"] = {"auth_url": place.url("keystone") + "/v3", "username": PROJECT, "password": word,
                            "project_name": PROJECT, "user_domain_name": "Default",
                            "project_domain_name": "Default"}  # fmt: skip
    return made


def clouds_yaml(place: Place, names: list[str] | None = None) -> str:
    """clouds.yaml with the clouds NAMES (all of them)."""
    text = "clouds:\n"
    for name, auth in json.loads((place.folder / "clouds.json").read_text()).items():
        if names and name not in names:
            continue
        text += f"  {name}:\n    region_name: {REGION}\n    interface: public\n"
        if "username" not in auth:
            text += "    auth_type: v3applicationcredential\n"
        text += "    auth:\n" + "".join(f"      {key}: {value}\n" for key, value in auth.items())
    return text


def write_private(path: Path, text: str) -> Path:
    path.touch(0o600)
    path.write_text(text)
    return path


def add_image(api: Api, image_id: str, name: str, properties: dict) -> None:
    api.call("POST", "glance", "/images", {
        "id": image_id, "name": name, "visibility": "public", "disk_format": "raw",
        "container_format": "bare"} | properties)  # fmt: skip
    api.call("PUT", "glance", f"/images/{image_id}/file", name.encode().ljust(1024, b"."),
             content="application/octet-stream")


def add_bad_images(api: Api) -> dict[str, str]:
    """Images that nova takes for no rebuild of the lab's project: what is wrong -> id."""
    bad = {"deactivated": {}, "too big": {"min_disk": 500}, "another project's": {"visibility": "private"}}
    ids = {kind: str(uuid.uuid4()) for kind in bad}
    for kind, values in bad.items():
        add_image(api, ids[kind], f"bad: {kind}", values)
    api.call("POST", "glance", f"/images/{ids['deactivated']}/actions/deactivate")
    return ids


def add_flavor(api: Api) -> None:
    api.call("POST", "nova", "/flavors", {"flavor": {
        "id": FLAVOR, "name": FLAVOR, "ram": 256, "disk": 1, "vcpus": 1}})


def add_servers(place: Place, names: list[str], image_id: str, many: int = 0) -> dict[str, str]:
    """Boots one server per name, and MANY named x-1, x-2 ...; waits until all are ACTIVE; name -> id."""
    api = owner(place)
    _wait_for_host(place)

    def boot(name: str, **more) -> None:
        body = {"name": name, "imageRef": image_id, "flavorRef": FLAVOR, "networks": "none", **more}
        api.call("POST", "nova", "/servers", {"server": body}, version="2.37")

    if many:
        boot("x", min_count=many, max_count=many)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(boot, names))
    end = time.monotonic() + ACTIVE_LIMIT
    while api.call("GET", "nova", "/servers?status=BUILD")["servers"] and time.monotonic() < end:
        time.sleep(1)  # each look costs nova as much as a build
    listed = all_servers(api)
    broken = [f"{s['name']} {s['status']} {s.get('fault')}" for s in listed if s["status"] != "ACTIVE"]
    if broken or len(listed) < len(names) + many:
        raise RuntimeError(f"{len(listed)} servers, not ACTIVE: {broken}")
    return {s["name"]: s["id"] for s in listed}


def all_servers(api: Api) -> list[dict]:
    """Page by page: nova.conf keeps them short."""
    found: list[dict] = []
    while True:
        after = f"?marker={found[-1]['id']}" if found else ""
        page = api.call("GET", "nova", f"/servers/detail{after}")
        found += page["servers"]
        if not page.get("servers_links"):
            return found


def _wait_for_host(place: Place) -> None:
    """Until nova's compute host is up and mapped to its cell: a server before that has no host."""
    api = admin(place)
    end = time.monotonic() + ACTIVE_LIMIT
    while time.monotonic() < end:
        try:
            if api.call("GET", "nova", "/os-hypervisors")["hypervisors"]:
                return
        except ApiError:
            pass
        time.sleep(0.3)
    raise RuntimeError("nova has no compute host")
