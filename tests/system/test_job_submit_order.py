# SPDX-License-Identifier: GPL-2.0-or-later
"""On one node: the running job A undisturbed, then the rebuild job R, then B, queued before R."""
from __future__ import annotations

import threading

import pytest

from machines import wait_until
from namespace import LAB

REBOOT = "#!/bin/sh\necho \"$1\" >> /shared/reboot.calls\n"
MAIN = "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1"
URGENT = "PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10"
SITES = {
    "no preemption": ({}, [MAIN], {}, []),
    "preemption by partition": (
        {"PreemptType": "preempt/partition_prio", "PreemptMode": "REQUEUE"},
        [MAIN, URGENT],
        {"RebuildPartition": "urgent"},
        ["RebuildPartition=urgent is not used: its PriorityTier lets it preempt running jobs"],
    ),
    "suspension by partition": (
        {"PreemptType": "preempt/partition_prio", "PreemptMode": "SUSPEND,GANG"},
        [MAIN, URGENT],
        {"RebuildPartition": "urgent"},
        ["RebuildPartition=urgent is not used"],
    ),
    "a preempting QOS": (
        {"PreemptType": "preempt/qos", "PreemptMode": "REQUEUE"},
        [MAIN],
        {"RebuildQos": "rebuild"},
        ["RebuildQos=rebuild is not set: it may preempt running jobs"],
    ),
}


def power_when_called(lab, ended: threading.Event) -> None:
    """The cloud: reboots what RebootProgram was called for, a moment later."""
    done = 0
    while not ended.wait(0.2):
        calls = LAB / "shared" / "reboot.calls"
        names = calls.read_text().split() if calls.exists() else []
        for name in names[done:]:
            if not ended.wait(2):  # a boot within a second of the call can be missed
                lab.power("hard", name)
        done = len(names)


@pytest.fixture
def site(lab, request):
    conf, partitions, cohort_conf, notes = SITES[request.param]
    cluster = lab(nodes=1, conf={"RebootProgram": "/shared/reboot", **conf}, partitions=partitions,
                  cohort_conf=cohort_conf)  # fmt: skip
    (LAB / "shared" / "reboot").write_text(REBOOT)
    (LAB / "shared" / "reboot").chmod(0o755)
    if request.param == "a preempting QOS":
        cluster.run("sacctmgr", "-i", "modify", "qos", "rebuild", "set", "preempt=normal")
        # slurmctld knows it when sacctmgr returns, the plugin with its next reading.
        generation = "grep -o '\"started\":[0-9]*' /var/lib/slurm/slurmctld-cohort/snapshot.json"
        wait_until(lambda: cluster.run("sh", "-c", generation, check=False).returncode == 0, 30,
                   "the plugin has read the cluster once", 0.1)  # fmt: skip
        first = cluster.out("sh", "-c", generation)
        wait_until(lambda: cluster.out("sh", "-c", generation) != first, 30, "a new picture", 0.3)
    ended = threading.Event()
    cloud = threading.Thread(target=power_when_called, args=(cluster, ended))
    cloud.start()
    yield cluster, notes
    ended.set()
    cloud.join()


@pytest.mark.parametrize("site", SITES, indirect=True)
def test_a_then_the_rebuild_job_then_b(site):
    cluster, notes = site
    script = "date +%s.%N >> /shared/home/alice/$SLURM_JOB_NAME; sleep {0}; date +%s.%N >> /shared/home/alice/$SLURM_JOB_NAME"
    a = cluster.submit("-w", "n1", "--exclusive", "-J", "A", wrap=script.format(8))
    cluster.wait_job(a, "RUNNING")
    b = cluster.submit("-w", "n1", "--exclusive", "-J", "B", wrap=script.format(0))
    r = cluster.submit("--reboot", "-w", "n1", "-J", "R", user="root",
                       wrap="date +%s.%N > /shared/R; cat /proc/sys/kernel/random/boot_id >> /shared/R")
    boots = len(cluster.boots("n1"))
    for job in (a, r, b):
        cluster.wait_job(job, "COMPLETED", seconds=120)
    assert len(cluster.boots("n1")) == boots + 1
    home = LAB / "shared" / "home" / "alice"
    ran = {name: [float(t) for t in (home / name).read_text().split()] for name in "AB"}
    rebuilt = float((LAB / "shared" / "R").read_text().split()[0])
    assert len(ran["A"]) == 2 and len(ran["B"]) == 2, "each ran once, to its end"
    assert 8 <= ran["A"][1] - ran["A"][0] < 14, "A was not stopped meanwhile"
    assert ran["A"][1] < rebuilt < ran["B"][0]
    for job in (a, b):
        record = cluster.job(job)
        assert (record["Restarts"], record["SuspendTime"]) == ("0", "None")
    log = cluster.log("slurmctld.log")
    for note in notes:
        assert note in log
