# SPDX-License-Identifier: GPL-2.0-or-later
"""The guard while nodes really change: rebuilt by the lab cloud, labelled by join, under user jobs.

Judged by what the nodes themselves say: each task of a job writes the content that its node runs.
"""
from __future__ import annotations

import json

import pytest

import slurmconf
from machines import wait_until
from namespace import LAB

SAY = "srun sh -c 'echo $(cat /etc/lab-content) $(hostname) >>/shared/ran.$SLURM_JOB_ID'; sleep 1"
COHORT = {"VerifyWait": "60s", "SoftRebootTime": "10s"}
POLICIES = ("confine", "block", "off", "hold")  # hold ends with all nodes on v2


def ran(job: str) -> list[list[str]]:
    """Content and name of each node that JOB ran on, by their own words."""
    path = LAB / "shared" / f"ran.{job}"
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def contents(job: str) -> set[str]:
    return {content for content, _ in ran(job)}


def rebuild(cluster, node: str) -> str:
    cluster.set_desired(node, "v2")
    return cluster.out("sbatch", "--parsable", "--reboot", "-w", node, "-o", f"/shared/verify.{node}",
                       "--wrap", "cohort-node verify").split(";")[0]  # fmt: skip


def labels(cluster) -> dict[str, str]:
    """Node -> label, of those that have one."""
    known = {node: extra(cluster, node).get("cohort_rev") for node in cluster.nodes}
    return {node: label for node, label in known.items() if label}


def extra(cluster, node: str) -> dict:
    text = cluster.node(node).get("Extra", "")
    return json.loads(text) if text.startswith("{") else {}


@pytest.fixture(scope="module")
def cluster(module_lab):
    lab = module_lab(nodes=4, cloud={"rebuild_delay": 1.0, "reboot_delay": 0.2}, cohort_conf=COHORT,
                     advance_every=2.0)  # fmt: skip
    for node in lab.nodes:
        wait_until(lambda: "cohort_root" in extra(lab, node), 60, f"{node} has joined")
    lab.run("scohort", "adopt")
    wait_labels(lab)
    return lab


def test_adopt_labels_each_node_by_what_it_says_itself(cluster) -> None:
    for node in cluster.nodes:
        own = cluster.machines[node].run(["cat", "/run/cohort/published"]).stdout
        assert labels(cluster)[node] in own
    again = cluster.run("scohort", "adopt")
    assert "labelled already: 4 nodes" in again.stdout


def test_guard_off_gives_jobs_back_and_on_binds_them_again(cluster) -> None:
    cluster.wait_job(rebuild(cluster, "n1"), seconds=180)
    job = cluster.submit("-N2", "-H", wrap="true")
    assert "rev_" in cluster.job(job)["Features"]
    cluster.run("scohort", "guard", "off", "--for", "10min")
    wait_until(lambda: cluster.job(job)["Features"] == "(null)", 30, "given back", 0.2)
    assert cluster.out("scohort", "guard").strip() == "off"
    cluster.run("scohort", "guard", "on")
    wait_until(lambda: "rev_" in cluster.job(job)["Features"], 30, "bound again", 0.2)
    cluster.run("scancel", job)


def test_pending_pairs_and_one_rebuild_by_hand(cluster) -> None:
    """20 pending two-node jobs, one hand-submitted rebuild job, nothing else: 0 mixed, all run."""
    pairs = [cluster.submit("-N2", "--exclusive", wrap=SAY) for _ in range(20)]
    assert any(cluster.job(j)["JobState"] == "PENDING" for j in pairs)
    job = rebuild(cluster, "n2")
    cluster.wait_job(job, seconds=180)
    assert cluster.boots("n2")[-1]["content"] == "v2"
    assert "open for rolling" in cluster.log("ctl.syslog")
    for pair in pairs:
        cluster.wait_job(pair, seconds=240)
        assert len(ran(pair)) == 2 and len(contents(pair)) == 1, ran(pair)


def set_policy(cluster, policy: str) -> None:
    cluster.cohort_conf["MixedRevision"] = policy
    lines = "".join(f"{k}={v}\n" for k, v in cluster.cohort_conf.items())
    slurmconf.write(LAB / "etc-slurm", "cohort.conf", lines)
    cluster.run("scontrol", "reconfigure")  # and the labels come back


def wait_labels(cluster) -> None:
    def back() -> bool:
        known = labels(cluster)
        return all(known[n] in cluster.node(n)["ActiveFeatures"] for n in known)

    wait_until(back, 30, "the labels are in the features", 0.2)


@pytest.mark.parametrize("policy", POLICIES)
def test_submitted_while_nodes_are_of_two_revisions(cluster, policy: str) -> None:
    """n1 and n2 run v2, n3 and n4 v1."""
    set_policy(cluster, policy)
    wait_labels(cluster)

    def submit(*options: str):
        return cluster.run("sbatch", "--parsable", "-o", "/dev/null", *options, "--wrap", SAY,
                           user="alice", check=False)  # fmt: skip

    # Not before the plugin judges by the new file.
    word = {"confine": "stays on one", "block": "takes no job", "hold": "waits until", "off": ""}[policy]

    def known() -> bool:
        # A job that its user holds is not held by us.
        probe = submit("-N2", *([] if policy == "hold" else ["-H"]))
        if probe.returncode == 0:
            cluster.run("scancel", probe.stdout.strip())
        return word in probe.stderr if word else not probe.stderr

    wait_until(known, 30, f"the plugin goes by {policy}", 0.5)
    answers = [submit(*options) for options in
               [("-N2", "--exclusive"), ("-N3",), ("-n8",), ("-N2-3",), ("-N4",), ("-N1",)] * 2]  # fmt: skip
    accepted = [a.stdout.strip() for a in answers if a.returncode == 0]
    refused = [a for a in answers if a.returncode != 0]
    assert len(refused) == {"confine": 4, "block": 10, "hold": 0, "off": 0}[policy], refused
    for job in accepted:
        if policy == "hold" and cluster.job(job)["Priority"] == "0":
            continue
        cluster.wait_job(job, seconds=120)
        assert policy == "off" or len(contents(job)) == 1, ran(job)
    if policy == "off":
        assert all(cluster.job(j)["Features"] == "(null)" for j in accepted)
        assert any(len(contents(j)) == 2 for j in accepted), "the four nodes were of two revisions"
    if policy == "hold":
        waiting = [j for j in accepted if cluster.job(j)["JobState"] == "PENDING"]
        assert len(waiting) == 10
        for node in ("n3", "n4"):
            cluster.wait_job(rebuild(cluster, node), seconds=180)
        for job in waiting:  # released by itself when all are of one revision
            cluster.wait_job(job, seconds=120)
            assert contents(job) == {"v2"}, ran(job)


def test_detach_leaves_no_trace(cluster) -> None:
    """Last: the cluster is as it was before slurm-cohort."""
    set_policy(cluster, "confine")
    for node in ("n3", "n4"):
        cluster.run("scontrol", "update", f"NodeName={node}", 'Extra={"cohort_rev":"rev_' + "c" * 16 + '","site":1}')
    wait_labels(cluster)
    job = cluster.submit("-N2", "-H", wrap="true")
    wait_until(lambda: "rev_" in cluster.job(job)["Features"], 30, "bound", 0.2)
    cluster.run("scohort", "detach", timeout=120)
    shown = cluster.out("scontrol", "show", "job", job)
    assert "cohort" not in shown and "rev_" not in shown
    for node in cluster.nodes:
        text = cluster.out("scontrol", "show", "node", node)
        assert "cohort" not in text and "rev_" not in text
    assert extra(cluster, "n3") == {"site": 1}
