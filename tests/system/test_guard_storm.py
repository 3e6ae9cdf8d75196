# SPDX-License-Identifier: GPL-2.0-or-later
"""The guard in a storm: users, administrators and slurmctld's own restarts at random, for a while.

Judged from outside, by slurmdbd and by what each node has written of itself at its boots: no
allocation of two revisions, no job lost or cancelled, no constraint changed for good, and jobs of
several nodes start all the time. COHORT_LONG=1: ten minutes, 16 nodes, 64 submitters, each policy.
COHORT_SEED repeats a run, COHORT_STORM gives the long form other seconds.
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
import storm_judge
from machines import wait_until
from namespace import LAB

LONG = bool(os.environ.get("COHORT_LONG"))
SEED = int(os.environ.get("COHORT_SEED", random.randrange(10**6)))
NODES, SUBMITTERS, SECONDS = (16, 64, int(os.environ.get("COHORT_STORM", 600))) if LONG else (8, 4, 45)
POLICIES = ["confine", "hold", "block"] if LONG else ["confine"]
WINDOW = 30
ALL = [f"n{i}" for i in range(1, NODES + 1)]
PARTITIONS = {"main": ALL, "left": ALL[: NODES // 2], "right": ALL[NODES // 2 :]}
FEATURE = ["", " Feature=gpu,x", " Feature=gpu", " Feature=x", " Feature=gpu,x", " Feature=gpu"]
# A refusal must be one of these.
OURS = re.compile(r"cohort: .*(at most \d+ nodes|not of one revision|counts|takes no job|one revision)", re.S)
SLURMS = ("Requested node configuration is not available", "Invalid feature specification",
          "Node count specification invalid", "More processors requested")  # fmt: skip
# slurmctld is being restarted: nobody has refused anything.
UNREACHED = ("Connection reset by peer", "Connection refused", "Unable to contact slurm controller",
             "Socket timed out", "Zero Bytes were transmitted")  # fmt: skip


@pytest.fixture(scope="module")
def cluster(module_lab):
    lab = module_lab(
        nodes=NODES, cloud={"rebuild_delay": 0.5, "reboot_delay": 0.2}, advance_every=2.0,
        node_options={f"n{i}": slurmconf.NODE + FEATURE[i % 6] for i in range(1, NODES + 1)},
        partitions=[slurmconf.PARTITION] + [f"PartitionName={name} Nodes={','.join(nodes)} MaxTime=INFINITE State=UP"
                                            for name, nodes in PARTITIONS.items() if name != "main"],
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
    right = time.monotonic()  # since when all nodes are
    while time.monotonic() < deadline:
        repair(lab)
        queued = set(lab.run("squeue", "-h", "-u", "root", "-o", "%A", check=False).stdout.split())
        wrong = [n for n in lab.nodes if content(lab, n) != image or "DOWN" in lab.node(n)["State"]]
        for node in wrong:
            if jobs.get(node) not in queued:
                jobs[node] = storm.rebuild(lab, kept, node, image)
        if not wrong and not queued:
            break
        right = time.monotonic() if wrong else right
        # A job that a restarted slurmctld has not brought into slurmdbd cannot be updated any more: "the DB index is
        # being set" [22.05]. Its node is rebuilt already.
        if time.monotonic() - right > 90:
            lab.run("scancel", "-u", "root", "-t", "PD", check=False)
        time.sleep(2)
    else:
        raise TimeoutError(f"not all nodes on {image}: {wrong}")


def slurm_refuses(lab, kept: storm.Kept, options: list[str]) -> bool:
    """Would Slurm refuse such a job, or take it and not run it on idle nodes, now that all are of one revision and
    the guard lets it pass? It does not look at what is held at its submission."""
    done = lab.run("sbatch", "--parsable", "-o", "/dev/null", *options, "--wrap", "true", user=judge.USERS[0], check=False)
    if done.returncode:
        return any(s in done.stderr for s in SLURMS)
    job = done.stdout.strip()
    kept.given_up.append(job)
    reasons = ""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and "BadConstraints" not in reasons:
        reasons = lab.run("squeue", "-h", "-j", job, "-o", "%r", check=False).stdout
        if not reasons.strip():
            return False
        time.sleep(1)
    lab.run("scancel", job, check=False)
    return True


def drain_the_queue(lab, kept: storm.Kept) -> None:
    """All run to their end, but for those that their users have changed into what never fits, and what Slurm would
    not take or run either."""
    looked_at: set[str] = set()
    before, since = -1, time.monotonic()
    while left := lab.out("squeue", "-h", "-o", "%A %i %t %r").splitlines():
        if len(left) != before:
            before, since = len(left), time.monotonic()
        still = time.monotonic() - since
        waiting = [line.split(None, 3) for line in left]
        changed = {leader(name) for job, name, _, _ in waiting if job in kept.changed}
        # The first one keeps the others waiting.
        unknown = sorted({leader(w[1]) for w in waiting if w[2] == "PD"} - changed - looked_at, key=int)
        hopeless: list[str] = []
        if 20 < still < 25:
            everybody_releases(lab)
        if still > 45 and unknown:
            looked_at.add(unknown[0])
            hopeless = unknown[:1] if slurm_refuses(lab, kept, kept.options[unknown[0]]) else []
        elif all(leader(w[1]) in changed for w in waiting):
            hopeless = sorted(changed)
        for job in hopeless:
            kept.given_up.append(job)
            lab.run("scancel", job, check=False)
        if still > 240:
            shown = "\n".join(lab.out("scontrol", "-o", "show", "job", w[0]) for w in waiting[-20:])
            raise TimeoutError("no job has ended for four minutes:\n" + lab.out("squeue") + "\n" + shown)
        time.sleep(2)


def leader(name: str) -> str:
    """The job's number of a task ("7_2") or a component ("7+1")."""
    return re.split("[_+]", name)[0]


