# SPDX-License-Identifier: GPL-2.0-or-later
"""scohort rebuild, advance, pause, resume, abort, retry, rollback on real nodes.

Judged from outside: what sinfo and squeue show several times a second, and what the nodes write of
themselves at each boot.
"""
from __future__ import annotations

import json
import os
import threading
import time

import pytest

from machines import wait_until

COHORT = {"VerifyWait": "40s", "SoftRebootTime": "10s", "MaxPendingRebuilds": "8"}
# 22.05 starts a job of a node that came back on a tick of 30 s.
NODE_TIME = 45
OUT = ("down", "drain", "fail", "boot", "reboot", "maint")


class Sampler(threading.Thread):
    """How many nodes are out of service, five times a second; a node whose rebuild job has begun is
    out, whatever sinfo says."""

    def __init__(self, cluster) -> None:
        super().__init__(daemon=True)
        self._cluster = cluster
        self._enough = threading.Event()
        self.worst: set[str] = set()
        self.samples = 0

    def run(self) -> None:
        command = ("sinfo -h -N -o 'S %N %T'; squeue -h -n cohort-rebuild -t R,CF,CG -o 'J %N'")
        while not self._enough.wait(0.2):
            done = self._cluster.run("sh", "-c", command, check=False)
            if done.returncode != 0:
                continue
            out = set()
            for line in done.stdout.splitlines():
                kind, node, *state = line.split()
                if kind == "J" or any(word in state[0] for word in OUT):
                    out.add(node)
            self.samples += 1
            self.worst = max(self.worst, out, key=len)

    def end(self) -> None:
        self._enough.set()
        self.join()


def extra(cluster, node: str) -> dict:
    text = cluster.node(node).get("Extra", "")
    return json.loads(text) if text.startswith("{") else {}


def content(cluster, node: str) -> str:
    return cluster.boots(node)[-1]["content"]


def plan(cluster, *options: str) -> dict[str, dict]:
    rows = json.loads(cluster.out("scohort", "plan", "--json", *options))["plan"]
    return {row["node"]: row for row in rows}


def jobs(cluster) -> dict[str, tuple[str, str]]:
    """Node -> state and priority of its rebuild job."""
    text = cluster.out("squeue", "-h", "-n", "cohort-rebuild", "-o", "%n %t %p")
    return {n: (state, priority) for n, state, priority in (line.split() for line in text.splitlines())}


def held(cluster) -> set[str]:
    return {n for n, (state, priority) in jobs(cluster).items() if state == "PD" and float(priority) == 0}


def ended(cluster, seconds: float) -> None:
    wait_until(lambda: "no rollout is under way" in cluster.out("scohort", "resume"), seconds,
               f"the rollout ends: {jobs(cluster)} {cluster.node_states()}", 1)  # fmt: skip
    cluster.wait_nodes("idle", seconds=40)


@pytest.fixture(scope="module")
def cluster(module_lab):
    lab = module_lab(nodes=6, cloud={"rebuild_delay": 1.0, "reboot_delay": 0.2}, cohort_conf=COHORT,
                     advance_every=1.0)  # fmt: skip
    for node in lab.nodes:
        wait_until(lambda: "cohort_root" in extra(lab, node), 60, f"{node} has joined")
    return lab


def test_a_rollout_does_not_begin_on_unlabelled_nodes(cluster) -> None:
    for node in cluster.nodes:
        cluster.set_desired(node, "v2")
    done = cluster.run("scohort", "rebuild", check=False)
    assert done.returncode == 4 and "scohort adopt -w n[1-6]" in done.stderr
    assert not jobs(cluster)
    cluster.run("scohort", "adopt")


