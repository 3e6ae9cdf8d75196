# SPDX-License-Identifier: GPL-2.0-or-later
"""Looks for the cloud's secrets in everything that a lab wrote: logs, journals, job output, configuration.

Searched for are the values themselves (secrets, passwords, the tokens and adminPass values that were
given out) and, in what our programs wrote, the words and forms that would betray others.
"""
from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Iterator

from machines import CONTROLLER, LOGS, Machine
from namespace import LAB

if TYPE_CHECKING:
    from lab import Lab

TOKEN_CACHE = "token"  # CacheToken=yes: 0600, and meant to hold one
# fernet tokens, and names of fields that only an answer's or a request's text has
FORMS = re.compile(rb"gAAAAA[\w-]{40,}|adminPass|X-Auth-Token|X-Subject-Token", re.I)
WORDS = re.compile(rb"[\w-]{12,}")
THOROUGH = 50  # so many secrets are searched for within longer words as well
OTHERS = ("openstack/", "cloud.log", "mariadb.log")  # what the services themselves write


def files(lab: Lab) -> Iterator[tuple[str, Path]]:
    """Everything that was written: (name to show, file)."""
    places = [("log", LOGS), ("shared", LAB / "shared"), ("etc-slurm", LAB / "etc-slurm")]
    for machine in [Machine(CONTROLLER), *lab.machines.values()]:
        disk = machine.disk()
        places += [(machine.name, disk / "upper" / "var")] if disk else []
    for place, folder in places:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.is_symlink() and path.name != TOKEN_CACHE:
                yield f"{place}/{path.relative_to(folder)}", path


def find(lab: Lab) -> list[str]:
    """One line per leak; the value is not shown."""
    cloud = lab.true_cloud or lab.cloud
    try:
        secrets = sorted(word.encode() for word in cloud.secrets()) if cloud else []
    except OSError:  # a test ended the cloud
        secrets = []
    whole, within, found = set(secrets), secrets[::max(1, len(secrets) // THOROUGH)], []
    for name, path in files(lab):
        try:
            data = path.read_bytes()
        except OSError:
            continue
        seen = {word for word in within if word in data} | (whole & set(WORDS.findall(data)))
        found += [f"{name}: a secret that begins {word[:4]!r}" for word in seen]
        ours = not any(name.startswith(f"log/{other}") for other in OTHERS)
        form = FORMS.search(data) if ours else None
        found += [f"{name}: {form[0][:12]!r}"] if form else []
    return found
