# SPDX-License-Identifier: GPL-2.0-or-later
"""What Slurm does with the guard's bounds, and with the forms that look right and are not.

No program of ours takes part: these are the facts about slurmctld that common/guard/bound.hpp and
the verdict build on. n1 and n2 carry revision a, n3 and n4 revision b; n1 and n3 are busy, so a job
of two nodes starts at once when and only when Slurm lets it mix. A version that behaves differently
shows here first.
"""
from __future__ import annotations

import time

import pytest

from machines import wait_until
from spanklab import version

A, B = "rev_" + "a" * 16, "rev_" + "b" * 16
LABELS = {"n1": A, "n2": A, "n3": B, "n4": B}
FEATURES = {"n1": "gpu,x", "n2": "gpu,x,y", "n3": "gpu,y", "n4": "gpu,x,y"}
G = f"[{A}|{B}]"
COUNT_AND_GROUP = f"gpu*2&{G}"
COUNTS_AND_PIN = f"[x*1&y*1]&{B}"
NODE_FILE = "/shared/n2-n4"  # n2 and n4, one a line

# Constraint, what happens: mixes | waits | refused.
FORMS = [
    ("", "mixes"),
    ("gpu", "mixes"),
    (f"{A}|{B}", "mixes"),
    (f"gpu&({A}|{B})", "mixes"),
    (f"{B}&x|y", "mixes"),
    ("[x|y]", "mixes"),
    (G, "waits"),
    (f"gpu&{G}", "waits"),
    (f"gpu&x&{G}", "waits"),
    (f"{G}&gpu", "waits"),
    (f"(x|y)&{G}", "waits"),
    (f"x|y&{G}", "waits"),
    (f"{G}&(x|y)", "waits"),
    (f"(x&y)|gpu&{G}", "waits"),
    (f"[(gpu&{A})|(gpu&{B})]", "waits"),
    (f"(x|y)&{B}", "waits"),
    (f"{B}&(x|y)", "waits"),
    (f"(x&y)|gpu&{B}", "waits"),
    (f"[x|y]&{B}", "waits"),
    (f"gpu&[x|y]&{B}", "waits"),
    (f"[(x&{B})*1&(y&{B})*1]", "waits"),
    (f"[(gpu&{B})*2]", "waits"),
    (COUNT_AND_GROUP, "waits" if version() < (26, 5) else "refused"),
    (COUNTS_AND_PIN, "mixes"),  # the pin is taken no notice of
    (f"[x*1&y*1]&{G}", "refused"),
    (f"[x|y]&{G}", "refused"),
    (f"[gpu&{A}|gpu&{B}]", "refused"),
    ("((x|y)&gpu)", "refused"),
    ("[x&y]", "refused"),
]
# Name, options, what happens.
OPTIONS = [
    ("prefer replaces the group", ["-C", G, "--prefer=gpu"], "mixes"),
    ("prefer with the group", ["-C", G, f"--prefer=gpu&{G}"], "waits"),
    ("prefer with an open or", ["-C", G, f"--prefer=(x|y)&{G}"], "waits"),
    ("prefer with a pin", ["-C", B, f"--prefer=[x|y]&{B}"], "waits"),
    ("only prefer had features", ["-C", G, f"--prefer=x&{G}"], "waits"),
    ("a node list that spans, with the group", ["-C", G, "-w", "n2,n4"], "mixes"),
    ("a node file that spans, with the group", ["-C", G, "-F", NODE_FILE], "mixes"),
    ("a node list that spans, with a pin", ["-C", B, "-w", "n2,n4"], "refused"),
    ("a node of one revision, with its pin", ["-C", A, "-w", "n2"], "waits"),
    ("a node list of one revision, with its pin", ["-C", A, "-w", "n1,n2"], "waits"),
    ("exclusive", ["-C", G, "--exclusive"], "waits"),
    ("a range of nodes", ["-C", G, "-N", "2-4"], "waits"),
    ("a batch host's feature", ["-C", f"gpu&{G}", "--batch=gpu"], "waits"),
    ("a batch host's revision", ["-C", G, f"--batch={A}"], "waits"),
]


