# SPDX-License-Identifier: GPL-2.0-or-later
"""The guard in a storm: users, administrators and slurmctld's own restarts at random, for a while.

Judged from outside, by slurmdbd and by what each node has written of itself at its boots: no
allocation of two revisions, no job lost or cancelled, no constraint changed for good, and jobs of
several nodes start all the time. COHORT_LONG=1: ten minutes, 16 nodes, 64 submitters, each policy.
COHORT_SEED repeats a run.
"""
from __future__ import annotations

import json
import os
import random
import re
import time

import pytest

import judge
import slurmconf
import storm
from machines import wait_until
from namespace import LAB

LONG = bool(os.environ.get("COHORT_LONG"))
SEED = int(os.environ.get("COHORT_SEED", random.randrange(10**6)))
NODES, SUBMITTERS, SECONDS = (16, 64, 600) if LONG else (8, 4, 45)
POLICIES = ["confine", "hold", "block"] if LONG else ["confine"]
WINDOW = 30
# A refusal must be one of these.
OURS = re.compile(r"cohort: .*(at most \d+ nodes|not of one revision|counts|takes no job|one revision)", re.S)
SLURMS = ("Requested node configuration is not available", "Invalid feature specification",
          "Node count specification invalid", "More processors requested")  # fmt: skip


