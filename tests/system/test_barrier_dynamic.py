# SPDX-License-Identifier: GPL-2.0-or-later
"""scohort barrier where nodes register by themselves, the site's own test before a cohort opens, and the
cells of "what it begins with" in which nobody can tell.

n1 and n2 stand in slurm.conf; n3 and n4 are dynamic (slurmd -Z).
"""
from __future__ import annotations

import json
import re

import pytest

import services
from machines import wait_until
from namespace import LAB
from queries import fields
from test_barrier import ENDED, Run, barrier, content, extra, is_up, reservations, start_of

CLOUDS = LAB / "openstack" / "clouds.yaml"
AWAY = LAB / "openstack" / "clouds.away"
# What a site might do: a job of its own on the nodes, inside the reservation.
TEST = """#!/bin/bash
{ id -un; env | grep ^COHORT_ | sort; } >/shared/told/env
[ ! -e /shared/told/broken ] || { echo "home is not mounted" >&2; exit 3; }
srun -p "$COHORT_PARTITIONS" --reservation="$COHORT_RESERVATION" -w "$COHORT_NODES" -N4 -t 1 --chdir=/ hostname |
    sort >/shared/told/ran
"""


@pytest.fixture(scope="module")
def cluster(module_lab):
    lab = module_lab(nodes=4, dynamic=2, cloud={"rebuild_delay": 1.0}, advance_every=1.0,
                     cohort_conf={"VerifyWait": "30s", "SoftRebootTime": "10s", "RebuildJobUser": "slurm",
                                  "BarrierTest": "/shared/barrier-test"})  # fmt: skip
    told = LAB / "shared" / "told"
    told.mkdir()
    told.chmod(0o777)
    script = LAB / "shared" / "barrier-test"
    script.write_text(TEST)
    script.chmod(0o755)
    lab.wait_joined()
    lab.run("sacctmgr", "-i", "add", "user", "slurm", "account=research")
    wait_until(lambda: "slurm" in lab.out("scontrol", "show", "assoc_mgr", "flags=assoc", "users=slurm"), 20, "it may")
    lab.run("scohort", "adopt")
    wait_until(lambda: all(extra(lab, n).get("cohort_rev") for n in lab.nodes), 20, "all nodes have a label")
    return lab


def status(cluster) -> list[dict]:
    return json.loads(cluster.out("scohort", "status", "--json"))["barriers"]


def test_dynamic_nodes_and_a_test_that_fails(cluster) -> None:
    """Closed it stays, with what the test said, and behind our drains again; mended, it opens."""
    told = LAB / "shared" / "told"
    (told / "broken").touch()
    run = Run(cluster, "--to", "v2")
    assert run.until("step wait"), run.words
    job = cluster.submit("-N1", "-t", "10", wrap="true")
    assert not run.until(ENDED) and run.process.wait() == 1, run.words
    assert {content(cluster, n) for n in cluster.nodes} == {"v2"}, "all were replaced"
    assert not is_up(cluster) and cluster.job(job)["JobState"] == "PENDING"
    [closed] = status(cluster)
    assert "home is not mounted" in closed["why"], closed
    assert all("DRAIN" in cluster.node(n)["State"] for n in cluster.nodes)
    assert "cohort_barrier" not in reservations(cluster) and not (told / "ran").exists()
    (told / "broken").unlink()
    boots = [len(cluster.boots(n)) for n in cluster.nodes]
    run = Run(cluster)
    assert run.until(ENDED) and run.process.wait() == 0, run.words
    assert boots == [len(cluster.boots(n)) for n in cluster.nodes], "what was replaced is good"
    assert (told / "ran").read_text().split() == cluster.nodes, "inside the reservation, on every node"
    label = extra(cluster, "n3")["cohort_rev"]
    number = closed["id"]
    user, *lines = (told / "env").read_text().split()
    given = dict(line.split("=", 1) for line in lines)
    # Dynamic nodes stand in Slurm's table as they came.
    assert sorted(cluster.out("scontrol", "show", "hostnames", given.pop("COHORT_NODES")).split()) == cluster.nodes
    assert user == "slurm" and given == {
        "COHORT_BARRIER": str(number), "COHORT_NAME": "main", "COHORT_PARTITIONS": "main",
        "COHORT_RESERVATION": f"cohort_barrier_{number}", "COHORT_REVISION": label}  # fmt: skip
    assert is_up(cluster) and "cohort_barrier" not in reservations(cluster)
    cluster.wait_job(job, seconds=60)
    assert start_of(cluster, job) >= (told / "ran").stat().st_mtime - 1
    assert all("dynamic" in cluster.node(n)["State"].lower() for n in cluster.nodes[2:])


