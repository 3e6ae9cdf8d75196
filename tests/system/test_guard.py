# SPDX-License-Identifier: GPL-2.0-or-later
"""The guard in a real slurmctld: no job of two nodes gets two revisions, and nobody loses a job.

Labels are written into node Extra, as join does; the plugin's thread puts the features there.
"""
from __future__ import annotations

import json
import time

import pytest

import services
from machines import wait_until

A, B = "rev_" + "a" * 16, "rev_" + "b" * 16
OLD = {"n1": A, "n2": A, "n3": A, "n4": A}
MIXED = {"n1": A, "n2": A, "n3": B, "n4": B}
NEW = {n: B for n in OLD}
GROUPS = {f"[{A}|{B}]", f"[{B}|{A}]"}
FEATURES = {"n1": "gpu,x", "n2": "gpu,y", "n3": "gpu,x", "n4": "gpu,y"}


def label(lab, labels: dict[str, str]) -> None:
    """Publishes LABELS and waits until the plugin has seen them."""
    for node, revision in labels.items():
        lab.run("scontrol", "update", f"NodeName={node}", "Extra=" + json.dumps({"cohort_rev": revision}))
    wait_until(lambda: all(features(lab, n) == f"{FEATURES[n]},{r}" for n, r in labels.items()), 30,
               f"features follow {labels}", 0.1)  # fmt: skip
    wait_until(lambda: seen(lab) == labels, 30, "the plugin has seen the labels", 0.1)


def features(lab, node: str) -> str:
    return lab.node(node)["ActiveFeatures"]


def seen(lab) -> dict[str, str]:
    """Node -> label in the snapshot that the plugin has written."""
    answer = lab.run("cat", "/var/lib/slurm/slurmctld-cohort/snapshot.json", check=False)
    if answer.returncode != 0:
        return {}
    return {name: revision for name, _, revision, _ in json.loads(answer.stdout)["nodes"]}


@pytest.fixture(scope="module")
def cluster(module_lab):
    lab = module_lab(nodes=4, cohort_conf={"Refresh": "200ms", "StaleAfter": "10s"})
    lab.wait_joined()
    site_features(lab)
    return lab


def site_features(lab) -> None:
    """The site's own: a reconfigure and a restart drop them, and only the site can put them back."""
    for node, text in FEATURES.items():
        if not features(lab, node).startswith(text):
            lab.run("scontrol", "update", f"NodeName={node}", f"AvailableFeatures={text}", f"ActiveFeatures={text}")


@pytest.fixture
def mixed(cluster):
    site_features(cluster)
    label(cluster, MIXED)
    yield cluster
    for user in ("alice", "bob"):
        cluster.run("scancel", "-u", user)
    wait_until(lambda: set(cluster.node_states().values()) == {"idle"}, 60, "all idle")


def held(lab, *options: str) -> tuple[dict[str, str], str]:
    """A held job of alice: its record, and what she was told."""
    answer = lab.run("sbatch", "--parsable", "-H", *options, "--wrap", "true", user="alice")
    return lab.job(answer.stdout.strip().split(";")[0]), answer.stderr


def refused(lab, *options: str) -> str:
    answer = lab.run("sbatch", *options, "--wrap", "true", user="alice", check=False)
    assert answer.returncode != 0, answer.stdout
    return answer.stderr


def test_while_all_is_of_one_revision_nothing_is_done(cluster) -> None:
    label(cluster, OLD)
    job, told = held(cluster, "-N2")
    assert (job["Features"], told) == ("(null)", "")
    cluster.run("scancel", job["JobId"])


@pytest.mark.parametrize("options, wanted", [
    (["-N2"], GROUPS),
    (["-N2", "-C", "gpu"], {f"gpu&{g}" for g in GROUPS}),
    (["-N2", "-C", "x|y"], {f"(x|y)&{g}" for g in GROUPS}),
    (["-n8"], GROUPS),
    (["-N2", "-C", "[gpu|y]"], {f"[gpu|y]&{A}", f"[gpu|y]&{B}"}),
    (["-N2", "-w", "n3,n4"], {B}),
    (["-N2", "-C", f"gpu&{B}"], {f"gpu&{B}"}),
    (["-N1"], {"(null)"}),
    (["-n1"], {"(null)"}),
    (["-a", "1-5", "-N2"], GROUPS),
], ids=str)  # fmt: skip
def test_a_job_that_could_span_is_bound(mixed, options, wanted) -> None:
    job, told = held(mixed, *options)
    assert job["Features"] in wanted
    assert ("cohort" in told) == (job["Features"] not in ("(null)", f"gpu&{B}"))


