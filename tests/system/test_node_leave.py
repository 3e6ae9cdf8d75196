# SPDX-License-Identifier: GPL-2.0-or-later
"""cohort-node leave, on a dynamic node (d) and on one of slurm.conf (n1): jobs end, the node goes.

ReturnToService=2 throughout (the lab's default): what must not come back would.
"""
from __future__ import annotations

import time

import pytest

from lab import LAB
from machines import wait_until

DYNAMIC, STATIC = "n2", "n1"
OPTIONS = """#!/bin/bash
# What /etc/default/slurmd of a dynamic node says.
[ $HOSTNAME != n2 ] || cohort-node revision --slurmd
"""


def script(name: str, text: str) -> None:
    path = LAB / "shared" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture(scope="module")
def lab(module_lab):
    module_lab.stop()
    script("slurmd-options", OPTIONS)
    made = module_lab(nodes=2, dynamic=1, conf={"RebootProgram": "/bin/true"})
    if not made.program("/usr/sbin/cohort-node"):
        pytest.skip("cohort-node is not installed in COHORT_STAGE")
    made.wait_joined()
    return made


def boot(lab, *nodes: str) -> None:
    """A true reboot; ends when the join of that boot has said its last word."""
    before = {n: joins(lab, n) for n in nodes}
    for name in nodes:
        lab.machines[name].power_off()
        lab.machines[name].power_on()
    for name in nodes:
        wait_until(lambda: joins(lab, name) > before[name], 60, f"{name} has joined", 0.1)
    lab.wait_nodes("idle", nodes, seconds=40)


def joins(lab, node: str) -> int:
    return lab.log(f"{node}.console").count("join --after: done")


@pytest.fixture(autouse=True)
def both_are_back(lab):
    yield
    for job in lab.out("squeue", "-h", "-o", "%A").split():
        lab.run("scancel", job, check=False)
    states = lab.node_states()
    boot(lab, *[n for n in (STATIC, DYNAMIC) if states.get(n) != "idle"])


def leave(lab, node: str, *options: str, timeout: float = 60):
    return lab.machines[node].run(["cohort-node", "leave", *options], check=False, timeout=timeout)


def running(lab, node: str, seconds: int, *options: str) -> str:
    job = lab.submit("-w", node, *options, wrap=f"sleep {seconds}")
    lab.wait_job(job, "RUNNING")
    return job


def exists(lab, node: str) -> bool:
    return node in lab.out("sinfo", "-h", "-N", "-o", "%N").split()


