# SPDX-License-Identifier: GPL-2.0-or-later
"""A sealed task profile written by a second, independent implementation of its format."""
from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Mapping

ORDER = ["schema", "settings", "env-ref", "mode", "image", "env-path", "path", "vars"]
KEYS = ["worker_image", "flox_env", "flox_generation", "activate_mode", "skip_containers", "profile_schema",
        "env_exports", "path_precedence", "worker_cpus", "worker_mem_mb", "home_path"]  # fmt: skip
IMAGE = "registry.example/slurmd:26.05@sha256:" + "ab" * 32
ENV_PATH = "/flox/env"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def canonical(settings: Mapping[str, str]) -> str:
    lines = [f"{key}={len(settings[key].encode())}:{settings[key]}\n" for key in KEYS if key in settings]
    return "flox-runtime-revision/1\n" + "".join(lines)


def files(precedence: str = "prepend", variables: Mapping[str, str] | None = None,
          path: list[str] | None = None) -> dict[str, str]:  # fmt: skip
    """The nine files of a profile of flox/echoip:2, by name."""
    variables = variables if variables is not None else {"TOOL_HOME": "/opt/tool = é"}
    settings = {"worker_image": IMAGE, "flox_env": "flox/echoip", "flox_generation": "2",
                "activate_mode": "run", "profile_schema": "1",
                "env_exports": ",".join(sorted(variables)), "path_precedence": precedence}  # fmt: skip
    made = {
        "schema": "1\n",
        "settings": canonical(settings),
        "env-ref": "flox/echoip:2\n",
        "mode": "run\n",
        "image": IMAGE + "\n",
        "env-path": ENV_PATH + "\n",
        "path": "".join(f"{entry}\n" for entry in path or [f"{ENV_PATH}/bin", f"{ENV_PATH}/sbin"]),
        "vars": "".join(f"{name}={variables[name]}\n" for name in sorted(variables)),
    }
    return made | {"revision": seal(made)}


def seal(made: Mapping[str, str]) -> str:
    lines = [f"{digest(made[n])} {len(made[n].encode())} {n}\n" for n in ORDER]
    return digest(made["settings"]) + "\n" + "".join(lines) + f"end {len(ORDER)}\n"


def revision(made: Mapping[str, str]) -> str:
    return "rev_" + digest(made["settings"])[:16]


def write(folder: Path, made: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    for name, text in made.items():
        path = folder / name
        path.unlink(missing_ok=True)
        path.write_bytes(text.encode())
        path.chmod(0o444)