@pytest.mark.parametrize("options, words", [
    (["-N3"], "at most 2 nodes"),
    (["-N2", "-w", "n1,n3"], "not of one revision"),
    (["-N2", "-C", "gpu*1"], "counts"),
], ids=str)  # fmt: skip
def test_what_cannot_be_bound_is_refused_with_the_way_out(mixed, options, words) -> None:
    assert words in refused(mixed, *options)


@pytest.mark.parametrize("prefer, wanted", [("gpu", "gpu&"), ("x", "")])
def test_prefer_is_bound_too(mixed, prefer: str, wanted: str) -> None:
    """x: one node of each revision has it. With it no revision could meet the preference, and 22.05 would refuse the job."""
    job, _ = held(mixed, "-N2", "-C", "x|y", f"--prefer={prefer}")
    assert job["Features"] in {f"(x|y)&{g}" for g in GROUPS}

    def shown() -> str:
        return mixed.job(job["JobId"]).get("Prefer", "")

    assert shown() in {wanted + g for g in GROUPS}
    label(mixed, NEW)
    wait_until(lambda: shown() == prefer, 30, f"given back: {shown()}", 0.5)


def test_components_of_a_het_job_are_of_one_revision(mixed) -> None:
    answer = mixed.out("sbatch", "--parsable", "-H", "-N1", "-C", "x", ":", "-N1", "-C", "y",
                       "--wrap", "true", user="alice")  # fmt: skip
    lines = mixed.out("scontrol", "-o", "show", "job", answer.split(";")[0]).splitlines()
    got = [line.split("Features=")[1].split()[0] for line in lines]
    assert got in ([f"x&{A}", f"y&{A}"], [f"x&{B}", f"y&{B}"])
    mixed.run("scancel", answer.split(";")[0])


def test_one_update_of_several_components_is_bound_once(mixed) -> None:
    """Slurm asks for each of them with one description, in which the answer to the first stands."""
    number = mixed.out("sbatch", "--parsable", "-H", "-N1", ":", "-N1", "--wrap", "true", user="alice").split(";")[0]

    def features() -> list[str]:
        lines = mixed.out("scontrol", "-o", "show", "job", number).splitlines()
        return [line.split("Features=")[1].split()[0] for line in lines]

    wait_until(lambda: mixed.run("scontrol", "update", f"JobId={number}", "Features=gpu", user="alice",
                                 check=False).returncode == 0, 20, "the thread knows the job", 0.2)  # fmt: skip
    assert features() in ([f"gpu&{A}"] * 2, [f"gpu&{B}"] * 2)
    label(mixed, NEW)
    wait_until(lambda: features() == ["gpu", "gpu"], 30, f"each has what its user gave: {features()}", 0.5)
    assert "cohort" not in mixed.out("scontrol", "show", "job", number)
    mixed.run("scancel", number)


def test_a_job_that_its_user_held_does_not_escape_by_its_release(cluster) -> None:
    """Taken while all was of one revision; its counts cannot be bound."""
    site_features(cluster)
    label(cluster, OLD)
    counts = held(cluster, "-N2", "-C", "gpu*1")[0]["JobId"]
    plain = held(cluster, "-N2")[0]["JobId"]
    label(cluster, MIXED)

    def release(number: str) -> bool:
        return cluster.run("scontrol", "release", number, user="alice", check=False).returncode == 0

    wait_until(lambda: release(plain), 20, "the thread has bound it", 0.2)
    assert cluster.job(plain)["Features"] in GROUPS
    assert not release(counts)
    assert cluster.job(counts)["Priority"] == "0"
    cluster.run("scancel", "-u", "alice")
    wait_until(lambda: set(cluster.node_states().values()) == {"idle"}, 60, "all idle")


@pytest.mark.parametrize("constraint", ["", f"[{A}|{B}]"], ids=["nothing", "his own group"])
def test_a_waiting_node_list_does_not_start_when_one_of_its_nodes_has_changed(mixed, constraint: str) -> None:
    """Slurm alone starts his group then (test_guard_traps.py). What he asked for comes back with the label."""
    blocker = mixed.submit("-w", "n1", "--exclusive", user="bob", wrap="sleep 600")
    mixed.wait_job(blocker, "RUNNING")
    options = ["-C", constraint] if constraint else []
    job = mixed.submit("-N2", "-w", "n1,n2", *options, wrap="sleep 1")
    assert A in mixed.job(job)["Features"]
    label(mixed, {**MIXED, "n1": B})
    mixed.run("scancel", blocker)
    wait_until(lambda: mixed.node_states()["n1"] == "idle", 20, "n1 is free")
    time.sleep(5)
    assert mixed.job(job)["JobState"] == "PENDING"
    label(mixed, MIXED)
    mixed.wait_job(job, "COMPLETED", seconds=120)
    assert mixed.job(job)["NodeList"] == "n[1-2]"


