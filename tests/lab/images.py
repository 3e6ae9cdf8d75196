# SPDX-License-Identifier: GPL-2.0-or-later
"""Images: root content under a UUID, the topmost layer of a node that was built from it.

An image holds what a test can tell apart from inside a node: /etc/os-release with the stamp
(IMAGE_ID, IMAGE_VERSION; none with stamp=False) and /etc/lab-content with its name, which is there
in any case. Machine ids are not part of an image: a disk gets its own at its first boot.
"""
from __future__ import annotations

import json
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

from namespace import LAB

IMAGES = LAB / "images"
_NAMES = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")


@dataclass
class Image:
    name: str
    id: str
    stamp: str  # "" for an image that says nothing of itself


def create(name: str, base: Path, stamp: bool = True) -> Image:
    """Registers image NAME, its os-release on top of BASE's."""
    image = Image(name, str(uuid.uuid5(_NAMES, f"lab.{name}")), f"lab/{name}" if stamp else "")
    etc = IMAGES / image.id / "root" / "etc"
    etc.mkdir(parents=True)
    release = (base / "usr/lib/os-release").read_text()
    lines = [
        line
        for line in release.splitlines()
        if not line.startswith(("IMAGE_ID=", "IMAGE_VERSION=", "BUILD_ID="))
    ]
    if stamp:
        lines += ["IMAGE_ID=lab", f"IMAGE_VERSION={name}"]
    (etc / "os-release").write_text("\n".join(lines) + "\n")
    (etc / "lab-content").write_text(name + "\n")
    (etc / "machine-id").write_text("")
    (IMAGES / image.id / "image.json").write_text(json.dumps(asdict(image)))
    return image


def by_id(image_id: str) -> Image:
    path = IMAGES / image_id / "image.json"
    if not path.exists():
        raise KeyError(f"no image {image_id}; there are {[i.id for i in all_images()]}")
    return Image(**json.loads(path.read_text()))


def all_images() -> list[Image]:
    return [Image(**json.loads(p.read_text())) for p in sorted(IMAGES.glob("*/image.json"))]


def by_name(name: str) -> Image:
    for image in all_images():
        if image.name == name:
            return image
    raise KeyError(f"no image named {name}; there are {[i.name for i in all_images()]}")
