# SPDX-License-Identifier: GPL-2.0-or-later
"""A true cloud from a test's side: images and servers in it, and an administrator's hand on them."""
from __future__ import annotations

import json
import sys
from pathlib import Path

import openstack_conf as conf
import openstack_seed as seed
from openstack_api import Api
from openstack_services import Services


class TrueCloud:
    """The part of the lab cloud's control interface (cloud_client.Control) that a true one can give."""

    def __init__(self, folder: Path, address: str) -> None:
        self.services = Services(folder, address)
        self.place = self.services.place
        self.driver = folder / "driver"
        self.servers: dict[str, str] = {}  # name -> id
        self._admin: Api | None = None

    def start(self, images: list[dict], cache: Path | None = None) -> "TrueCloud":
        """IMAGES: [{"id", "name", "properties"}]."""
        self.services.start(cache)
        for image in images:
            seed.add_image(self.admin, image["id"], image["name"], image["properties"])
        seed.add_flavor(self.admin)
        return self

    def stop(self) -> None:
        self.services.stop()

    def add_servers(self, names: list[str], image_id: str, many: int = 0) -> None:
        self.servers |= seed.add_servers(self.place, names, image_id, many)
        (self.place.folder / "servers.json").write_text(json.dumps(self.servers))

    def use_hook(self, hook: Path, names: list[str]) -> None:
        """From now on HOOK powers the machines of the servers NAMES."""
        (self.driver / "hooked").write_text("\n".join(names))
        (self.driver / "hook").symlink_to(hook)

    @property
    def admin(self) -> Api:
        if not self._admin:
            self._admin = seed.admin(self.place)
        return self._admin

    # -- what a test plans ----------------------------------------------------------------------
    def set(self, rebuild_delay: float) -> None:
        (self.driver / "delay").write_text(str(rebuild_delay))

    def next(self, server: str, outcome: str = "error",
             fault: str = "No valid host was found.") -> None:  # fmt: skip
        """Until outcome="ok" each rebuild of SERVER fails."""
        planned = self.driver / "fail" / server
        planned.unlink(missing_ok=True)
        if outcome == "error":
            planned.write_text(fault)

    def act(self, server: str, action: str, detail: object = None) -> None:
        """An administrator's action on a server: os-stop, lock, unlock, os-resetState ..."""
        self.admin.call("POST", "nova", f"/servers/{self.servers[server]}/action", {action: detail})

    def publish(self, bases: dict[str, str]) -> None:
        """Lets the catalog's public endpoints lead elsewhere: service type -> URL."""
        kinds = {s["id"]: s["type"] for s in self.admin.call("GET", "keystone", "/services")["services"]}
        for endpoint in self.admin.call("GET", "keystone", "/endpoints?interface=public")["endpoints"]:
            url = bases.get(kinds[endpoint["service_id"]])
            if url:
                self.admin.call("PATCH", "keystone", f"/endpoints/{endpoint['id']}", {"endpoint": {"url": url}})

    # -- what nova says -------------------------------------------------------------------------
    def server(self, name: str) -> dict:
        path = f"/servers/{self.servers[name]}"
        return self.admin.call("GET", "nova", path, version="2.73")["server"]

    def events(self) -> list[tuple[float, str, str, str]]:
        """The driver's own record: (time, begin|end, event, server)."""
        path = self.driver / "events"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(float(t), moment, event, name) for t, moment, event, name in map(str.split, lines)]

    def secrets(self) -> list[str]:
        """What must be in no log."""
        told = json.loads((self.place.folder / "clouds.json").read_text())
        words = [auth[key] for auth in told.values()
                 for key in ("application_credential_secret", "password") if key in auth]  # fmt: skip
        return [*words, conf.ADMIN, conf.SERVICE]


def main() -> int:
    """openstack_cloud.py FOLDER ADDRESS fail|heal|stop|lock|unlock|pause|suspend|... SERVER: an administrator's hand."""
    folder, address, verb, name = sys.argv[1:5]
    cloud = TrueCloud(Path(folder), address)
    cloud.servers = json.loads((Path(folder) / "servers.json").read_text())
    if verb in ("fail", "heal"):
        cloud.next(name, "error" if verb == "fail" else "ok")
    else:
        cloud.act(name, {"stop": "os-stop"}.get(verb, verb))
    return 0


if __name__ == "__main__":
    sys.exit(main())
