# SPDX-License-Identifier: GPL-2.0-or-later
"""Public bug reports about job_submit plugins, on a cluster of two revisions: n1, n2 = a; n3, n4 = b.

The report, and the rows that show what is right here (without a file: below):
  check bypassed by a later update (Slurm 14539)   test_a_job_of_a_uniform_partition_cannot_be_moved_out_of_one_revision,
                                                   test_a_job_that_leaves_a_uniform_partition_is_bound,
                                                   test_a_requeued_job_is_judged_anew, test_a_partition_that_changes_...,
                                                   test_guard.py test_a_later_update_does_not_escape, test_guard_forms.py
                                                   test_no_update_takes_the_bound_off
  config missing or bad (15234, 9345, 3271)        test_job_submit.py test_a_broken_cohort_conf_at_reconfigure_and_at_start
  races of parallel calls (17636)                  test_parallel_submissions_while_the_file_is_replaced,
                                                   tests/unit/guard_storm_test.cpp and job_submit_storm_test.cpp (make check-tsan)
  arrays: one verdict, one message (14539)         test_an_array_has_one_verdict_..., test_an_update_of_waiting_tasks_...
  het jobs: once per component (6513, 13657)       test_a_het_job_is_refused_as_a_whole, test_guard_forms.py
                                                   test_components_of_a_het_job_are_of_one_revision
  fields that are not ours (3117, 5306, 7767)      test_a_user_may_comment_on_his_running_job, test_job_submit.py
                                                   test_a_comment_on_a_running_rebuild_job, test_a_user_gets_nothing
  NULL and default fields (23497, 12111)           test_what_is_left_out_or_listed, test_srun_has_no_environment_in_its_request,
                                                   test_accounts.py test_without_a_usable_account_..., tests/load/load_test.cpp
  questions from inside slurmctld (045f156603)     test_a_file_that_never_ends_stalls_nobody
"""
from __future__ import annotations

import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import judge
from machines import wait_until
from namespace import LAB
from spanklab import version
from test_guard_traps import LABELS

PARTITIONS = ["PartitionName=main Nodes=n[1-4] Default=YES MaxTime=INFINITE State=UP",
              "PartitionName=old Nodes=n[1-2] MaxTime=INFINITE State=UP",
              "PartitionName=new Nodes=n[3-4] MaxTime=INFINITE State=UP",
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
    for user in judge.USERS:
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


@pytest.fixture
def array(cluster) -> str:
    """Task 4 runs, 3, 5 and 6 wait."""
    job = cluster.submit("-N2", "--exclusive", "-a", "3-6", "-H", user="alice", wrap="sleep 600")
    release(cluster, f"{job}_4")
    wait_until(lambda: tasks(cluster, job, "R", "%K") == ["4"], 30, "task 4 runs")
    return job


def tasks(lab, job: str, states: str, field: str) -> list[str]:
    return sorted(lab.out("squeue", "-h", "-r", "-j", job, "-t", states, "-o", field).split())


@pytest.mark.parametrize("waiting", ["[3,4,5]", "[3-6]", "[3,5]", "3"])
def test_an_update_of_waiting_tasks_leaves_them_and_the_running_one(cluster, array: str, waiting: str) -> None:
    """mixed has one node of each revision: two nodes never fit."""
    done = update(cluster, f"{array}_{waiting}", "partition=mixed")
    assert done.returncode != 0
    assert "429496" not in done.stdout + done.stderr
    assert_told(cluster, done, f"{array}_{waiting}", "rev_")
    assert tasks(cluster, array, "PD", "%P") == ["main"] * 3
    assert tasks(cluster, array, "R", "%P") == ["main"]


def test_an_update_that_fits_reaches_the_waiting_tasks_that_it_names(cluster, array: str) -> None:
    done = update(cluster, f"{array}_[3,5]", "partition=old")
    assert done.returncode == 0, done.stderr
    assert tasks(cluster, array, "PD", "%K:%P") == ["3:old", "5:old", "6:main"]
    assert tasks(cluster, array, "R", "%P") == ["main"]


def update(lab, job: str, *changes: str, user: str = "alice"):
    return lab.run("scontrol", "update", f"jobid={job}", *changes, user=user, check=False)


def assert_told(lab, done, job: str, words: str) -> None:
    """22.05 has no message for who changes a job: slurmctld's log says it."""
    if version() >= (23, 2):
        assert "cohort: " in done.stderr and words in done.stderr, done.stderr
        return
    number = job.translate({ord("["): None, ord("]"): None})  # scontrol leaves them out
    lines = [line for line in lab.log("slurmctld.log").splitlines() if f"change of job {number} by uid 5001 refused: " in line]
    assert lines and words in lines[-1], lines


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
    # Names outside of the partition: Slurm's own refusal.
    (["-N1", "-p", "old", "-w", "n3"], "slurm's"),
    (["-N2", "-p", "old", "-w", "n1,n3"], "slurm's"),
    (["-N2", "-p", "old,new", "-w", "n1,n3"], "slurm's"),
    (["-N1", "-w", "n99"], "slurm's"),
], ids=lambda v: " ".join(v) if isinstance(v, list) else v)  # fmt: skip
def test_what_is_left_out_or_listed(cluster, options: list[str], outcome: str) -> None:
    done = submit(cluster, *options)
    assert (done.returncode != 0) == (outcome in ("refused", "slurm's")), done.stderr
    if done.returncode != 0:
        assert ("cohort: " in done.stderr) == (outcome == "refused"), done.stderr
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


