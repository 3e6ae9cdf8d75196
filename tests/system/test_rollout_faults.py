# SPDX-License-Identifier: GPL-2.0-or-later
"""A rollout while its helpers die: slurmctld, `scohort advance`, the cloud.

After each fault journal, Slurm and cloud must agree, and nothing may be rebuilt twice: the nodes'
own boots and the cloud's own list of actions are counted. COHORT_LONG=1: each phase also with
SIGKILL and with a reconfigure, the cloud down for 60 s, and 16 nodes under user jobs.
"""
from __future__ import annotations

import json
import os
import random
import time

import pytest

import services
import test_rollout as common
from machines import wait_until
from test_rollout import COHORT, NODE_TIME, Sampler, content, extra, jobs
from workload import Stream, prepare_homes

LONG = bool(os.environ.get("COHORT_LONG"))
WAYS = ("TERM", "KILL", "reconfigure") if LONG else ("KILL",)


# The site's own check, as a test wants it.
HEALTH = """#!/bin/sh
[ ! -e /shared/slow ] || sleep 5
[ ! -e /shared/ill ] || { echo "$COHORT_NODE $COHORT_REVISION: $(cat /shared/ill)" >&2; exit 3; }
"""


@pytest.fixture(scope="module")
def cluster(module_lab):
    lab = module_lab(nodes=8, cloud={"rebuild_delay": 1.0, "reboot_delay": 0.2},
                     cohort_conf=COHORT | {"HealthCheck": "/shared/health"}, advance_every=0)  # fmt: skip
    lab.run("sh", "-c", f"cat >/shared/health <<'.'\n{HEALTH}.\nchmod 755 /shared/health")
    for node in lab.nodes:
        wait_until(lambda: "cohort_root" in extra(lab, node), 60, f"{node} has joined")
    lab.run("scohort", "adopt")
    time.sleep(6)  # slurmctld saves its nodes every five seconds: SIGKILL would undo it
    return lab


def advance(cluster) -> None:
    cluster.run("scohort", "advance", "-q", check=False, timeout=60)


def rebuilds(cluster, node: str) -> int:
    actions = cluster.cloud.state()["servers"][node]["actions"]
    return sum(action["action"] == "rebuild" for action in actions)


def finish(cluster, nodes: list[str], image: str, seconds: float = 4 * NODE_TIME) -> None:
    """Steps until the rollout has ended; then everything agrees."""

    def over() -> bool:  # to resume what is not paused is only a step
        done = cluster.run("scohort", "resume", check=False, timeout=60)
        return "no rollout is under way" in done.stdout

    wait_until(over, seconds, f"it ends: {jobs(cluster)} {cluster.node_states()}", 1)
    cluster.wait_nodes("idle", seconds=60)
    for node in nodes:
        assert content(cluster, node) == image, node
        assert cluster.cloud.state()["servers"][node]["image"] == cluster.image(image).id
        assert extra(cluster, node)["cohort_want"]["result"] == "ok"
        assert extra(cluster, node)["cohort_rev"] in cluster.node(node)["ActiveFeatures"]


def disturb(cluster, way: str) -> None:
    if way == "reconfigure":
        cluster.run("scontrol", "reconfigure")
        return
    services.stop(cluster.controller, "slurmctld", way)
    services.start_slurmctld(cluster.controller)


