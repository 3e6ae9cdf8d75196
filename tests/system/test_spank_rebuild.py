# SPDX-License-Identifier: GPL-2.0-or-later
"""Rebuild jobs where plugstack.conf asks for a task profile: their verify runs on every node, and is
the judge of one whose tasks would all be refused. n1 is the good node, each other has a row's fault.
"""
from __future__ import annotations

import pytest

from lab import LAB
from machines import wait_until
from spanklab import before_slurmd, on, plugstack

PROFILE = "/run/flox-task-profile"
COHORT = {"VerifyWait": "20s", "SoftRebootTime": "10s"}
PARTS = ("/usr/sbin/cohort-node", "/usr/sbin/cohort-reboot")
# What the site's own unit does before slurmd: in the new image nothing on the node that is to have no
# profile. Slurm waits for that boot, so join lets slurmd start and leaves the word to verify.
BEFORE_SLURMD = """
case $HOSTNAME-$(cat /etc/lab-content) in
n2-v2) ;;
*) cohort-node profile write ;;
esac
[ $HOSTNAME-$(cat /etc/lab-content) != n3-v2 ] || chmod 666 /run/flox-task-profile/vars
"""
# What the job does before its verify, and what the node's reason says.
ROWS = [
    ("no profile", "n2", "true", "the task profile is not usable: /run/flox-task-profile: there is no such directory"),
    ("a bad profile", "n3", "true", "vars has mode 0666"),
    ("another one than was published", "n4", f"rm -rf {PROFILE}; echo worker_cpus=2 >/run/s; "
     "cohort-node profile write --settings /run/s", "published was rev_"),
]  # fmt: skip


@pytest.fixture(scope="module")
def cluster(module_lab):
    plugstack()
    before_slurmd(BEFORE_SLURMD)
    # A ping may undo the DOWN (never the FAIL) of a node whose verify it has just ended: advance mends it.
    made = module_lab(nodes=4, cloud={"rebuild_delay": 1.0, "reboot_delay": 0.2}, cohort_conf=COHORT,
                      conf={"PlugStackConfig": "/etc/slurm/plugstack.conf"}, advance_every=2.0)  # fmt: skip
    if not all(made.program(part) for part in PARTS):
        pytest.skip("cohort-node and cohort-reboot are not installed in COHORT_STAGE")
    return made


@pytest.fixture(scope="module")
def jobs(cluster):
    """node -> its rebuild job; all at once."""
    before = {node: steps for words, node, steps, _ in ROWS}
    made = {}
    for node in cluster.nodes:
        cluster.set_desired(node, "v2")
        body = f"touch /shared/verify.ran.{node}; {before.get(node, 'true')}; cohort-node verify"
        made[node] = cluster.submit("--reboot", "-w", node, "-o", f"/shared/verify.{node}", "--no-requeue",
                                    user="root", wrap=body)  # fmt: skip
    return made


def test_a_sealed_and_published_node_is_verified_and_runs_tasks(cluster, jobs):
    assert cluster.wait_job(jobs["n1"], "COMPLETED", "FAILED", "NODE_FAIL", seconds=150) == "COMPLETED"
    assert cluster.boots("n1")[-1]["stamp"] == "lab/v2"
    cluster.wait_nodes("idle", ["n1"])
    assert cluster.out("srun", "-w", "n1", "cat", "/etc/lab-content", user="alice", timeout=60) == "v2"


def out(node: dict[str, str], sentence: str) -> bool:
    reason = node.get("Reason", "")
    return (reason.startswith("cohort: ") and sentence in reason
            and "FAIL" in node["State"] and "DOWN" in node["State"])  # fmt: skip


@pytest.mark.parametrize("words,node,steps,sentence", ROWS, ids=[r[0].replace(" ", "-") for r in ROWS])
def test_verify_runs_and_takes_the_node_out(cluster, jobs, words, node, steps, sentence):
    job = jobs[node]
    cluster.wait_job(job, "FAILED", "NODE_FAIL", "CANCELLED", "COMPLETED", seconds=150)
    assert [boot["stamp"] for boot in cluster.boots(node)][-1] == "lab/v2", "the rebuild took place"
    assert (LAB / "shared" / f"verify.ran.{node}").exists(), "verify ran"
    wait_until(lambda: out(cluster.node(node), sentence), 60, f"out for '{sentence}': {cluster.node(node)}")
    assert cluster.job(job)["JobState"] != "COMPLETED"
    assert sentence in (LAB / "shared" / f"verify.{node}").read_text(), "the job's output says it too"
    mark = on(cluster, node, "ls /run/cohort/jobs 2>/dev/null || :").split()
    assert mark in ([], [job]), "the mark is the job's own"
    user_job = cluster.submit("-w", node, user="alice", wrap="touch ran.there")
    assert cluster.job(user_job)["JobState"] == "PENDING"
    cluster.run("scancel", user_job)
