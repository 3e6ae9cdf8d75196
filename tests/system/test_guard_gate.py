# SPDX-License-Identifier: GPL-2.0-or-later
"""cohort-gate, the last net: what slipped past the guard does not compute on two revisions.

The guard is switched off for a moment, the way by which jobs without a bound get into a queue.
"""
from __future__ import annotations

import json

import pytest

from machines import wait_until

A, B = "rev_" + "a" * 16, "rev_" + "b" * 16
LABELS = {"n1": A, "n2": A, "n3": B, "n4": B}
STATE = "/var/lib/slurm/slurmctld-cohort"
# A step on every node writes where it ran.
PAYLOAD = "srun hostname >> /shared/home/alice/ran.$SLURM_JOB_ID"


def label(lab) -> None:
    for node, revision in LABELS.items():
        lab.run("scontrol", "update", f"NodeName={node}", "Extra=" + json.dumps({"cohort_rev": revision}))
    wait_until(lambda: snapshot(lab) == LABELS, 10, "the plugin has seen the labels", 0.1)


def snapshot(lab) -> dict[str, str]:
    text = lab.run("cat", f"{STATE}/snapshot.json", check=False).stdout
    return {n[0]: n[2] for n in json.loads(text)["nodes"]} if text else {}


def gate_lines(lab) -> list[str]:
    return [line for line in lab.log("ctl.syslog").splitlines() if "cohort-gate" in line]


@pytest.fixture(scope="module")
def cluster(module_lab):
    lab = module_lab(nodes=4, conf={"PrologSlurmctld": "/usr/sbin/cohort-gate"},
                     cohort_conf={"Refresh": "200ms", "SweepRate": "1"})  # fmt: skip
    lab.wait_joined()  # a join would publish the image's own label
    label(lab)
    return lab


@pytest.fixture
def crossed(cluster):
    """n1 and n3 are taken: a job of two nodes gets n2 and n4, when nothing binds it."""
    for node in ("n1", "n3"):
        cluster.submit("-w", node, "--exclusive", user="bob", wrap="sleep 600")
    wait_until(lambda: [cluster.node_states()[n] for n in ("n1", "n3")] == ["alloc"] * 2, 20, "n1, n3 busy")
    yield cluster
    cluster.run("scohort", "guard", "on")
    for user in ("alice", "bob"):
        cluster.run("scancel", "-u", user)
    wait_until(lambda: set(cluster.node_states().values()) == {"idle"}, 60, "all idle")


def without_guard(lab) -> list[str]:
    """Nothing is bound from now on, and n2 and n4 are taken too; returns the jobs that have them."""
    lab.run("scohort", "guard", "off", "--for", "5min")

    def is_off() -> bool:
        probe = lab.submit("-N2", "-H", user="bob")
        bound = "rev_" in lab.job(probe)["Features"]
        lab.run("scancel", probe)
        return not bound

    wait_until(is_off, 20, "the plugin binds nothing", 0.2)
    blockers = [lab.submit("-w", node, "--exclusive", user="bob", wrap="sleep 600") for node in ("n2", "n4")]
    for job in blockers:
        lab.wait_job(job, "RUNNING")
    return blockers


def with_guard(lab, blockers: list[str]) -> None:
    """The sweep begins, one job after the other, while n2 and n4 become free."""
    lab.run("scohort", "guard", "on")
    lab.run("scancel", *blockers)


def unbound(lab, *options: str) -> str:
    return lab.submit(*options, "-N2", "--ntasks-per-node=1", user="alice", wrap=PAYLOAD)


def ran_on(lab, job: str) -> set[str]:
    return set(lab.run("cat", f"/shared/home/alice/ran.{job}", check=False).stdout.split())


def test_one_revision_and_one_node_start(cluster) -> None:
    jobs = [cluster.submit("-N2", "-w", "n1,n2", user="alice", wrap="true"),
            cluster.submit("-N1", user="alice", wrap="true")]  # fmt: skip
    for job in jobs:
        cluster.wait_job(job, "COMPLETED")
    assert not gate_lines(cluster)


def test_a_batch_job_is_sent_back_bound_and_started(crossed) -> None:
    """Twelve wait for their turn of the sweep (two a second): one starts before it."""
    blockers = without_guard(crossed)
    jobs = [unbound(crossed, "--exclusive") for _ in range(12)]
    with_guard(crossed, blockers)
    wait_until(lambda: any("spans revisions" in line for line in gate_lines(crossed)), 40,
               "the gate has sent one back")  # fmt: skip
    back = [j for j in jobs if '"rounds":' in crossed.job(j).get("AdminComment", "").replace(" ", "")]
    assert back, [crossed.job(j).get("AdminComment") for j in jobs]
    crossed.run("scancel", "-u", "bob")
    for job in jobs:
        crossed.wait_job(job, "COMPLETED", 90)
    for job in jobs:
        assert ran_on(crossed, job) in ({"n1", "n2"}, {"n3", "n4"})
    assert set(crossed.node_states().values()) <= {"idle", "comp"}, "no node is drained"


def test_a_job_that_may_not_be_requeued_starts_and_that_is_logged(crossed) -> None:
    blockers = without_guard(crossed)
    jobs = [unbound(crossed, "--no-requeue", "--exclusive") for _ in range(8)]
    with_guard(crossed, blockers)
    wait_until(lambda: any("GateNoRequeue=allow" in line for line in gate_lines(crossed)), 40, "logged")
    wait_until(lambda: any(ran_on(crossed, j) == {"n2", "n4"} for j in jobs), 30, "it ran, on both")


def test_srun_is_ended_and_told(crossed) -> None:
    """The guard goes on between srun's submission and its start."""
    blockers = without_guard(crossed)
    for _ in range(12):  # the sweep has others to bind first
        unbound(crossed, "-H")
    crossed.run("bash", "-c", "srun -N2 --exclusive hostname > /shared/home/alice/srun.out 2>&1 & echo $!", user="alice")
    wait_until(lambda: "hostname" in crossed.out("squeue", "-h", "-u", "alice", "-o", "%j"), 20, "srun waits")
    with_guard(crossed, blockers)
    text = []

    def told() -> bool:
        text[:] = [crossed.run("cat", "/shared/home/alice/srun.out", check=False).stdout]
        return "two software revisions" in text[0] or "n2" in text[0]

    wait_until(told, 40, "srun has ended")
    assert "two software revisions" in text[0], text[0]