@pytest.fixture
def no_cloud(cluster):
    CLOUDS.rename(AWAY)
    yield
    AWAY.rename(CLOUDS)


def as_it_was(cluster, boots: list[int]) -> None:
    assert not status(cluster), "nothing was begun"
    assert boots == [len(cluster.boots(n)) for n in cluster.nodes]
    assert not any("cohort_hold" in extra(cluster, n) for n in cluster.nodes)


def test_revision_unknown_and_closed(cluster, no_cloud) -> None:
    """An administrator has set the partition DOWN: no barrier stands in the journal that would know."""
    boots = [len(cluster.boots(n)) for n in cluster.nodes]
    cluster.run("scontrol", "update", "partition=main", "state=down")
    assert "cannot be told" in barrier(cluster, "--to", "v2", code=3)
    assert not is_up(cluster)
    cluster.run("scontrol", "update", "partition=main", "state=up")
    as_it_was(cluster, boots)


@pytest.mark.parametrize("revision", ["same", "other", "unknown"])
def test_state_unknown(cluster, revision: str, request) -> None:
    """slurmctld does not answer: whatever is wanted, nobody can tell whether the cohort is open."""
    boots = [len(cluster.boots(n)) for n in cluster.nodes]
    if revision == "unknown":
        request.getfixturevalue("no_cloud")
    services.stop(cluster.controller, "slurmctld")
    try:
        said = barrier(cluster, "--to", "v3" if revision == "other" else "v2", code=3)
    finally:
        services.start_slurmctld(cluster.controller)
    assert "slurmctld" in said, said
    as_it_was(cluster, boots)
    assert is_up(cluster)


def updates(lab) -> int:
    found = re.search(r"REQUEST_UPDATE_NODE\s+\(\s*\d+\)\s+count:(\d+)", lab.out("sdiag"))
    return int(found.group(1)) if found else 0


def test_many_nodes_are_closed_together(lab) -> None:
    """One update drains all of them; Extra, which is each node's own, takes one for each."""
    many = 100
    cluster = lab(nodes=1, conf={"NodeName": f"x[1-{many}] NodeAddr=10.77.0.1 CPUs=1 RealMemory=1000 State=DOWN"},
                  partitions=["PartitionName=main Nodes=n1 Default=YES State=UP", f"PartitionName=big Nodes=x[1-{many}] State=UP"],
                  cloud={})  # fmt: skip
    program = LAB / "shared" / "replace"
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o755)
    before = updates(cluster)
    run = Run(cluster, "--cohort", "big", "--revision", "rev_0123456789abcdef", "--command", "/shared/replace")
    assert run.until("runs /shared/replace"), run.words
    used = updates(cluster) - before
    run.kill()
    records = [fields(line) for line in cluster.out("scontrol", "-o", "show", "node", f"x[1-{many}]").splitlines()]
    assert len(records) == many
    for record in records:
        assert "DRAIN" in record["State"] and record["Reason"].startswith("cohort: barrier 1"), record
        assert json.loads(record["Extra"])["cohort_hold"] == "barrier 1", record
    assert many < used < 1.5 * many, f"{used} updates for {many} nodes"
