# SPDX-License-Identifier: GPL-2.0-or-later
"""A lab with spank_cohort.so: its nodes have a sealed profile that was published."""
from __future__ import annotations

import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import sealed
from lab import LAB, Lab
from machines import wait_until

FLOX = [f"{sealed.ENV_PATH}/bin", f"{sealed.ENV_PATH}/sbin"]
BASE = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin".split(":")
PROFILE = "/run/flox-task-profile"
STAGED = LAB / "shared" / "profile"

_PUT = f"""rm -rf {PROFILE}; mkdir -p {PROFILE} /run/cohort {sealed.ENV_PATH}/bin
chmod 755 {PROFILE}; cp /shared/profile/* {PROFILE}/; chmod 444 {PROFILE}/*; chown -R 0:0 {PROFILE}
printf '#!/bin/sh\\necho from the profile\\n' >{sealed.ENV_PATH}/bin/probe-tool
chmod 755 {sealed.ENV_PATH}/bin/probe-tool
rm -f /run/cohort/refused /run/cohort/published
printf '{{"revision":"%s","request":"","boot_id":"%s"}}\\n' "$1" \\
    "$(cat /proc/sys/kernel/random/boot_id)" >/run/cohort/published
"""


def version() -> tuple[int, int]:
    """Of the Slurm that the machines run, known before a lab is there."""
    header = Path(os.environ.get("COHORT_ROOT", "/"), "usr/include/slurm/slurm_version.h")
    found = re.search(r"SLURM_VERSION_NUMBER (0x\w+)", header.read_text()) if header.exists() else None
    number = int(found[1], 16) if found else 0
    return number >> 16, number >> 8 & 0xFF


def plugstack(line: str = "required spank_cohort.so") -> None:
    """Read by every step, srun and sbatch anew; by slurmd only when it starts."""
    folder = LAB / "etc-slurm"
    folder.mkdir(parents=True, exist_ok=True)
    new = folder / "plugstack.conf.new"
    new.write_text(line + "\n")
    new.rename(folder / "plugstack.conf")


def before_slurmd(script: str = "cohort-node profile write") -> None:
    """What a site's own unit does at boot, before slurmd."""
    path = LAB / "shared" / "before-slurmd"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/bash\n{script}\n")
    path.chmod(0o755)


def start(factory, **options) -> Lab:
    factory.stop()
    plugstack()
    before_slurmd()
    conf = {"PlugStackConfig": "/etc/slurm/plugstack.conf", **options.pop("conf", {})}
    lab = factory(conf=conf, **options)
    wait_joined(lab)
    prepare(lab, sealed.files())
    return lab


def wait_joined(lab: Lab) -> None:
    """join publishes at boot: it must not come after what prepare() publishes."""
    for node in lab.nodes:
        wait_until(lambda: on(lab, node, "ls /run/cohort 2>/dev/null || :").count("published"), 30,
                   f"{node} has joined", 0.1)  # fmt: skip


def prepare(lab: Lab, files: dict[str, str], nodes: list[str] | None = None) -> None:
    """Seals and publishes FILES on the nodes."""
    sealed.write(STAGED, files)
    for node in nodes or lab.nodes:
        lab.machines[node].run(["sh", "-c", _PUT, "put", sealed.revision(files)])


def on(lab: Lab, node: str, script: str) -> str:
    return lab.machines[node].run(["sh", "-c", script]).stdout


def refused(lab: Lab, node: str) -> str:
    return on(lab, node, "cat /run/cohort/refused 2>/dev/null || :").strip()


def in_parallel(calls: list, at_once: int = 6) -> list:
    with ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(lambda call: call(), calls))


def environment(text: str) -> dict[str, str]:
    """Output of env(1)."""
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line)
    return {name: value for name, value in pairs}


def events(lab: Lab, job: str) -> str:
    return json.dumps({k: v for k, v in lab.job(job).items() if k in ("JobState", "Reason", "Restarts")})
