#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Looks for the cloud's secrets in everything that was written: logs, journals, outputs, configuration.

find() does so at the end of each lab, with the values themselves (secrets, passwords, the tokens and
adminPass values that were given out). As a program it looks at what is left when everything is over,
the outputs of tests and of the demo, where only forms can be known; all secrets of the lab's clouds,
the true one included, have a form (tests/cloud/leaks_test):

    leaks.py PATH...    files, or folders: their logs and outputs, in folders *-logs everything
"""
from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Iterable, Iterator

from machines import CONTROLLER, LOGS, Machine
from namespace import LAB

if TYPE_CHECKING:
    from lab import Lab

TOKEN_CACHE = "token"  # CacheToken=yes: 0600, and meant to hold one
# Tokens, secrets and passwords, the lab cloud's adminPass values.
VALUES = re.compile(rb"gAAAAA[\w-]{40,}|\b(?:secret|password)-[0-9a-f]{32}|\blab-[0-9a-f]{12}\b")
# Names of fields that only an answer's or a request's text has.
FIELDS = re.compile(rb"adminPass|X-Auth-Token|X-Subject-Token", re.I)
WORDS = re.compile(rb"[\w-]{12,}")
THOROUGH = 50  # so many secrets are searched for within longer words as well
THEIRS = r"(^|/)(openstack/|cloud\.log$|mariadb\.log$)"  # what the services themselves write
OUTPUTS = {".log", ".out", ".trs", ".xml", ".packages"}
SKIPPED = re.compile(r"slurm-cohort-.*|root-.*|stage|lab-cache")  # sources, other systems' files


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
        found += forms(name, data)
    return found


def forms(name: str, data: bytes) -> list[str]:
    """What DATA shows of a secret that nobody has told us; NAME as it is shown to people."""
    patterns = [VALUES] + ([] if re.search(THEIRS, name) else [FIELDS])
    return [f"{name}: {form[0][:12]!r}" for form in (p.search(data) for p in patterns) if form]


def left_files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for file in sorted(path.rglob("*")):
            above = file.relative_to(path.parent).parts[:-1]
            if file.is_symlink() or not file.is_file() or any(SKIPPED.fullmatch(part) for part in above):
                continue
            if file.suffix in OUTPUTS or any(part.endswith("-logs") for part in above):
                yield file


def main(words: list[str]) -> int:
    """Says what it found; the last line is counted by ./check."""
    found, count, size = [], 0, 0
    for path in left_files(map(Path, words)):
        data = path.read_bytes()
        count, size = count + 1, size + len(data)
        found += forms(str(path), data)
    for line in found:
        print(f"a secret in {line}")
    print(f"No secret may be in a log: {count} files, {size / 1e6:.1f} MB, {len(found)} found")
    bad = bool(found) or not count
    print(f"{int(not bad)} passed, {int(bad)} failed, 0 skipped")
    return int(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