@pytest.fixture(scope="module")
def cluster(module_lab):
    lab = module_lab(plain=True, nodes=4)
    relabel(lab, **LABELS)
    write_node_file(lab)
    fill(lab)
    return lab


def relabel(lab, **labels: str) -> None:
    for node, label in labels.items():
        both = f"{FEATURES[node]},{label}"
        lab.run("scontrol", "update", f"NodeName={node}", f"AvailableFeatures={both}",
                f"ActiveFeatures={both}")  # fmt: skip


def write_node_file(lab) -> None:
    lab.run("sh", "-c", f"printf 'n2\\nn4\\n' >{NODE_FILE}")


def fill(lab) -> None:
    """n1 and n3 are busy."""
    for node in ("n1", "n3"):
        if lab.node_states()[node] != "alloc":
            lab.submit("-w", node, "--exclusive", user="bob", wrap="sleep 3600")
    wait_until(lambda: lab.node_states()["n1"] == lab.node_states()["n3"] == "alloc", 20, "n1, n3 busy")


@pytest.fixture
def filled(cluster):
    """As the rows above have it, whatever a row of its own does to labels and jobs."""
    relabel(cluster, **LABELS)
    fill(cluster)
    yield cluster
    cluster.run("scancel", "-u", "alice")
    relabel(cluster, **LABELS)
    wait_until(lambda: not cluster.out("squeue", "-h", "-u", "alice"), 30, "no job of alice is left")


def het_components(job: str) -> list[str]:
    """Of two. The number alone shows both, of which lab.job() has the last."""
    return [f"{job}+0", f"{job}+1"]


def nodes_of(lab, job: str) -> set[str]:
    return set(lab.out("scontrol", "show", "hostnames", lab.job(job)["NodeList"]).split())


def outcome(lab, *options: str) -> str:
    answer = lab.run("sbatch", "--parsable", "-N2", *options, "--wrap", "sleep 3600",
                     user="alice", check=False)  # fmt: skip
    if answer.returncode != 0:
        return "refused"
    job = answer.stdout.strip().split(";")[0]
    try:
        deadline = time.monotonic() + 3  # the backfill scheduler comes every 2 s
        while time.monotonic() < deadline:
            seen = lab.job(job)
            if seen["JobState"] == "RUNNING":
                return "mixes"
            time.sleep(0.3)
        return "waits"
    finally:
        lab.run("scancel", job)
        wait_until(lambda: lab.node_states()["n2"] == lab.node_states()["n4"] == "idle", 20, "idle")


@pytest.mark.parametrize("constraint, wanted", FORMS, ids=[f or "nothing" for f, _ in FORMS])
def test_form(cluster, constraint: str, wanted: str) -> None:
    options = ["-C", constraint] if constraint else []
    assert outcome(cluster, *options) == wanted


@pytest.mark.parametrize("options, wanted", [(o, w) for _, o, w in OPTIONS],
                         ids=[n for n, _, _ in OPTIONS])  # fmt: skip
def test_option(cluster, options: list[str], wanted: str) -> None:
    assert outcome(cluster, *options) == wanted


def test_nodes_that_differ_only_in_their_active_features(filled) -> None:
    """Not every version holds a group against ActiveFeatures: labels stand in AvailableFeatures as well."""
    for node, label in LABELS.items():
        filled.run("scontrol", "update", f"NodeName={node}", f"AvailableFeatures={FEATURES[node]},{A},{B}",
                   f"ActiveFeatures={FEATURES[node]},{label}")  # fmt: skip
    seen = outcome(filled, "-C", G)
    print(f"MEASURED {version()} differ only in ActiveFeatures: {seen}")
    assert seen == "waits" or (23, 2) <= version() < (26, 5)