def begin(cluster, node: str, image: str, *options: str) -> None:
    """After a start of slurmctld nodes are unknown until they have registered."""
    wait_until(lambda: "UNKNOWN" not in cluster.node(node)["State"] if "[" not in node else True, 60, node)
    done = cluster.run("scohort", "rebuild", "-w", node, "--to", image, *options, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def other(cluster, node: str) -> str:
    return "v2" if content(cluster, node) == "v1" else "v1"


# `scohort rebuild`, killed as soon as its rollout stands in the journal: no job was sent yet, or hardly.
KILLED_REBUILD = """
import sqlite3, subprocess, sys
def rollouts():
    try:
        journal = sqlite3.connect("file:/var/lib/slurm/slurmctld-cohort/journal.db?mode=ro", uri=True)
        return journal.execute("select count(*) from rollouts").fetchone()[0]
    except sqlite3.OperationalError:  # not made yet, or being written
        return before
before = 0
before = rollouts()
process = subprocess.Popen(["scohort", "rebuild", "-w", "n1", "--to", sys.argv[1]])
while rollouts() == before and process.poll() is None:
    pass
process.kill()
"""


def test_a_node_that_the_sites_own_check_finds_ill_is_out(cluster) -> None:
    cluster.run("sh", "-c", "echo slow disk of $(hostname) >/shared/ill")
    begin(cluster, "n2", other(cluster, "n2"))
    wait_until(lambda: "FAIL" in cluster.node("n2")["State"], 2 * NODE_TIME, "n2 is out", 0.5)
    assert cluster.node("n2")["Reason"].startswith("cohort: HealthCheck /shared/health: ")
    assert "n2 rev_" in cluster.node("n2")["Reason"] and "slow disk" in cluster.node("n2")["Reason"]
    cluster.run("rm", "/shared/ill")
    wait_until(lambda: advance(cluster) or "failed" in cluster.run("scohort", "status").stdout, 30, "it is told", 1)
    cluster.run("scohort", "abort", check=False)
    cluster.run("scohort", "retry", "n2")
    wait_until(lambda: advance(cluster) or cluster.node("n2")["State"] == "IDLE", 3 * NODE_TIME, "n2 is back", 1)


# Phase -> when it is reached, for node n1.
def planned(cluster) -> None:
    cluster.run("python3", "-c", KILLED_REBUILD, other(cluster, "n1"), timeout=60)


def held(cluster) -> None:
    begin(cluster, "n1", other(cluster, "n1"), "--window", "00:00-00:00")


def pending(cluster) -> None:
    user = cluster.submit("-w", "n1", "-t", "5", wrap="sleep 8")
    cluster.wait_job(user, "RUNNING")
    begin(cluster, "n1", other(cluster, "n1"))
    assert jobs(cluster)["n1"][0] == "PD" and not common.held(cluster)


def before_post(cluster) -> None:
    cluster.cloud.fault(method="POST", path="/action", status=503, count=100000)
    begin(cluster, "n1", other(cluster, "n1"))
    wait_until(lambda: extra(cluster, "n1").get("cohort_want", {}).get("result", "") == "", 30, "announced")


def after_post(cluster) -> None:
    count = rebuilds(cluster, "n1")
    cluster.cloud.set(rebuild_delay=8.0)
    begin(cluster, "n1", other(cluster, "n1"))
    wait_until(lambda: rebuilds(cluster, "n1") > count, 40, "POSTed")


def booting(cluster) -> None:
    boots = len(cluster.boots("n1"))
    begin(cluster, "n1", other(cluster, "n1"))
    wait_until(lambda: len(cluster.boots("n1")) > boots, 40, "n1 boots")


def verifying(cluster) -> None:
    """Its payload runs on the new boot, and the site's own check takes a while."""
    cluster.run("touch", "/shared/slow")
    try:
        begin(cluster, "n1", other(cluster, "n1"))
        wait_until(lambda: jobs(cluster).get("n1", ("",))[0] == "R", 60, "its rebuild job runs")
    finally:
        cluster.run("rm", "/shared/slow")


def done(cluster) -> None:
    begin(cluster, "n1", other(cluster, "n1"))

    def ended() -> bool:
        advance(cluster)
        return "no rollout is under way" in cluster.run("scohort", "resume", check=False).stdout

    wait_until(ended, 3 * NODE_TIME, "it has ended", 1)


ALL_PHASES = [planned, held, pending, before_post, after_post, booting, verifying, done]
PHASES = ALL_PHASES if LONG else [held, booting]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("phase", PHASES, ids=lambda p: p.__name__)
def test_slurmctld_ends_in_each_phase(cluster, phase, way: str) -> None:
    if way == "KILL" and phase in (verifying, done):
        pytest.skip("a slurmctld that loses the job's start to SIGKILL launches it again and drains the node: "
                    "Duplicate jobid")  # fmt: skip
    image, count, boots = other(cluster, "n1"), rebuilds(cluster, "n1"), len(cluster.boots("n1"))
    phase(cluster)
    disturb(cluster, way)
    advance(cluster)
    cluster.cloud.reset()
    cluster.cloud.set(rebuild_delay=1.0)
    if phase is held:
        # SIGKILL loses jobs of the last seconds: advance submits it again.
        wait_until(lambda: advance(cluster) or common.held(cluster) == {"n1"}, 20, "held", 0.5)
        cluster.run("scohort", "abort")
        cluster.wait_nodes("idle", seconds=60)
        assert content(cluster, "n1") != image
        return
    finish(cluster, ["n1"], image)
    assert rebuilds(cluster, "n1") == count + 1, "rebuilt once"
    # A slurmctld that has lost the job's start launches it again: the image is right by then, a reboot.
    assert boots < len(cluster.boots("n1")) <= boots + (2 if way == "KILL" else 1)


def test_advance_killed_between_any_two_acts_and_two_at_once(cluster) -> None:
    """Hundreds of steps that end after a random time, two at once; nothing is done twice."""
    nodes = cluster.nodes
    before = {n: rebuilds(cluster, n) for n in nodes}
    image = "v3"
    chance = random.Random(4)
    sampler = Sampler(cluster)
    sampler.start()
    # rebuild itself dies too: what it began is found again.
    for _ in range(6):
        command = ["timeout", "-s", "KILL", f"{chance.uniform(0.02, 0.5):.3f}", "scohort", "rebuild", "--to", image,
                   "--max-unavailable", "3"]  # fmt: skip
        cluster.run(*command, check=False)
    cluster.run("scohort", "rebuild", "--to", image, "--max-unavailable", "3", check=False, timeout=60)
    deadline = time.monotonic() + 4 * NODE_TIME
    kills = 0
    while time.monotonic() < deadline and any(content(cluster, n) != image for n in nodes):
        loops = []
        for _ in range(2):
            limit = f"{chance.uniform(0.01, 0.3):.3f}"
            script = f"for i in 1 2 3 4 5; do timeout -s KILL {limit} scohort advance -q; done"
            loops.append(cluster.controller.spawn(["bash", "-c", script], "killed.log"))
        for loop in loops:
            loop.wait()
        kills += 10
        if chance.random() < 0.3:
            advance(cluster)
    finish(cluster, nodes, image)
    sampler.end()
    print(f"{kills} steps with a time limit, worst {sampler.worst}")
    assert kills > 50
    assert {n: rebuilds(cluster, n) - before[n] for n in nodes} == {n: 1 for n in nodes}
    assert len(sampler.worst) <= 3, sampler.worst


def test_the_second_of_two_steps_says_so_and_leaves(cluster) -> None:
    hold = cluster.controller.spawn(
        ["flock", "/var/lib/slurm/slurmctld-cohort/advance.lock", "sleep", "20"], "flock.log")
    wait_until(lambda: cluster.run("scohort", "advance", check=False).returncode == 75, 5, "locked out")
    done = cluster.run("scohort", "advance", check=False)
    assert "another advance is at work" in done.stderr and "error" not in done.stderr
    hold.kill()
    cluster.run("pkill", "-x", "sleep", check=False)
    wait_until(lambda: cluster.run("scohort", "advance", check=False).returncode == 0, 5, "free again")


@pytest.mark.skipif(not LONG, reason="COHORT_LONG=1: the cloud down for 60 s, 3 minutes")
def test_a_cloud_that_is_down_in_the_middle_holds_the_rest(cluster) -> None:
    nodes = cluster.nodes[:4]
    before = {n: rebuilds(cluster, n) for n in nodes}
    image = next(i for i in ("v1", "v2", "v3") if i not in {content(cluster, n) for n in nodes})
    begin(cluster, "n[1-4]", image, "--max-unavailable", "1")
    wait_until(lambda: any(rebuilds(cluster, n) > before[n] for n in nodes), 40, "the first is rebuilt")
    cluster.cloud.fault(path=".*", status=503, count=100000)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        advance(cluster)
        time.sleep(1)
    cluster.cloud.reset()
    finish(cluster, nodes, image, 6 * NODE_TIME)
    assert {n: rebuilds(cluster, n) - before[n] for n in nodes} == {n: 1 for n in nodes}


def test_an_administrators_drain_keeps_its_reason_through_a_rollout(cluster) -> None:
    """Drained before its turn: it waits, and the rollout with it; drained while it boots: done."""
    begin(cluster, "n[1-2]", "v2", "--max-unavailable", "1")
    (first,) = [n for n in ("n1", "n2") if n not in common.held(cluster)]
    second = "n2" if first == "n1" else "n1"
    cluster.run("scontrol", "update", f"node={second}", "state=drain", "reason=fan")
    boots = len(cluster.boots(first))
    wait_until(lambda: len(cluster.boots(first)) > boots, 60, f"{first} boots")
    cluster.run("scontrol", "update", f"node={first}", "state=drain", "reason=ECC")

    def ended_first() -> bool:
        advance(cluster)
        return f"{first} runs the image now" in cluster.log("ctl.syslog").rsplit("begins with 2 of 2", 1)[-1]

    wait_until(ended_first, 3 * NODE_TIME, "the first has ended", 1)
    for node, reason in ((first, "ECC"), (second, "fan")):
        shown = cluster.node(node)
        assert "DRAIN" in shown["State"] and shown["Reason"].startswith(reason), shown
    assert content(cluster, second) != "v2" and second in common.held(cluster)
    cluster.run("scontrol", "update", f"node={second}", "state=resume")
    cluster.run("scontrol", "update", f"node={first}", "state=resume")
    finish(cluster, [first, second], "v2")


@pytest.mark.skipif(not LONG, reason="COHORT_LONG=1: 16 nodes under user jobs, 4 minutes")
def test_sixteen_nodes_a_quarter_at_a_time_under_user_jobs(lab) -> None:
    cluster = lab(nodes=16, cloud={"rebuild_delay": 4.0, "reboot_delay": 0.2}, cohort_conf=COHORT, advance_every=2.0)
    for node in cluster.nodes:
        wait_until(lambda: "cohort_root" in extra(cluster, node), 60, f"{node} has joined")
    cluster.run("scohort", "adopt")
    prepare_homes(cluster)
    stream = Stream(cluster)
    stream.start()
    time.sleep(5)
    began = time.monotonic()
    sampler = Sampler(cluster)
    sampler.start()
    cluster.run("scohort", "rebuild", "--to", "v2", "--max-unavailable", "25%", timeout=60)
    wait_until(lambda: "no rollout is under way" in cluster.out("scohort", "resume"), 600, "it ends", 1)
    took = time.monotonic() - began
    sampler.end()
    stream.end()
    wait_until(stream.all_ended, 120, "the last user jobs end", 0.3)
    one = json.loads(cluster.out("scohort", "status", "--json"))["progress"]["node_seconds"]
    print(f"{took:.0f} s, four waves of {one:.0f} s a node: {took / (4 * one):.2f} times; "
          f"{sampler.samples} samples, at most {len(sampler.worst)} out at once")
    assert len(sampler.worst) <= 4, sampler.worst
    assert took <= 1.5 * 4 * one
    assert all(content(cluster, n) == "v2" for n in cluster.nodes)
    assert not stream.submitted.refused
    states = cluster.out("sacct", "-a", "-n", "-P", "-X", "-D", "-u", "alice,bob", "-o", "state").split()
    assert set(states) == {"COMPLETED"}, states
