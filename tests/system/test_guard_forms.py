# SPDX-License-Identifier: GPL-2.0-or-later
"""Every form of constraint and every option of test_guard_traps.py, with the guard: none mixes.

n1 and n2 carry revision a, n3 and n4 revision b; n1 and n3 are busy, so a job of two nodes that
starts at once has got n2 and n4. All wait, and run on one side as soon as there is room.
"""
from __future__ import annotations

import json
import time

import pytest

import services
from machines import wait_until
from test_guard_traps import (A, COUNT_AND_GROUP, COUNTS_AND_PIN, FORMS, LABELS, OPTIONS, het_components,
                              nodes_of, write_node_file)  # fmt: skip

SITE = {"n1": "gpu,x", "n2": "gpu,x,y", "n3": "gpu,y", "n4": "gpu,x,y"}
# Refused by the guard where Slurm alone would take them: they cannot be kept on one side.
SPANNING = {"a node list that spans, with the group", "a node file that spans, with the group"}
COUNTED = {COUNT_AND_GROUP, COUNTS_AND_PIN}  # a pin is not enforced beside counts, a group not everywhere
# Forms by which the user names a revision that others must not be taken for.
REVISIONS = {A: {"n1", "n2"}, LABELS["n3"]: {"n3", "n4"}}

HET_START = 10  # seconds after which raw Slurm has begun a het job whose nodes are free


def said(options: list[str]) -> str:
    return " ".join(options) or "nothing"


ROWS = [(["-C", form] if form else [], "refused" if form in COUNTED else outcome) for form, outcome in FORMS]
ROWS += [(options, "refused" if name in SPANNING else outcome) for name, options, outcome in OPTIONS]


@pytest.fixture(scope="module")
def cluster(module_lab):
    lab = module_lab(nodes=4, cohort_conf={"Refresh": "200ms"})
    lab.wait_joined()
    write_node_file(lab)
    for node, label in LABELS.items():
        lab.run("scontrol", "update", f"NodeName={node}", f"AvailableFeatures={SITE[node]}",
                f"ActiveFeatures={SITE[node]}", "Extra=" + json.dumps({"cohort_rev": label}))  # fmt: skip
    wait_until(lambda: all(lab.node(n)["ActiveFeatures"] == f"{SITE[n]},{r}" for n, r in LABELS.items()), 30,
               "the plugin has put the labels there", 0.1)  # fmt: skip
    time.sleep(0.5)
    return lab


def submit(lab, *options: str):
    return lab.run("sbatch", "--parsable", "-N2", *options, "-o", "/dev/null", "--wrap", "true",
                   user="alice", check=False)  # fmt: skip


def test_no_form_mixes(cluster) -> None:
    blockers = [cluster.submit("-w", node, "--exclusive", user="bob", wrap="sleep 600") for node in ("n1", "n3")]
    for job in blockers:
        cluster.wait_job(job, "RUNNING")
    accepted, refused = {}, {}
    for options, outcome in ROWS:
        done = submit(cluster, *options)
        if done.returncode == 0:
            accepted[done.stdout.strip()] = (options, outcome)
        else:
            refused[said(options)] = (outcome, done.stderr)
    time.sleep(5)  # the backfill scheduler comes every 2 s
    started = [said(o) for j, (o, _) in accepted.items() if cluster.job(j)["JobState"] != "PENDING"]
    assert started == [], "these began on a mixture"
    for options, outcome in ROWS:
        if outcome == "refused":
            continue
        # What Slurm alone takes is taken, bound.
        assert said(options) not in refused, refused[said(options)]
    for form in COUNTED:
        assert "cohort: " in refused[f"-C {form}"][1], refused
    for job in blockers:
        cluster.run("scancel", job)
    for job, (options, _) in accepted.items():
        cluster.wait_job(job, "COMPLETED", seconds=120)
        assert any(nodes_of(cluster, job) <= side for side in REVISIONS.values()), said(options)


@pytest.mark.parametrize("busy", [[], ["n1", "n3"]], ids=["idle", "one-node-of-each-side-busy"])
def test_components_of_a_het_job_are_of_one_revision(cluster, busy: list[str]) -> None:
    """With n1 and n3 busy Slurm alone begins at once, on n2 and n4 (test_guard_traps.py)."""
    blockers = [cluster.submit("-w", node, "--exclusive", user="bob", wrap="sleep 600") for node in busy]
    for blocker in blockers:
        cluster.wait_job(blocker, "RUNNING")
    done = cluster.run("sbatch", "--parsable", "-N1", "--exclusive", ":", "-N1", "--exclusive", "-o", "/dev/null",
                       "--wrap", "true", user="alice")  # fmt: skip
    components = het_components(done.stdout.strip())
    if busy:
        time.sleep(HET_START)
        assert [cluster.job(c)["JobState"] for c in components] == ["PENDING"] * 2
    for blocker in blockers:
        cluster.run("scancel", blocker)
    for component in components:
        cluster.wait_job(component, seconds=120)
    nodes = set.union(*(nodes_of(cluster, c) for c in components))
    assert any(nodes <= side for side in REVISIONS.values()), nodes


@pytest.mark.parametrize("change", [
    ["Features=gpu"], ["Features="], ["ReqNodeList=n2,n4"], ["Prefer=gpu"], ["Features=gpu*1"],
    ["NumNodes=2"], ["Partition=main"], ["ExcNodeList=n1"], ["Features=x|y"],
], ids=lambda c: c[0])  # fmt: skip
def test_no_update_takes_the_bound_off(cluster, change: list[str]) -> None:
    """n1 and n3 are busy: whatever the user changes, the job does not start on n2 and n4."""
    blockers = [cluster.submit("-w", node, "--exclusive", user="bob", wrap="sleep 600") for node in ("n1", "n3")]
    for job in blockers:
        cluster.wait_job(job, "RUNNING")
    job = submit(cluster).stdout.strip()
    cluster.run("scontrol", "update", f"jobid={job}", *change, user="alice", check=False)
    time.sleep(2.5)
    assert cluster.job(job)["JobState"] == "PENDING"
    cluster.run("scancel", job)
    for blocker in blockers:
        cluster.run("scancel", blocker)


def test_a_hundred_reconfigures(cluster) -> None:
    """Under submission: nobody is refused, nothing mixes, nothing stays held."""
    jobs, refused = [], []
    for number in range(100):
        cluster.run("scontrol", "reconfigure")
        done = submit(cluster)
        (jobs if done.returncode == 0 else refused).append(done.stdout.strip() or done.stderr)
        if number == 50:
            services.stop(cluster.controller, "slurmctld")
            services.start_slurmctld(cluster.controller)
    assert refused == []
    for job in jobs:
        cluster.wait_job(job, "COMPLETED", seconds=180)
        assert any(nodes_of(cluster, job) <= side for side in REVISIONS.values()), job
    assert len(jobs) == 100 and not cluster.out("squeue", "-h")