@pytest.mark.parametrize("constraint, ends", [(G, "mixes"), (A, "waits")], ids=["group", "pin"])
def test_a_waiting_node_list_whose_node_changes_its_revision(filled, constraint: str, ends: str) -> None:
    job = filled.submit("-N2", "-C", constraint, "-w", "n1,n2", wrap="sleep 3600")
    time.sleep(2.5)
    assert filled.job(job)["JobState"] == "PENDING"
    relabel(filled, n1=B)
    filled.run("scancel", "-u", "bob")
    if ends == "mixes":
        wait_until(lambda: state(filled, job, release=True) == "RUNNING", 60, f"{job} runs", 0.5)
        assert nodes_of(filled, job) == {"n1", "n2"}
        return
    wait_until(lambda: filled.node_states()["n1"] == "idle", 20, "n1 is free")
    time.sleep(5)
    assert filled.job(job)["JobState"] == "PENDING"


def test_a_group_job_that_has_become_larger_than_either_side(filled) -> None:
    """n1 and n3 alone are left of the two revisions."""
    job = filled.submit("-N2", "-C", G, wrap="sleep 3600")
    time.sleep(1)
    assert filled.job(job)["Reason"] in ("Resources", "Priority", "None"), filled.job(job)
    relabel(filled, n2="rev_" + "c" * 16, n4="rev_" + "c" * 16)
    wait_until(lambda: filled.job(job)["Reason"] == "BadConstraints", 20, "BadConstraints")
    assert filled.job(job)["JobState"] == "PENDING"


def test_components_of_a_het_job_with_the_group_differ(filled) -> None:
    """Each is judged by itself, and only n2 and n4 are free."""
    job = filled.submit("-N1", "--exclusive", "-C", G, ":", "-N1", "--exclusive", "-C", G, wrap="sleep 3600")
    for component in het_components(job):
        filled.wait_job(component, "RUNNING", seconds=40)
    assert set.union(*(nodes_of(filled, c) for c in het_components(job))) == {"n2", "n4"}


def test_larger_than_every_set_is_refused(cluster) -> None:
    answer = cluster.run("sbatch", "-N3", "-C", G, "--wrap", "true", user="alice", check=False)
    assert answer.returncode != 0
    assert "not available" in answer.stderr


def test_one_component_can_be_updated_and_the_leader_updates_all(cluster) -> None:
    """restore needs each component's own features back."""
    answer = cluster.out("sbatch", "--parsable", "-H", "-N1", "-C", "x", ":", "-N1", "-C", "y",
                         "--wrap", "true", user="alice")  # fmt: skip
    job = answer.split(";")[0]
    features = lambda: [
        line.split("Features=")[1].split()[0]
        for line in cluster.out("scontrol", "-o", "show", "job", job).splitlines()
    ]
    assert features() == ["x", "y"]
    cluster.run("scontrol", "update", f"JobId={job}", f"Features={A}")
    assert features() == [A, A]
    cluster.run("scontrol", "update", f"JobId={job}+0", "Features=x")
    cluster.run("scontrol", "update", f"JobId={job}+1", "Features=y")
    assert features() == ["x", "y"]
    cluster.run("scancel", job)


def test_features_are_set_and_cleared_on_arrays(cluster) -> None:
    job = cluster.submit("-H", "-N2", "-a", "1-5", wrap="true")
    cluster.run("scontrol", "update", f"JobId={job}", f"Features={G}")
    assert f"Features={G}" in cluster.out("scontrol", "show", "job", job)
    cluster.run("scontrol", "update", f"JobId={job}", "Features=")
    assert "Features=(null)" in cluster.out("scontrol", "show", "job", job)
    cluster.run("scancel", job)