def release(cluster, job: str) -> None:
    """Refused until the plugin has read that the job is bound: "try again in a few seconds"."""
    wait_until(lambda: cluster.run("scontrol", "release", job, user="alice", check=False).returncode == 0, 20,
               f"{job} is released", 0.5)  # fmt: skip


def test_a_partition_that_changes_while_a_job_waits(cluster) -> None:
    """The job waits in a partition of one revision, which then gets nodes of the other."""
    job = submit(cluster, "-N2", "-p", "old", "-H").stdout.strip()
    assert cluster.job(job)["Features"] == "(null)"
    cluster.run("scontrol", "update", "PartitionName=old", "Nodes=n[1-4]")
    try:
        wait_until(lambda: "rev_" in cluster.job(job)["Features"], 20, "bound by the sweep", 0.2)
        release(cluster, job)
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
        with ThreadPoolExecutor(64) as pool:
            answers = list(pool.map(lambda i: submit(cluster, f"-N{1 + i % 3}", user=judge.USERS[i % 8]), range(64)))
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


GROUPS = {f"[{a}|{b}]" for a in LABELS.values() for b in LABELS.values() if a != b}


@pytest.mark.parametrize("change, features", [
    (["Partition=main"], GROUPS),
    (["Partition=main", f"Features={LABELS['n1']}"], {LABELS["n1"]}),
    (["Partition=main", "Features="], GROUPS),
    (["Comment=x"], {"(null)"}),
], ids=lambda v: " ".join(v) if isinstance(v, list) else "")  # fmt: skip
def test_a_job_that_leaves_a_uniform_partition_is_bound(cluster, change: list[str], features: set[str]) -> None:
    job = of_a_uniform_partition(cluster)
    done = update(cluster, job, *change)
    assert done.returncode == 0, done.stderr
    assert cluster.job(job)["Features"] in features
    release(cluster, job)
    cluster.wait_job(job)
    assert any(nodes_of(cluster, job) <= side for side in SIDES)


@pytest.mark.parametrize("change, words", [
    (["Partition=mixed"], "rev_"), (["Partition=main", "NodeList=n2,n3"], "not of one revision"),
    (["Partition=main", f"Features={LABELS['n1']}*1"], "counts"), (["Partition=main", "NumNodes=3-3"], "at most 2 nodes"),
    (["Partition=main", "ExcNodeList=n1,n4"], "rev_"),
], ids=lambda v: " ".join(v) if isinstance(v, list) else "")  # fmt: skip
def test_a_job_of_a_uniform_partition_cannot_be_moved_out_of_one_revision(cluster, change: list[str], words: str) -> None:
    """Old fields and new ones are judged together: what does not fit leaves the job as it was."""
    job = of_a_uniform_partition(cluster)
    before = placement(cluster, job)
    done = update(cluster, job, *change)
    assert done.returncode != 0
    assert_told(cluster, done, job, words)
    assert placement(cluster, job) == before
    # Slurm itself would have taken it: root may.
    assert update(cluster, job, *change, user="root").returncode == 0


def of_a_uniform_partition(lab) -> str:
    job = submit(lab, "-N2", "-p", "old", "-H").stdout.strip()
    wait_until(lambda: job_is_known(lab, job), 20, "the plugin has read the job", 0.2)
    return job


def placement(lab, job: str) -> dict[str, str]:
    shown = lab.job(job)
    return {key: shown[key] for key in ("Partition", "ReqNodeList", "ExcNodeList", "Features", "NumNodes")}


def job_is_known(lab, job: str) -> bool:
    """The queue is read once a second: an update that moves nothing is judged by what was read."""
    done = lab.run("scontrol", "update", f"jobid={job}", "NumNodes=2", user="alice", check=False)
    return done.returncode == 0


def test_a_requeued_job_is_judged_anew(cluster) -> None:
    """It began in a partition of one revision, which has nodes of both when it is sent back."""
    job = cluster.submit("-N2", "-p", "old", "--requeue", user="alice", wrap="sleep 60")
    cluster.wait_job(job, "RUNNING")
    cluster.run("scontrol", "update", "PartitionName=old", "Nodes=n[1-4]")
    try:
        cluster.run("scontrol", "requeue", job, user="alice")
        # While it waits the two minutes that Slurm gives a requeued job.
        wait_until(lambda: "rev_" in cluster.job(job)["Features"], 60, "bound by the sweep", 0.2)
        assert cluster.job(job)["JobState"] == "PENDING"
    finally:
        cluster.run("scontrol", "update", "PartitionName=old", "Nodes=n[1-2]")


@pytest.mark.parametrize("options, words", [
    (["-N1", "-p", "old", ":", "-N2", "-p", "mixed"], "1: this component cannot be of rev_a"),
    (["-N2", "-p", "old", ":", "-N2", "-p", "new"], "1: this component cannot be of rev_a"),
], ids=lambda v: " ".join(v) if isinstance(v, list) else "")  # fmt: skip
def test_a_het_job_is_refused_as_a_whole(cluster, options: list[str], words: str) -> None:
    done = submit(cluster, *options)
    assert done.returncode != 0 and words in done.stderr, done.stderr
    assert not cluster.out("squeue", "-h", "-u", "alice")


def test_srun_has_no_environment_in_its_request(cluster) -> None:
    done = cluster.run("srun", "-N2", "hostname", user="alice", timeout=60)
    assert any(set(done.stdout.split()) <= side for side in SIDES), done.stdout