@pytest.fixture(scope="module")
def cluster(module_lab):
    half = NODES // 2
    lab = module_lab(
        nodes=NODES, cloud={"rebuild_delay": 0.5, "reboot_delay": 0.2}, advance_every=2.0,
        node_options=slurmconf.NODE + " Feature=gpu,x",
        partitions=[slurmconf.PARTITION, f"PartitionName=left Nodes=n[1-{half}] MaxTime=INFINITE State=UP",
                    f"PartitionName=right Nodes=n[{half + 1}-{NODES}] MaxTime=INFINITE State=UP"],
        cohort_conf={"VerifyWait": "60s", "SoftRebootTime": "5s", "MaxConcurrent": max(2, NODES // 4),
                     "Refresh": "500ms", "SweepRate": 50},
    )  # fmt: skip
    lab.wait_joined()
    lab.run("scohort", "adopt")
    wait_until(lambda: all("rev_" in lab.node(n)["ActiveFeatures"] for n in lab.nodes), 30, "adopted", 0.2)
    return lab


def records(lab) -> judge.Records:
    text = lab.run(*judge.SACCT, env=judge.SACCT_ENVIRONMENT).stdout
    boots = {n: [judge.Boot(**b) for b in lab.boots(n)] for n in lab.nodes}
    return judge.Records(judge.parse_jobs(text, judge.expand_nodes), boots)


def set_policy(lab, policy: str) -> None:
    lab.cohort_conf["MixedRevision"] = policy
    slurmconf.write(LAB / "etc-slurm", "cohort.conf", "".join(f"{k}={v}\n" for k, v in lab.cohort_conf.items()))
    lab.run("scontrol", "reconfigure")
    time.sleep(2)


def content(lab, node: str) -> str:
    return lab.boots(node)[-1]["content"]


def repair(lab) -> None:
    """What an administrator does with nodes that are out: slurmctld's restarts cost some their proof."""
    for node in lab.nodes:
        record = lab.node(node)
        if "DOWN" in record["State"] and "cohort:" in record.get("Reason", ""):
            lab.run("scontrol", "update", f"NodeName={node}", "State=RESUME", check=False)


def calm(lab, kept: storm.Kept, image: str) -> None:
    """All nodes to one image; every job of the users runs to its end."""
    deadline = time.monotonic() + (900 if LONG else 240)
    jobs: dict[str, str] = {}
    while time.monotonic() < deadline:
        repair(lab)
        queued = set(lab.run("squeue", "-h", "-u", "root", "-o", "%A", check=False).stdout.split())
        wrong = [n for n in lab.nodes if content(lab, n) != image or "DOWN" in lab.node(n)["State"]]
        for node in wrong:
            if jobs.get(node) not in queued:
                jobs[node] = storm.rebuild(lab, kept, node, image)
        if not wrong and not queued:
            break
        time.sleep(2)
    else:
        raise TimeoutError(f"not all nodes on {image}: {wrong}")


def drain_the_queue(lab, kept: storm.Kept) -> None:
    """All run to their end, but for those that their users have changed into what never fits."""
    deadline = time.monotonic() + 240
    while left := lab.out("squeue", "-h", "-o", "%A %t %r").splitlines():
        waiting = [line.split(None, 2) for line in left]
        hopeless = [w for w in waiting if w[1] == "PD" and w[0] in kept.changed]
        if len(hopeless) == len(waiting):
            for job, _, _ in hopeless:
                kept.given_up.append(job)
                lab.run("scancel", job)
        if time.monotonic() > deadline:
            raise TimeoutError("these jobs do not end:\n" + lab.out("squeue"))
        time.sleep(2)


def everybody_releases(lab) -> None:
    lines = lab.run("squeue", "-h", "-t", "PD", "-o", "%A %r").stdout.splitlines()
    for line in lines:
        job, reason = line.split(None, 1)
        if reason in ("JobHeldUser", "JobHeldAdmin"):
            lab.run("scontrol", "release", job, check=False)


@pytest.mark.parametrize("policy", POLICIES)
def test_storm(cluster, policy: str) -> None:
    print(f"seed {SEED}")
    set_policy(cluster, policy)
    kept = storm.Kept()
    begin = time.time()
    actors: list[storm.Actor] = [storm.Submitter(cluster, kept, SEED + i, SUBMITTERS * 0.25) for i in range(SUBMITTERS)]
    actors += [storm.Changer(cluster, kept, SEED + 1000 + i, 1.0) for i in range(2)]
    actors += [storm.Roller(cluster, kept, SEED + 2000, 3.0, ["v1", "v2", "v3"] if LONG else ["v1", "v2"])]
    actors += [storm.Controller(cluster, kept, SEED + 3000, 11.0)]
    storm.for_a_while(actors, SECONDS, lambda: None)
    end = time.time()
    print(f"{len(kept.accepted)} accepted, {len(kept.refused)} refused, {len(kept.changed)} changed by users, "
          f"{len(kept.rebuilds)} rebuild jobs, {kept.events}, faults {kept.faults[:3]}")  # fmt: skip
    calm(cluster, kept, "v2")
    # Nothing of ours stays on what nobody else has changed.
    for job, features in kept.own.items():
        if job in kept.changed:
            continue
        wait_until(lambda: (cluster.job(job)["Features"], "cohort" in cluster.job(job).get("AdminComment", "")) ==
                   (features or "(null)", False), 30, f"job {job} is as its user gave it: {cluster.job(job)}", 0.5)  # fmt: skip
    everybody_releases(cluster)
    drain_the_queue(cluster, kept)
    found = records(cluster)
    mine = [j for j in found.user_jobs() if j.start >= begin - 1 or not j.start]
    pairs = [j for j in mine if len(j.nodes) > 1]
    print(f"{len(mine)} allocations, {len(pairs)} of several nodes, "
          f"{sum(len(b) - 1 for b in found.boots.values())} reboots, contents of pairs "
          f"{sorted(judge.content_at(found.boots[j.nodes[0]], j.start) for j in pairs)[::max(1, len(pairs) // 8)]}")
    assert judge.mixed_allocations(found) == []
    lost = [j for j in mine if j.state not in ("COMPLETED", "REQUEUED") and j.id.split("_")[0] not in kept.given_up]
    assert lost == []
    if policy == "confine":
        check_refusals(kept)
        check_liveness(pairs, begin, end)


def check_refusals(kept: storm.Kept) -> None:
    for options, text in kept.refused:
        assert OURS.search(text) or any(s in text for s in SLURMS), (options, text)
        if "cohort:" in text:  # what always fits is never refused
            assert options.split()[0] not in ("-N1",) and options not in ("-N2", "-N2 --exclusive"), text


def check_liveness(pairs: list[judge.Job], begin: float, end: float) -> None:
    window = begin
    while window + WINDOW <= end:
        starts = [j for j in pairs if window <= j.start < window + WINDOW]
        assert starts, f"no job of several nodes started from second {window - begin:.0f} on"
        window += WINDOW


def test_nothing_of_ours_is_left(cluster) -> None:
    for job in cluster.out("squeue", "-h", "-o", "%A").split():
        assert "cohort" not in json.dumps(cluster.job(job))
