# SPDX-License-Identifier: GPL-2.0-or-later
"""A rebuild job whose fresh node has no task profile: its verify runs and is the judge."""
from __future__ import annotations

import pytest

from machines import wait_until
from spanklab import on, plugstack

COHORT = {"VerifyWait": "40s", "SoftRebootTime": "10s"}
PARTS = ("/usr/sbin/cohort-node", "/usr/sbin/cohort-reboot")


@pytest.fixture
def cluster(lab):
    lab.stop()
    plugstack()
    made = lab(nodes=2, cloud={"rebuild_delay": 1.0, "reboot_delay": 0.2}, cohort_conf=COHORT,
               conf={"PlugStackConfig": "/etc/slurm/plugstack.conf"})  # fmt: skip
    if not all(made.program(part) for part in PARTS):
        pytest.skip("cohort-node and cohort-reboot are not installed in COHORT_STAGE")
    return made


def test_verify_runs_on_a_node_without_a_profile_and_takes_it_out(cluster):
    cluster.set_desired("n1", "v2")
    job = cluster.submit("--reboot", "-w", "n1", "-o", "/shared/verify.out", "--no-requeue",
                         user="root", wrap="touch /shared/verify.ran; cohort-node verify")  # fmt: skip
    cluster.wait_job(job, "FAILED", "NODE_FAIL", "CANCELLED", seconds=150)
    assert [boot["stamp"] for boot in cluster.boots("n1")][-1] == "lab/v2", "the rebuild took place"
    assert cluster.run("test", "-e", "/shared/verify.ran", check=False).returncode == 0, "verify ran"
    wait_until(lambda: cluster.node("n1").get("Reason", "").startswith("cohort: the task profile is not usable"),
               20, f"the node is out with our reason: {cluster.node('n1')}")  # fmt: skip
    assert "FAIL" in cluster.node("n1")["State"]
    assert "there is no such directory" in cluster.out("cat", "/shared/verify.out")
    mark = on(cluster, "n1", "ls /run/cohort/jobs 2>/dev/null || :").split()
    assert mark in ([], [job]), "the mark is the job's own"
