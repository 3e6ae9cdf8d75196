# SPDX-License-Identifier: GPL-2.0-or-later
"""Public bug reports about job_submit plugins, on a cluster of two revisions: n1, n2 = a; n3, n4 = b."""
from __future__ import annotations

import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from machines import wait_until
from namespace import LAB
from test_guard_traps import LABELS

PARTITIONS = ["PartitionName=main Nodes=n[1-4] Default=YES MaxTime=INFINITE State=UP",
              "PartitionName=old Nodes=n[1-2] MaxTime=INFINITE State=UP",
              "PartitionName=mixed Nodes=n[2-3] MaxTime=INFINITE State=UP"]  # fmt: skip
SIDES = ({"n1", "n2"}, {"n3", "n4"})


@pytest.fixture(scope="module")
def cluster(module_lab):
    lab = module_lab(nodes=4, partitions=PARTITIONS, cohort_conf={"Refresh": "200ms"})
    lab.wait_joined()
    for node, label in LABELS.items():
        lab.run("scontrol", "update", f"NodeName={node}", "Extra=" + json.dumps({"cohort_rev": label}))
    wait_until(lambda: all(label in lab.node(n)["ActiveFeatures"] for n, label in LABELS.items()), 30, "labels", 0.1)
    time.sleep(0.5)
    return lab


@pytest.fixture(autouse=True)
def empty_queue(cluster):
    yield
    for user in ("alice", "bob"):
        cluster.run("scancel", "-u", user)
    wait_until(lambda: not cluster.out("squeue", "-h"), 60, "the queue is empty")


def submit(lab, *options: str, user: str = "alice"):
    return lab.run("sbatch", "--parsable", "-o", "/dev/null", *options, "--wrap", "true", user=user, check=False)


def nodes_of(lab, job: str) -> set[str]:
    return set(lab.out("scontrol", "show", "hostnames", lab.job(job)["NodeList"]).split())


def test_an_array_has_one_verdict_and_one_message(cluster) -> None:
    refused = submit(cluster, "-N3", "-a", "1-100")
    assert refused.returncode != 0
    assert refused.stderr.count("at most 2 nodes") == 1
    taken = submit(cluster, "-N2", "-a", "1-100", "-H")
    assert taken.returncode == 0 and taken.stderr.count("stays on one") == 1


def test_an_update_of_waiting_tasks_leaves_the_running_one(cluster) -> None:
    job = submit(cluster, "-N2", "--exclusive", "-a", "1-6", "--begin=now").stdout.strip()
    wait_until(lambda: cluster.out("squeue", "-h", "-t", "PD", "-j", job), 30, "some wait")
    waiting = cluster.out("squeue", "-h", "-r", "-t", "PD", "-j", job, "-o", "%K").split()[-2:]
    done = cluster.run("scontrol", "update", f"jobid={job}_[{','.join(sorted(waiting))}]", "partition=mixed",
                       user="alice", check=False)  # fmt: skip
    assert "429496" not in done.stdout + done.stderr
    # mixed has one node of each revision: two nodes never fit.
    assert all("mixed" != line for line in cluster.out("squeue", "-h", "-t", "R", "-o", "%P").split())


@pytest.mark.parametrize("options, outcome", [
    (["-N2"], "bound"),  # no partition: the default one
    (["-N2", "-p", "old"], "free"),
    (["-N2", "-p", "mixed"], "refused"),
    (["-N2", "-p", "old,mixed"], "old"),  # a list: sent where it fits
    (["-N2", "-p", "old", "-w", "n1,n2"], "free"),
    (["-N2", "-w", "n2,n3"], "refused"),
    (["-N2", "-C", LABELS["n1"] + "|" + LABELS["n3"]], "bound"),
    (["-N2", "-C", LABELS["n1"]], "free"),
    (["-N1", "-p", "mixed"], "free"),
], ids=lambda v: " ".join(v) if isinstance(v, list) else v)  # fmt: skip
def test_what_is_left_out_or_listed(cluster, options: list[str], outcome: str) -> None:
    done = submit(cluster, *options)
    assert (done.returncode != 0) == (outcome == "refused"), done.stderr
    if outcome == "refused":
        assert "cohort: " in done.stderr
        return
    job = done.stdout.strip()
    cluster.wait_job(job)
    assert any(nodes_of(cluster, job) <= side for side in SIDES)
    assert ("cohort" in done.stderr) == (outcome != "free"), done.stderr
    if outcome == "old":
        assert cluster.job(job)["Partition"] == "old"


def test_a_user_may_comment_on_his_running_job(cluster) -> None:
    job = cluster.submit("-N2", user="alice", wrap="sleep 60")
    cluster.wait_job(job, "RUNNING")
    cluster.run("scontrol", "update", f"jobid={job}", "comment=mine", user="alice")
    assert cluster.job(job)["Comment"] == "mine"


def test_a_partition_that_changes_while_a_job_waits(cluster) -> None:
    """The job waits in a partition of one revision, which then gets nodes of the other."""
    job = submit(cluster, "-N2", "-p", "old", "-H").stdout.strip()
    assert cluster.job(job)["Features"] == "(null)"
    cluster.run("scontrol", "update", "PartitionName=old", "Nodes=n[1-4]")
    try:
        wait_until(lambda: "rev_" in cluster.job(job)["Features"], 20, "bound by the sweep", 0.2)
        cluster.run("scontrol", "release", job, user="alice")
        cluster.wait_job(job)
        assert any(nodes_of(cluster, job) <= side for side in SIDES)
    finally:
        cluster.run("scontrol", "update", "PartitionName=old", "Nodes=n[1-2]")


def test_parallel_submissions_while_the_file_is_replaced(cluster) -> None:
    """Every answer fits one state of cohort.conf, old or new; slurmctld stays up."""
    path = LAB / "etc-slurm" / "cohort.conf"
    good = path.read_text()
    stop = threading.Event()

    def replace() -> None:
        while not stop.wait(0.1):
            fresh = path.with_suffix(".new")
            fresh.write_text(good + f"SweepRate={20 + int(time.monotonic() * 10) % 7}\n")
            os.replace(fresh, path)

    writer = threading.Thread(target=replace)
    writer.start()
    try:
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda i: submit(cluster, f"-N{1 + i % 3}", user=("alice", "bob")[i % 2]), range(64)))
    finally:
        stop.set()
        writer.join()
        path.write_text(good)
    for i, done in enumerate(answers):
        assert (done.returncode != 0) == (i % 3 == 2), (i, done.stderr)
    assert "UP" in cluster.out("scontrol", "ping")


def test_a_file_that_never_ends_stalls_nobody(cluster) -> None:
    """cohort.conf on a file system that hangs: a FIFO that nobody writes into."""
    path = LAB / "etc-slurm" / "cohort.conf"
    good = path.read_text()
    path.unlink()
    os.mkfifo(path)
    try:
        time.sleep(1)
        for options in (["-N1"], ["-N2"]):
            begin = time.monotonic()
            assert submit(cluster, *options).returncode == 0
            assert time.monotonic() - begin < 5  # MessageTimeout is 10
    finally:
        path.unlink()
        path.write_text(good)