def test_a_later_update_does_not_escape(mixed) -> None:
    job, _ = held(mixed, "-N2")
    number = job["JobId"]
    time_left = time.monotonic() + 20  # the queue is read once a second

    def update(*what: str) -> bool:
        return mixed.run("scontrol", "update", f"JobId={number}", *what, user="alice", check=False).returncode == 0

    while not update("Features=gpu"):
        assert time.monotonic() < time_left
        time.sleep(0.2)
    assert mixed.job(number)["Features"] in {f"gpu&{g}" for g in GROUPS}
    assert update("Features=")
    assert mixed.job(number)["Features"] in GROUPS
    assert not update("NodeList=n1,n3")
    assert not update("NumNodes=3")
    assert mixed.job(number)["NumNodes"].startswith("2")
    assert update("Comment=x")
    assert update("NodeList=n3,n4")
    assert mixed.job(number)["Features"] == B
    wait_until(lambda: mixed.run("scontrol", "release", number, user="alice", check=False).returncode == 0, 20,
               "its bound is known", 0.5)  # fmt: skip
    mixed.wait_job(number, "COMPLETED", "RUNNING")


def test_the_queue_is_bound_and_given_back(cluster) -> None:
    label(cluster, OLD)
    plain = [held(cluster, "-N2")[0]["JobId"] for _ in range(3)]
    featured = held(cluster, "-N2", "-C", "x|y")[0]["JobId"]
    array = held(cluster, "-N2", "-a", "1-5")[0]["JobId"]
    alone = held(cluster, "-N1")[0]["JobId"]
    label(cluster, MIXED)
    wait_until(lambda: all(cluster.job(j)["Features"] in GROUPS for j in [*plain, array]), 30, "bound", 0.2)
    assert cluster.job(featured)["Features"] in {f"(x|y)&{g}" for g in GROUPS}
    assert cluster.job(alone)["Features"] == "(null)"
    label(cluster, NEW)
    wait_until(lambda: all(cluster.job(j)["Features"] == "(null)" for j in [*plain, array]), 30, "given back", 0.2)
    assert cluster.job(featured)["Features"] == "x|y"
    assert "cohort" not in cluster.out("scontrol", "show", "job", featured)
    cluster.run("scancel", "-u", "alice")


def test_pairs_run_on_one_side_while_singles_run_everywhere(mixed) -> None:
    jobs = [mixed.submit("-N2", wrap="srun hostname; sleep 0.2") for _ in range(20)]
    jobs += [mixed.submit("-N1", "-n1") for _ in range(10)]
    for job in jobs:
        mixed.wait_job(job, "COMPLETED", seconds=180)
        nodes = mixed.out("scontrol", "show", "hostnames", mixed.job(job)["NodeList"]).split()
        assert len({MIXED[n] for n in nodes}) == 1, nodes


@pytest.mark.parametrize("what", ["reconfigure", "restart"])
def test_labels_come_back_and_nobody_is_refused(mixed, what: str) -> None:
    pending = held(mixed, "-N2")[0]["JobId"]
    if what == "restart":
        services.stop(mixed.controller, "slurmctld")
        services.start_slurmctld(mixed.controller)
    else:
        mixed.run("scontrol", "reconfigure")
    jobs = []
    for _ in range(10):
        answer = mixed.run("sbatch", "--parsable", "-N2", "--wrap", "true", user="alice", check=False)
        assert answer.returncode == 0, answer.stderr
        jobs.append(answer.stdout.strip())
    wait_until(lambda: all(r in features(mixed, n) for n, r in MIXED.items()), 30, "labels are back", 0.1)
    mixed.run("scontrol", "release", pending)
    for job in [*jobs, pending]:
        mixed.wait_job(job, "COMPLETED", seconds=180)
        nodes = mixed.out("scontrol", "show", "hostnames", mixed.job(job)["NodeList"]).split()
        assert len({MIXED[n] for n in nodes}) == 1, nodes