def test_prefer_can_be_set_and_cleared(cluster) -> None:
    job = cluster.submit("-H", "-N2", "--prefer=x", wrap="true")
    cluster.run("scontrol", "update", f"JobId={job}", f"Prefer=x&{G}")
    assert f"Prefer=x&{G}" in cluster.out("scontrol", "show", "job", job)
    cluster.run("scontrol", "update", f"JobId={job}", "Prefer=x")
    assert "Prefer=x " in cluster.out("scontrol", "-o", "show", "job", job) + " "
    cluster.run("scancel", job)


def test_lost_features_hold_a_job_and_it_heals_by_itself(cluster) -> None:
    """After a restart the labels are gone until somebody puts them back."""
    job = cluster.submit("-N2", "-C", G, wrap="true")
    for node in LABELS:
        cluster.run("scontrol", "update", f"NodeName={node}", f"AvailableFeatures={FEATURES[node]}",
                    f"ActiveFeatures={FEATURES[node]}")  # fmt: skip
    wait_until(lambda: cluster.job(job)["Reason"] == "BadConstraints", 20, "BadConstraints")
    for node, label in LABELS.items():
        both = f"{FEATURES[node]},{label}"
        cluster.run("scontrol", "update", f"NodeName={node}", f"AvailableFeatures={both}",
                    f"ActiveFeatures={both}")  # fmt: skip
    cluster.run("scancel", "-u", "bob")
    cluster.wait_job(job, "RUNNING", "COMPLETED", seconds=60)


def run_to_its_end(cluster, job: str) -> None:
    """22.05 can judge a group and a pin "never runnable" in the pass that gives its nodes away, and
    then holds the job for BadConstraints: a release lets it be judged again."""

    wait_until(lambda: state(cluster, job, release=True) == "COMPLETED", 120, f"job {job} completes", 0.5)


def state(cluster, job: str, release: bool = False) -> str:
    shown = cluster.job(job)
    if release and shown["JobState"] == "PENDING" and shown["Reason"] == "BadConstraints":
        cluster.run("scontrol", "release", job)
    return shown["JobState"]


def submit_at_last(cluster, constraint: str) -> str:
    """For the same reason 22.05 can refuse one at its submission, while nodes are being given away."""
    said = None
    for _ in range(10):
        said = cluster.run("sbatch", "--parsable", "-N2", "--exclusive", "-C", constraint, "--wrap", "true",
                           user="alice", check=False)  # fmt: skip
        if not said.returncode:
            return said.stdout.strip().split(";")[0]
        time.sleep(0.5)
    raise AssertionError(said)


def test_every_form_starts_when_one_side_is_free(cluster) -> None:
    """A form that never starts would hold as well. (sbatch --test-only cannot tell: it takes no
    notice of the group.)"""
    cluster.run("scancel", "-u", "bob")
    wanted = {frozenset({"n1", "n2"}), frozenset({"n3", "n4"})}
    jobs = {submit_at_last(cluster, constraint): constraint for constraint, what in FORMS if what == "waits"}
    for job, constraint in jobs.items():
        run_to_its_end(cluster, job)
        nodes = cluster.out("scontrol", "show", "hostnames", cluster.job(job)["NodeList"]).split()
        assert frozenset(nodes) in wanted, constraint


@pytest.mark.parametrize("constraint, most", [("", 4), (G, 2)], ids=["nothing", "group"])
def test_a_range_that_begins_with_one_node_takes_one_side(cluster, constraint: str, most: int) -> None:
    cluster.run("scancel", "-u", "bob")
    cluster.wait_nodes("idle")
    options = ["-C", constraint] if constraint else []
    job = cluster.submit("-N1-4", *options, wrap="sleep 3600")
    cluster.wait_job(job, "RUNNING")
    nodes = nodes_of(cluster, job)
    cluster.run("scancel", job)
    assert len(nodes) == most
    assert (len({LABELS[node] for node in nodes}) == 1) == bool(constraint)