def test_bad_words_are_refused_with_what_is_expected(cluster) -> None:
    for options, words in [(("--max-unavailable", "0"), "1% to 100%"), (("--max-unavailable", "x"), "1% to 100%"),
                           (("--min-available", "120%"), "0% to 100%"), (("--window", "22-6"), "HH:MM-HH:MM"),
                           (("--soak", "soon"), "such as 30min"), (("-w", "n9"), "no node n9"),
                           (("-p", "nowhere"), "no partition nowhere"), (("-w", "n1", "-p", "main"), "not several"),
                           (("--order", "best"), "order"), (("--to", "v9"), "v9")]:  # fmt: skip
        done = cluster.run("scohort", "rebuild", *options, check=False)
        assert done.returncode in (1, 2) and words in done.stderr, (options, done)
    assert not jobs(cluster)


def test_the_plan_says_what_would_be_done_and_a_dry_run_does_nothing(cluster) -> None:
    job = cluster.submit("-w", "n2", "-t", "10", wrap="sleep 600")
    cluster.wait_job(job, "RUNNING")
    rows = plan(cluster)
    assert {row["verdict"] for row in rows.values()} == {"rebuild"}
    assert rows["n2"]["job"].startswith(f"{job} until ") and rows["n1"]["job"] == "-"
    assert rows["n1"]["label"].startswith("rev_") and rows["n1"]["to_label"] != rows["n1"]["label"]
    assert plan(cluster, "--to", "v1")["n1"]["verdict"] == "skip"
    assert set(plan(cluster, "-w", "n[2-3]")) == {"n2", "n3"}
    assert set(plan(cluster, "-p", "main")) == set(plan(cluster, "main")) == set(cluster.nodes)
    done = cluster.run("scohort", "rebuild", "--dry-run", "-w", "n[1-3]")
    assert "rebuild v1 -> v2: n[1-3]" in done.stdout
    assert not jobs(cluster)
    cluster.run("scancel", job)


def test_never_more_nodes_out_than_allowed(cluster) -> None:
    long = cluster.submit("-w", "n1", "-t", "10", wrap="sleep 600")
    cluster.wait_job(long, "RUNNING")
    sampler = Sampler(cluster)
    sampler.start()
    began = time.monotonic()
    done = cluster.run("scohort", "rebuild", "--max-unavailable", "2", "--reason", "v2 for all")
    assert "begins with 6 of 6 nodes: v2 for all" in done.stdout
    assert len(jobs(cluster)) == 6 and len(held(cluster)) == 4
    assert "n1" in held(cluster), "the slots go to idle nodes"
    # Run again: nothing is begun twice.
    again = cluster.run("scohort", "rebuild", "--max-unavailable", "2")
    assert "belongs to rollout 1, which is under way" in again.stderr
    assert len(jobs(cluster)) == 6
    wait_until(lambda: set(jobs(cluster)) == {"n1"}, 5 * NODE_TIME, f"all but n1: {jobs(cluster)}", 1)
    assert content(cluster, "n1") == "v1" and cluster.job(long)["JobState"] == "RUNNING"
    cluster.run("scancel", long)
    ended(cluster, 2 * NODE_TIME)
    sampler.end()
    print(f"{time.monotonic() - began:.0f} s, {sampler.samples} samples, worst {sampler.worst}")
    assert sampler.samples > 50 and len(sampler.worst) <= 2, sampler.worst
    assert all(content(cluster, n) == "v2" and len(cluster.boots(n)) == 2 for n in cluster.nodes)
    assert {row["verdict"] for row in plan(cluster).values()} == {"skip"}
    assert "nothing to do" in cluster.out("scohort", "rebuild")


