# SPDX-License-Identifier: GPL-2.0-or-later
"""Accounts, on a real slurmdbd: a paused account gets no new jobs, a user without a usable account
is told what to do, and rebuild jobs run although their account is paused.

No node is rebooted here (RebootProgram does nothing).
"""
from __future__ import annotations

import json

import pytest

from lab import Lab
from machines import wait_until

STATE = "/var/lib/slurm/slurmctld-cohort"


@pytest.fixture(scope="module")
def cluster(module_lab):
    lab = module_lab(nodes=2, conf={"RebootProgram": "/bin/true"})
    for line in ("add account optics parent=research Description=o Organization=lab",
                 "add user bob Account=optics", "add user alice Account=teaching",
                 "modify user root set QOS+=rebuild"):  # fmt: skip
        lab.run("sacctmgr", "-i", *line.split())
    wait_until(lambda: "nodes" in json.loads(
        lab.run("cat", f"{STATE}/snapshot.json", check=False).stdout or "{}"), 20, "the plugin has read")  # fmt: skip
    return lab


def configure(lab: Lab, **keys) -> None:
    lab.cohort_conf.clear()
    lab.cohort_conf.update(keys)
    lab.write_slurm_conf()
    text = "".join(f"{k}={v}\n" for k, v in keys.items())
    wait_until(lambda: lab.run("cat", f"{STATE}/cohort.conf.good", check=False).stdout == text, 10,
               "cohort.conf is read", 0.1)  # fmt: skip


def submit(lab: Lab, user: str, *options: str):
    return lab.run("sbatch", "--parsable", *options, "--wrap", "sleep 60", user=user, check=False)


def knows_accounts(lab: Lab, user: str, words: str, *options: str) -> str:
    """The plugin reads the associations every 15 s."""
    last = []

    def told() -> bool:
        last[:] = [submit(lab, user, *options).stderr]
        return words in last[0]

    wait_until(told, 25, f"{user} is told: {words}; last: {last}", 0.5)
    return last[0]


def test_a_paused_account_gets_no_new_jobs(cluster):
    running = submit(cluster, "alice").stdout.strip()
    waiting = submit(cluster, "alice", "-H").stdout.strip()
    cluster.wait_job(running, "RUNNING")
    configure(cluster, DeniedAccounts="Research")
    text = knows_accounts(cluster, "alice", "(-A NAME): teaching")
    assert "account research (your default) is paused" in text and "Its running jobs go on" in text
    assert text.count("\n") <= 4
    assert submit(cluster, "alice", "-A", "research").returncode != 0
    assert submit(cluster, "alice", "-A", "teaching").returncode == 0
    below = submit(cluster, "bob", "-A", "optics")
    assert below.returncode != 0
    assert "optics is paused, as all of Research are" in below.stderr
    assert submit(cluster, "carol").returncode == 0
    assert cluster.job(running)["JobState"] == "RUNNING"
    assert cluster.job(waiting)["JobState"] == "PENDING"


def test_a_job_cannot_be_moved_to_a_paused_account(cluster):
    configure(cluster, DeniedAccounts="research")
    job = submit(cluster, "alice", "-H", "-A", "teaching").stdout.strip()
    moved = cluster.run("scontrol", "update", f"jobid={job}", "account=research", user="alice", check=False)
    assert moved.returncode != 0
    assert cluster.job(job)["Account"] == "teaching"
    cluster.run("scontrol", "update", f"jobid={job}", "timelimit=5", "name=other", user="alice")
    cluster.run("scontrol", "update", f"jobid={job}", "account=research")  # root decides
    assert cluster.job(job)["Account"] == "research"


def test_without_a_usable_account_the_user_is_told(cluster):
    configure(cluster)
    text = submit(cluster, "carol", "-A", "research").stderr
    assert "you may not use account research. Yours (-A NAME): teaching." in text
    assert "Invalid account" in text  # Slurm's own
    cluster.run("scancel", "--user=carol")
    wait_until(lambda: not cluster.out("squeue", "-h", "-u", "carol"), 20, "carol has no job")
    cluster.run("sacctmgr", "-i", "delete", "user", "carol")
    knows_accounts(cluster, "carol", "you have no account on this cluster")


def test_rebuild_jobs_run_under_their_own_qos(cluster):
    """The account's QOS is paused by the Waldur agent: root's rebuild job still starts."""
    for line in ("add qos paused GrpSubmitJobs=0 Flags=DenyOnLimit",
                 "modify account research set QOS=paused,rebuild DefaultQOS=paused",
                 "modify user root set QOS=paused,rebuild DefaultQOS=paused"):  # fmt: skip
        cluster.run("sacctmgr", "-i", *line.split())
    configure(cluster, DeniedAccounts="research", RebuildQos="rebuild")
    done = []

    def accepted() -> bool:
        done[:] = [cluster.run("sbatch", "--parsable", "--reboot", "-A", "research", "-w", "n1",
                               "--wrap", "true", check=False)]
        return done[0].returncode == 0

    wait_until(accepted, 10, f"the rebuild job is accepted: {done}", 1)
    job = done[0].stdout.strip()
    assert (cluster.job(job)["QOS"], cluster.job(job)["Account"]) == ("rebuild", "research")
    refused = submit(cluster, "root", "-A", "research", "-w", "n2")
    assert "account research is paused" in refused.stderr  # only rebuild jobs are let through
    cluster.run("scancel", "--user=alice")
    wait_until(lambda: cluster.job(job)["JobState"] in ("CONFIGURING", "RUNNING"), 30, "the rebuild job starts")