def never_was(job: judge.Job, kept: storm.Kept) -> bool:
    """A submission that Slurm itself refuses leaves a record that has failed in that very second."""
    return job.state == "FAILED" and not job.nodes and job.start == job.end and leader(job.id) not in kept.accepted


def everybody_releases(lab) -> None:
    """Also what Slurm gave up while other nodes were busy (counts in a constraint [22.05]): it looks at such a job
    again when somebody changes a node's features or releases it."""
    lines = lab.run("squeue", "-h", "-t", "PD", "-o", "%A %r").stdout.splitlines()
    for line in lines:
        job, reason = line.split(None, 1)
        if reason in ("JobHeldUser", "JobHeldAdmin", "BadConstraints"):
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
    actors += [storm.Watcher(cluster, kept, SEED + 4000, 0.5)]
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
    pairs = [j for j in judge.whole(mine) if len(j.nodes) > 1]
    print(f"{len(mine)} allocations, {len(pairs)} of several nodes, "
          f"{sum(len(b) - 1 for b in found.boots.values())} reboots, contents of pairs "
          f"{sorted(judge.content_at(found.boots[j.nodes[0]], j.start) for j in pairs)[::max(1, len(pairs) // 8)]}")
    assert judge.mixed_allocations(found) == []
    lost = [j for j in mine if j.state not in ("COMPLETED", "REQUEUED") and leader(j.id) not in kept.given_up
            and not never_was(j, kept)]  # fmt: skip
    assert lost == []
    check_refusals(kept, policy)
    if policy == "confine":
        check_liveness(kept, pairs)


def check_refusals(kept: storm.Kept, policy: str) -> None:
    refused = [r for r in kept.refused if not any(u in r.text for u in UNREACHED)]
    strange = [r for r in refused if not OURS.search(r.text) and not any(s in r.text for s in SLURMS)]
    assert strange == []
    if policy == "block":  # takes nothing that could span
        assert [r for r in refused if r.options in (["-N1"], ["-N1", "-n1"])] == []
        return
    if policy == "hold":
        assert [r for r in refused if "cohort:" in r.text] == []
    assert storm_judge.wrong_refusals(refused, kept.samples, PARTITIONS) == []


def check_liveness(kept: storm.Kept, pairs: list[judge.Job]) -> None:
    starts = [(float(j.start), j.nodes) for j in pairs if j.start]
    print(f"{len(kept.samples)} samples, {len(starts)} starts on several nodes")
    assert len(kept.samples) > SECONDS / 4
    assert storm_judge.idle_windows(kept.samples, starts, WINDOW) == []


def test_nothing_of_ours_is_left(cluster) -> None:
    for job in cluster.out("squeue", "-h", "-o", "%A").split():
        assert "cohort" not in json.dumps(cluster.job(job))