def test_pause_resume_and_abort(cluster) -> None:
    """--to names an image; slots go to what is idle and are taken back from what stays busy."""
    busy = {n: cluster.submit("-w", n, "-t", "30", wrap="sleep 900") for n in ("n1", "n2")}
    for job in busy.values():
        cluster.wait_job(job, "RUNNING")
    cluster.run("scohort", "rebuild", "-w", "n[1-2]", "--to", "v3", "--max-unavailable", "2")
    wait_until(lambda: not held(cluster), 10, "both may begin")
    cluster.run("scohort", "pause", "--reason", "lunch")
    assert held(cluster) == {"n1", "n2"}
    cluster.run("scohort", "advance")
    assert held(cluster) == {"n1", "n2"}
    # An administrator's own hold is not ours to lift.
    cluster.run("scohort", "resume")
    assert not held(cluster)
    number = cluster.out("squeue", "-h", "-n", "cohort-rebuild", "-w", "n1", "-o", "%i") or cluster.out(
        "squeue", "-h", "-n", "cohort-rebuild", "-o", "%i %n").split()[0]  # fmt: skip
    cluster.run("scontrol", "hold", number)
    cluster.run("scohort", "advance")
    assert len(held(cluster)) == 1
    cluster.run("scohort", "abort", "--reason", "wrong image")
    wait_until(lambda: not jobs(cluster), 10, "its jobs are cancelled")
    assert all(cluster.job(j)["JobState"] == "RUNNING" for j in busy.values())
    cluster.run("scancel", *busy.values())
    cluster.wait_nodes("idle")
    assert content(cluster, "n1") == content(cluster, "n2") == "v2"
    assert plan(cluster)["n1"]["verdict"] == "skip", "an aborted rollout's image is forgotten"


def test_slots_are_taken_back_from_nodes_that_stay_busy(cluster) -> None:
    jobs_of = {n: cluster.submit("-w", n, "-t", "30", wrap="sleep 900") for n in ("n1", "n2")}
    for job in jobs_of.values():
        cluster.wait_job(job, "RUNNING")
    cluster.run("scohort", "rebuild", "-w", "n[1-2]", "--to", "v3", "--max-unavailable", "1")
    waiting = held(cluster)
    assert len(waiting) == 1
    other = waiting.pop()
    cluster.run("scancel", jobs_of[other])
    wait_until(lambda: content(cluster, other) == "v3", NODE_TIME, f"{other} is rebuilt: {jobs(cluster)}")
    busy = "n1" if other == "n2" else "n2"
    assert cluster.job(jobs_of[busy])["JobState"] == "RUNNING"
    cluster.run("scancel", jobs_of[busy])
    ended(cluster, 2 * NODE_TIME)
    assert content(cluster, busy) == "v3"
    # The image that the rollout named holds until the node's file is changed.
    assert plan(cluster)["n1"]["verdict"] == "skip"
    cluster.set_desired("n1", "v1")
    assert plan(cluster)["n1"]["verdict"] == "rebuild"
    cluster.set_desired("n1", "v3")


def test_a_cancelled_job_takes_its_node_out_of_the_rollout(cluster) -> None:
    busy = cluster.submit("-w", "n3", "-t", "30", wrap="sleep 900")
    cluster.wait_job(busy, "RUNNING")
    cluster.run("scohort", "rebuild", "-w", "n3", "--to", "v3")
    cluster.run("scancel", "-n", "cohort-rebuild")
    ended_at_once = lambda: "no rollout is under way" in cluster.out("scohort", "resume")
    wait_until(ended_at_once, 15, "the rollout ends")
    assert not jobs(cluster) and content(cluster, "n3") == "v2"
    cluster.run("scancel", busy)


@pytest.mark.skipif(not os.environ.get("COHORT_LONG"), reason="COHORT_LONG=1: 1 minute more")
def test_rollback_brings_back_what_was_before(cluster) -> None:
    """The newest rollout that changed something is number 3: n1 and n2 to v3."""
    cluster.wait_nodes("idle")
    done = cluster.run("scohort", "rollback", "3")
    assert "takes 2 nodes of rollout 3 back" in done.stdout
    ended(cluster, 4 * NODE_TIME)
    assert content(cluster, "n1") == content(cluster, "n2") == "v2"
    assert plan(cluster)["n2"]["verdict"] == "skip", "it is not taken forward again"
