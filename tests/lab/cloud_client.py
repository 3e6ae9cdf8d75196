# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab cloud from a test's side: starts it, plans what goes wrong, reads what happened.

    with LabCloud(servers=[...], images=[...]) as cloud:
        cloud.next("n1", outcome="error", fault="No valid host was found.")
        cloud.fault(method="POST", path="/action$", status=503, headers={"Retry-After": "1"})
        ... use cloud.clouds_yaml ...
        assert cloud.counters()["post_rebuild"] == 1
"""
from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent / "cloud"


class Control:
    """The interface under /lab of a cloud that runs at URL."""

    def __init__(self, url: str) -> None:
        self.url = url

    def _call(self, method: str, verb: str, body: dict | None = None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/lab/{verb}", data=data, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=20) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            raise ValueError(f"/lab/{verb}: {error.read().decode()}") from None

    def state(self) -> dict:
        return self._call("GET", "state")

    def server(self, name: str) -> dict:
        return self.state()["servers"][name]

    def counters(self) -> dict:
        return self._call("GET", "counters")

    def secrets(self) -> list[str]:
        return self._call("GET", "secrets")

    def log(self) -> list[dict]:
        return self._call("GET", "log")

    def reset(self) -> None:
        self._call("POST", "reset", {})

    def set(self, **knobs) -> None:
        self._call("POST", "set", knobs)

    def next(self, server: str, **plan) -> None:
        self._call("POST", "next", {"server": server, **plan})

    def fault(self, **fault) -> None:
        self._call("POST", "fault", fault)

    def change_server(self, server: str, **values) -> None:
        self._call("POST", "server", {"server": server, **values})

    def change_image(self, image_id: str, **values) -> None:
        self._call("POST", "image", {"id": image_id, **values})

    def revoke(self, credential: str = "*", revoked: bool = True) -> None:
        self._call("POST", "credential", {"id": credential, "revoked": revoked})

    def mend(self, credential: str = "*") -> None:
        self.revoke(credential, False)

    def end_tokens(self) -> None:
        self._call("POST", "tokens", {})

    def catalog(self, **values) -> None:
        self._call("POST", "catalog", values)


class LabCloud(Control):
    """One lab cloud as a child process, with a folder of its own for its clouds.yaml files."""

    def __init__(self, servers: list[dict], images: list[dict], hook: str | None = None,
                 base: str | None = None, listen: str = "127.0.0.1:0",
                 log: str | None = None) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="labcloud.")
        folder = Path(self._folder.name)
        (folder / "servers.json").write_text(json.dumps(servers))
        (folder / "images.json").write_text(json.dumps(images))
        self.clouds_yaml = folder / "clouds.yaml"
        self.more_clouds = folder / "more-clouds.yaml"
        command = [sys.executable, str(PROGRAM), "--listen", listen,
                   "--servers", str(folder / "servers.json"), "--images", str(folder / "images.json"),
                   "--clouds-yaml", str(self.clouds_yaml), "--more-clouds", str(self.more_clouds)]
        command += ["--hook", hook] if hook else []
        command += ["--base", base] if base else []
        with open(log or "/dev/null", "ab") as errors:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("lab cloud: "):
            raise RuntimeError("the lab cloud did not start")
        super().__init__(line.split()[-1])

    def __enter__(self) -> "LabCloud":
        return self

    def __exit__(self, *_) -> None:
        self.stop()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(10)
        self.process.stdout.close()
        self._folder.cleanup()
