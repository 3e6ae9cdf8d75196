# SPDX-License-Identifier: GPL-2.0-or-later
"""What a bad node costs a two-node batch job, by PrologFlags: the table of spank_cohort(8).

Contain gives each node of a job an extern step, which has init and exit alone of the hooks of a step.
"""
from __future__ import annotations

import pytest

import sealed
from machines import wait_until
from spanklab import PROFILE, on, prepare, start, version

BODY = "touch started; sleep 1; srun -N2 sh -c 'touch ran.$SLURMD_NODENAME'; echo step $? >step"


DEFER_BATCH = version() >= (24, 11)
CONTAIN = "Alloc,Contain"
FLAGS = [None, "Alloc", CONTAIN] + (["Alloc,DeferBatch"] if DEFER_BATCH else [])


@pytest.fixture(scope="module", params=FLAGS, ids=[flags or "none" for flags in FLAGS])
def lab(request, module_lab):
    started = start(module_lab, nodes=2, conf={"PrologFlags": request.param})
    started.flags = request.param or ""
    return started


def there(lab, name: str) -> bool:
    return lab.run("test", "-e", f"/shared/home/alice/{name}", check=False).returncode == 0


@pytest.mark.parametrize("bad", ["n1", "n2"], ids=["first-node-bad", "second-node-bad"])
def test_a_bad_node_of_two(lab, bad):
    prepare(lab, sealed.files())
    lab.run("sh", "-c", "cd /shared/home/alice && rm -f started step ran.*")
    on(lab, bad, f"rm {PROFILE}/vars")
    job = lab.submit("-N2", "-w", "n1,n2", wrap=BODY)
    wait_until(lambda: "DRAIN" in lab.node(bad)["State"], 60, f"{bad} is drained", 0.1)
    # Slurm drains the node before it books the requeue: look once the job is settled.
    ended = ("FAILED", "COMPLETED", "NODE_FAIL", "CANCELLED")

    def settled() -> bool:
        seen = lab.job(job)
        return seen["JobState"] in ended or (seen["JobState"] == "PENDING" and seen["Restarts"] == "1")

    wait_until(settled, 60, f"{job} is settled: {lab.job(job)}", 0.2)
    outcome = lab.job(job)
    print(f"MEASURED {version()} flags={lab.flags} bad={bad}: batch started={there(lab, 'started')}, step="
          f"{lab.out('sh', '-c', 'cat /shared/home/alice/step 2>/dev/null || echo never')}, "
          f"{outcome['JobState']} {outcome['Reason']} {outcome['ExitCode']} Restarts={outcome['Restarts']}, "
          f"states {lab.node('n1')['State']} {lab.node('n2')['State']}")  # fmt: skip
    assert not there(lab, f"ran.{bad}"), "never a task on the bad node"
    if bad == "n1" or lab.flags:
        assert outcome["JobState"] == "PENDING" and outcome["Restarts"] == "1", "nothing is lost"
    if bad == "n1" or "DeferBatch" in lab.flags:
        assert not there(lab, "started"), "the script did not begin"
    lab.run("scancel", job, check=False)
    prepare(lab, sealed.files())
    lab.run("scontrol", "update", f"nodename={bad}", "state=resume")
    lab.wait_nodes("idle")


def give_back(lab, node: str) -> None:
    wait_until(lambda: "DRAIN" in lab.node(node)["State"], 60, f"{node} is drained", 0.1)
    lab.run("scontrol", "update", f"nodename={node}", "state=resume")
    lab.wait_nodes("idle")


@pytest.mark.parametrize("lab", [CONTAIN], indirect=True)
def test_an_extern_step_opens_no_gate_and_closes_none(lab):
    prepare(lab, sealed.files())
    lab.run("sh", "-c", "cd /shared/home/alice && rm -f started step ran.* out go")
    # A good node: the extern step is there and hinders nothing.
    job = lab.submit("-w", "n1", "-o", "out", wrap="touch started; while [ ! -e go ]; do sleep 0.1; done; "
                     "srun touch ran.late; echo step $?")  # fmt: skip
    wait_until(lambda: there(lab, "started"), 30, "the job has begun")
    assert f"{job}.extern" in on(lab, "n1", "ps -A -o args=").replace(f"[{job}.extern]", f"{job}.extern")
    # Damaged during the job: its next step is refused, the job is not lost, the extern step ends with it.
    on(lab, "n1", f"rm {PROFILE}/vars")
    lab.run("touch", "/shared/home/alice/go")
    lab.wait_job(job, "COMPLETED")
    out = lab.out("cat", "/shared/home/alice/out")
    assert "this node may not run your task" in out and "step 1" in out, out
    assert "DRAIN" not in lab.node("n1")["State"]
    lab.wait_nodes("idle")
    # From the beginning: the prolog stands before the extern step as well.
    for command in (["srun"], ["salloc", "-w", "n1", "srun"]):
        done = lab.run(*command, "-w", "n1", "touch", "ran.n1", user="alice", check=False, timeout=60)
        assert done.returncode != 0, done
        give_back(lab, "n1")
    job = lab.submit("-w", "n1", wrap="touch ran.n1")
    wait_until(lambda: lab.job(job)["Restarts"] == "1" and lab.job(job)["JobState"] == "PENDING", 60, "back in the queue", 0.2)
    lab.run("scancel", job)
    give_back(lab, "n1")
    assert not there(lab, "ran.n1") and not there(lab, "ran.late")
    prepare(lab, sealed.files())
