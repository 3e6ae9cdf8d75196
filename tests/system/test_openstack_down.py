# SPDX-License-Identifier: GPL-2.0-or-later
"""The true services when a part of them is gone: keystone, glance, the database, a compute host. What
the client makes of it, what nova did to the server, and what a rebuild job makes of it."""
from __future__ import annotations

import json
import subprocess
import time

import pytest

from conftest import ROOT
from machines import wait_until
from openstack_seed import clouds_yaml, write_private
from openstack_services import missing_packages
from test_openstack import STATE, cloudcall

RESUME = 60
SERVERS = ["d1", "d2", "d3"]  # nodes of slurm.conf without a machine
UNREACHABLE, UNSURE = 3, 9  # cloudcall's exit codes


@pytest.fixture(scope="module")
def cluster(module_lab):
    missing = missing_packages()
    if missing:
        pytest.skip(f"not installed, and ./check could not install them: {' '.join(missing)}")
    if ROOT != "/":
        pytest.skip("cloudcall was built for another system; ./check without --slurm runs this")
    return module_lab(
        nodes=1, openstack=True, cloud={"rebuild_delay": 1}, more_servers=SERVERS,
        conf={"NodeName": "d[1-3] NodeAddr=10.77.0.1 CPUs=1 RealMemory=1 State=DOWN", "ResumeTimeout": RESUME},
        cohort_conf={"StateDir": STATE, "MaxConcurrent": 4, "CacheToken": "yes"})  # fmt: skip


@pytest.fixture
def services(cluster):
    yield cluster.true_cloud.services


@pytest.fixture
def call(cluster, tmp_path):
    """cloudcall with a token of its own, or with the one that CACHE keeps."""
    clouds = write_private(tmp_path / "clouds.yaml", clouds_yaml(cluster.true_cloud.place, ["lab"]))

    def run(*words: str, cache: str = "", seconds: int = 10, timeout_ms: int = 8000) -> tuple[int, dict]:
        command = [cloudcall(), "--clouds", clouds, "--seconds", str(seconds), "--timeout-ms", str(timeout_ms)]
        command += ["--cache", str(tmp_path / cache)] if cache else []
        done = subprocess.run([*command, *words], capture_output=True, text=True, timeout=300)
        return done.returncode, json.loads(done.stdout)

    return run


def untouched(cluster, name: str, image: str) -> bool:
    shown = cluster.true_cloud.server(name)
    return (shown["status"], shown["image"]["id"], shown["OS-EXT-STS:task_state"]) == ("ACTIVE", image, None)


def rebuilds(call, server: str) -> int:
    """0 or 1: whether nova has a record of a rebuild in the last ten minutes."""
    return int(call("latest", server, "rebuild", "600")[1]["found"])


def test_keystone_is_down(cluster, services, call):
    server = cluster.true_cloud.servers["d1"]
    assert call("image", "v1", cache="token")[0] == 0  # a token that nova has not seen
    services.end("keystone")
    try:
        code, told = call("probe")
        assert code == UNREACHABLE and "keystone" in told["message"], told
        # nova cannot ask whether the token is good: 503, in HTML.
        code, told = call("server", server, cache="token", seconds=60, timeout_ms=60000)
        assert code == UNREACHABLE and "503" in told["message"] and "<" not in told["message"], told
        code, told = call("rebuild", server, cluster.image("v2").id, cache="token", seconds=60, timeout_ms=60000)
        assert code in (UNREACHABLE, UNSURE), told
    finally:
        services.begin("keystone")
    assert call("server", server, cache="token")[0] == 0
    assert untouched(cluster, "d1", cluster.image("v1").id)


def test_glance_is_down(cluster, services, call):
    """nova answers a rebuild with 500 after some seconds and leaves the server alone; a job waits."""
    server, old, new = cluster.true_cloud.servers["d1"], cluster.image("v1").id, cluster.image("v2").id
    services.end("glance")
    try:
        code, told = call("image", new, seconds=3)
        assert code == UNREACHABLE and "glance" in told["message"], told
        code, told = call("rebuild", server, new, timeout_ms=60000, seconds=60)
        assert code == UNSURE and "it answered 500" in told["message"], told
        assert untouched(cluster, "d1", old) and not rebuilds(call, server)
        cluster.set_desired("n1", "v2")
        job = cluster.out("sbatch", "--parsable", "--reboot", "-w", "n1", "--wrap", "cohort-node verify")
        wait_until(lambda: "glance" in cluster.run("scohort", "status", check=False).stderr, 30,
                   "the breaker says what is out of reach", 0.5)  # fmt: skip
        assert len(cluster.boots("n1")) == 1
    finally:
        services.begin("glance")
    assert cluster.wait_job(job, "COMPLETED", "FAILED", seconds=150) == "COMPLETED"
    assert cluster.boots("n1")[-1]["content"] == "v2"


def test_the_database_stands_still(cluster, services, call):
    """No answer at all: each call ends in its time, and a POST that nova takes later is not repeated."""
    server, new = cluster.true_cloud.servers["d2"], cluster.image("v2").id
    assert call("server", server, cache="token")[0] == 0
    services.freeze("mariadb")
    try:
        begin = time.monotonic()
        code, told = call("server", server, cache="token", seconds=4, timeout_ms=2000)
        assert code == UNREACHABLE and "no answer within" in told["message"], told
        code, told = call("rebuild", server, new, cache="token", seconds=4, timeout_ms=2000)
        assert code == UNSURE and "nova may have taken it" in told["message"], told
        assert time.monotonic() - begin < 60
    finally:
        services.freeze("mariadb", False)
    wait_until(lambda: call("server", server)[0] == 0, 60, "it answers again", 0.5)
    wait_until(lambda: not cluster.true_cloud.server("d2")["OS-EXT-STS:task_state"], 60, "settled", 0.5)
    actions = cluster.true_cloud.admin.call("GET", "nova", f"/servers/{server}/os-instance-actions")
    assert sum(a["action"] == "rebuild" for a in actions["instanceActions"]) <= 1, "never a second POST"


def test_the_compute_host_is_dead(cluster, services, call):
    """A rebuild is taken and never ends; nova answers 409 from then on; a node's attempt is unsure."""
    server, new = cluster.true_cloud.servers["d3"], cluster.image("v2").id
    services.end("nova")
    services.begin("nova", compute=False)
    cluster.set_desired("d3", "v2")
    done = cluster.controller.run(["cohort-reboot", "--foreground", "d3"], user="slurm", check=False,
                                  timeout=3 * RESUME)  # fmt: skip
    assert done.returncode == 1, done.stderr[-2000:]
    assert "may still be under way" in cluster.node("d3")["Reason"], cluster.node("d3")
    code, told = call("latest", server, "rebuild", "600")
    assert code == 0 and told["found"] and not told["finished"], told
    code, told = call("rebuild", server, new)
    assert told.get("error") == "busy" and "409" in told["message"], told
    assert call("server", server)[1]["image_id"] == new, "already the new one, and nothing was built"
