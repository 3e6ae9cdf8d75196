# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab's cloud, or a true one: starts it and writes what a site configures for it on the controller."""
from __future__ import annotations

import json
import subprocess
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Mapping

from cloud_client import Control
from images import Image
from machines import HERE, LOGS, wait_until
from namespace import LAB
from slurmconf import CONTROLLER_ADDRESS, write

if TYPE_CHECKING:
    from openstack_cloud import TrueCloud

URL = f"http://{CONTROLLER_ADDRESS}:5000"
OPENSTACK = LAB / "openstack"  # /etc/openstack of the controller
DESIRED = LAB / "etc-slurm" / "reboot_vars"
_NAMES = uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")


def server_id(node: str) -> str:
    return str(uuid.uuid5(_NAMES, f"{node}.lab"))


def described(images: list[Image]) -> list[dict]:
    return [{"id": i.id, "name": i.name, "properties": {"cohort_stamp": i.stamp} if i.stamp else {}}
            for i in images]


def start_true(nodes: list[str], more: list[str], images: list[Image], first: Image,
               knobs: Mapping[str, object], cache: Path) -> TrueCloud:
    """The true services with a server for each of NODES, which are powered, and of MORE."""
    from openstack_cloud import TrueCloud
    from openstack_seed import clouds_yaml, write_private

    folder = LAB / "cloud"
    folder.mkdir()
    (LOGS / "openstack").mkdir()
    (folder / "log").symlink_to(LOGS / "openstack")
    cloud = TrueCloud(folder, CONTROLLER_ADDRESS)
    try:
        cloud.start(described(images), cache)
        grouped = [name for name in more if name.startswith("x-")]  # one request for all of them
        cloud.add_servers([*nodes, *(set(more) - set(grouped))], first.id, len(grouped))
    except BaseException:
        cloud.stop()
        raise
    cloud.use_hook(HERE / "power", nodes)
    cloud.set(**knobs)
    OPENSTACK.mkdir(exist_ok=True)
    write_private(OPENSTACK / "clouds.yaml", clouds_yaml(cloud.place, ["lab"]))
    return cloud


def start(nodes: list[str], more: list[str], images: list[Image], first: Image,
          knobs: Mapping[str, object]):
    """The process and its control interface; the cloud serves when this returns."""
    servers = [{"id": server_id(n), "name": n, "image": first.id, "machine": n in nodes}
               for n in [*nodes, *more]]
    OPENSTACK.mkdir(exist_ok=True)
    state = LAB / "cloud"
    state.mkdir()
    write(state, "servers.json", json.dumps(servers))
    write(state, "images.json", json.dumps(described(images)))
    with open(LOGS / "cloud.log", "ab") as log:
        process = subprocess.Popen(
            [sys.executable, HERE / "cloud", "--listen", f"{CONTROLLER_ADDRESS}:5000",
             "--servers", state / "servers.json", "--images", state / "images.json",
             "--hook", HERE / "power", "--clouds-yaml", OPENSTACK / "clouds.yaml",
             "--more-clouds", OPENSTACK / "more-clouds.yaml"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip
    wait_until(lambda: URL in (LOGS / "cloud.log").read_text(), 15, "the lab cloud serves")
    control = Control(URL)
    if knobs:
        control.set(**knobs)
    return process, control


def set_desired(node: str, server: str, image: Image) -> Path:
    """What OpenTofu exports for the node, replaced at once as a careful site does."""
    text = f"instance_id: {server}\nimage_id: {image.id}\n"
    DESIRED.mkdir(exist_ok=True)
    write(DESIRED, f".{node}.new", text).rename(DESIRED / f"{node}.yml")
    return DESIRED / f"{node}.yml"
