# SPDX-License-Identifier: GPL-2.0-or-later
"""The true keystone, glance, placement and nova: the client's contract on them, and nodes that a real
nova rebuilds. Skipped only where Debian's packages of the services are not installed."""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, STAGE
from machines import wait_until
from openstack_seed import clouds_yaml, write_private
from openstack_services import PYTHON, missing_packages

SOURCE = Path(__file__).resolve().parents[2]
LAB = SOURCE / "tests" / "lab"
SPARE = ["s1", "s2", "s3", "s4"]  # servers that are no nodes
FAULT = "lab: the disk of this host is full"


@pytest.fixture(scope="module")
def cluster(module_lab):
    missing = missing_packages()
    if missing:
        pytest.skip(f"not installed, and ./check could not install them: {' '.join(missing)}")
    return module_lab(nodes=3, openstack=True, cloud={"rebuild_delay": 1}, more_servers=SPARE)


def cloudcall() -> Path:
    """The test program of the build that was staged."""
    build = Path(STAGE).parent
    subprocess.run(["make", "-C", build, "-s", "tests/cloud/cloudcall"], check=True, timeout=600,
                   capture_output=True)  # fmt: skip
    return build / "tests" / "cloud" / "cloudcall"


def describe(cluster, folder: Path) -> Path:
    """What target.py is to know of the cloud."""
    cloud = cluster.true_cloud
    hand = [PYTHON, str(LAB / "openstack_cloud.py"), str(cloud.place.folder), cloud.place.address]
    told = {
        "clouds": str(write_private(folder / "clouds.yaml", clouds_yaml(cloud.place))),
        "cloud": "lab", "reader_cloud": "lab-reader", "member_cloud": "lab-member",
        "password_cloud": "lab-password", "stamp_property": "cohort_stamp", "seconds": 60,
        "servers": [{"name": name, "id": cloud.servers[name]} for name in SPARE],
        "images": [{"id": i.id, "name": i.name, "stamp": i.stamp}
                   for i in map(cluster.image, ("v1", "v2"))],
        "commands": {verb: [*hand, verb, "{name}"] for verb in ("fail", "heal", "lock", "unlock", "stop")},
    }  # fmt: skip
    path = folder / "cloud.json"
    path.write_text(json.dumps(told))
    return path


def test_the_contract_that_the_lab_cloud_keeps_holds_here_too(cluster, tmp_path):
    if ROOT != "/":
        pytest.skip("cloudcall was built for another system; ./check without --slurm runs this")
    environment = {"PATH": os.environ["PATH"], "srcdir": str(SOURCE), "CLOUDCALL": str(cloudcall()),
                   "COHORT_TEST_CLOUD": str(describe(cluster, tmp_path))}  # fmt: skip
    done = subprocess.run([sys.executable, SOURCE / "tests" / "cloud" / "contract_test"], text=True,
                          env=environment, capture_output=True, timeout=300)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    counted = re.search(r"Checks: (\d+), Failures: 0", done.stdout)
    assert counted and int(counted[1]) >= 20, done.stdout
    assert "SKIP" not in done.stdout


def test_nodes_go_to_the_new_image_and_one_that_nova_cannot_build_is_out(cluster):
    cluster.true_cloud.next("n2", "error", FAULT)
    for node in cluster.nodes:
        cluster.set_desired(node, "v2")
    jobs = {node: cluster.out("sbatch", "--reboot", "-w", node, "--wrap", "cohort-node verify").split()[-1]
            for node in cluster.nodes}  # fmt: skip
    for node in ("n1", "n3"):
        cluster.wait_job(jobs[node], seconds=120)
        assert cluster.boots(node)[-1]["content"] == "v2"
        cluster.wait_nodes("idle", [node])
    wait_until(lambda: FAULT in cluster.node("n2").get("Reason", ""), 60,
               f"n2 is out with nova's words: {cluster.node('n2')}")  # fmt: skip
    assert cluster.node("n2")["Reason"].startswith("cohort: ")
    assert cluster.true_cloud.server("n2")["status"] == "ERROR"
    assert {"FAIL", "DOWN"} <= set(re.split(r"\W", cluster.node("n2")["State"]))