def stays_out(lab, node: str, seconds: float = 4) -> None:
    """Pings and registrations come: with ReturnToService=2 a node that is only DOWN would be back."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        lab.run("scontrol", "ping")
        assert "DRAIN" in lab.node(node)["State"], lab.node(node)
        time.sleep(0.5)


def test_a_dynamic_node_lets_its_job_end_and_its_record_is_gone(lab):
    job = running(lab, DYNAMIC, 4)
    done = leave(lab, DYNAMIC)
    assert done.returncode == 0, done
    assert lab.job(job)["JobState"] == "COMPLETED" and lab.job(job)["Restarts"] == "0"
    assert not exists(lab, DYNAMIC)
    assert leave(lab, DYNAMIC).returncode == 0, "again: nothing to do"


def test_a_node_of_slurm_conf_stays_drained_and_a_join_brings_it_back(lab):
    job = running(lab, STATIC, 3)
    done = leave(lab, STATIC)
    assert done.returncode == 0, done
    assert lab.job(job)["JobState"] == "COMPLETED"
    node = lab.node(STATIC)
    assert node["State"] == "IDLE+DRAIN" and node["Reason"].startswith("cohort: leave: "), node
    stays_out(lab, STATIC)
    assert leave(lab, STATIC).returncode == 0, "again: the same"
    done = lab.machines[STATIC].run(["cohort-node", "join", "--after"], check=False)
    assert done.returncode == 0, done
    lab.wait_nodes("idle", [STATIC])  # it stays after all


@pytest.mark.parametrize("node", [STATIC, DYNAMIC])
def test_a_limit_that_passes_leaves_the_job_alone(lab, node):
    job = running(lab, node, 12)
    begin = time.monotonic()
    done = leave(lab, node, "--timeout", "2")
    assert done.returncode == 75 and 2 <= time.monotonic() - begin < 8, done
    assert "goes on" in done.stderr
    assert "DRAIN" in lab.node(node)["State"]
    pending = lab.submit("-w", node)
    stays_out(lab, node)
    assert lab.job(job)["JobState"] == "RUNNING", "it lives"
    assert lab.job(pending)["JobState"] == "PENDING", "nothing new starts"
    lab.wait_job(job)
    assert leave(lab, node).returncode == 0, "run again when it is free"
    assert exists(lab, node) == (node == STATIC)


def test_a_suspended_job_is_waited_for(lab):
    """A node whose jobs are all suspended looks idle."""
    job = running(lab, DYNAMIC, 3)
    lab.run("scontrol", "suspend", job)
    lab.wait_job(job, "SUSPENDED")
    done = leave(lab, DYNAMIC, "--timeout", "3")
    assert done.returncode == 75 and job in done.stderr, done
    assert exists(lab, DYNAMIC)
    lab.run("scontrol", "resume", job)
    assert leave(lab, DYNAMIC).returncode == 0
    assert lab.job(job)["JobState"] == "COMPLETED" and not exists(lab, DYNAMIC)


@pytest.mark.parametrize("node", [STATIC, DYNAMIC])
def test_an_administrators_drain_keeps_its_reason(lab, node):
    lab.run("scontrol", "update", f"nodename={node}", "state=drain", "reason=memory is bad")
    done = leave(lab, node, "--timeout", "5")
    assert done.returncode == 0, done
    assert lab.node(node)["Reason"].startswith("memory is bad"), lab.node(node)
    lab.run("scontrol", "update", f"nodename={node}", "state=resume")


@pytest.mark.parametrize("node", [STATIC, DYNAMIC])
def test_force_ends_the_job_at_once(lab, node):
    job = running(lab, node, 60, "--no-requeue")
    done = leave(lab, node, "--force", timeout=30)
    assert done.returncode == 0, done
    lab.wait_job(job, "NODE_FAIL", seconds=20)
    assert exists(lab, node) == (node == STATIC)
    if node == STATIC:
        assert "DOWN" in lab.node(node)["State"] and "FAIL" in lab.node(node)["State"], "it does not come back"


def test_a_reboot_by_slurm_is_no_leave(lab):
    """A drain would end the rebuild job that waits for this very boot."""
    lab.run("scontrol", "reboot", "ASAP", "nextstate=RESUME", STATIC, check=False)
    wait_until(lambda: "REBOOT" in lab.node(STATIC)["State"], 20, lab.node(STATIC), 0.1)
    done = leave(lab, STATIC)
    assert done.returncode == 0 and "does not leave" in done.stderr, done
    assert "cohort: leave" not in lab.node(STATIC).get("Reason", "")
    time.sleep(3)  # Slurm misses a boot that comes within two seconds of its request


def test_without_a_controller_nothing_is_changed(lab):
    lab.run("scontrol", "update", f"nodename={STATIC}", "comment=x")
    import services

    services.stop(lab.controller, "slurmctld")
    try:
        done = leave(lab, STATIC, "--timeout", "3")
        assert done.returncode == 3 and "reconcile" in done.stderr, done
    finally:
        services.start_slurmctld(lab.controller)


@pytest.mark.parametrize("words", [["--timeout", "soon"], ["--timeout"], ["now"]])
def test_bad_words_are_refused(lab, words):
    done = leave(lab, STATIC, *words)
    assert done.returncode == 2, done
    assert lab.node(STATIC)["State"] == "IDLE"
