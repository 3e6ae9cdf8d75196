# SPDX-License-Identifier: GPL-2.0-or-later
"""What a bad node costs a two-node batch job, by PrologFlags: the table of spank_cohort(8)."""
from __future__ import annotations

import pytest

import sealed
from machines import wait_until
from spanklab import PROFILE, on, prepare, start

BODY = "touch started; sleep 1; srun -N2 sh -c 'touch ran.$SLURMD_NODENAME'; echo step $? >step"
FLAGS = [None, "Alloc"]


@pytest.fixture(scope="module", params=FLAGS, ids=["none", "Alloc"])
def lab(request, module_lab):
    started = start(module_lab, nodes=2, conf={"PrologFlags": request.param})
    started.flags = request.param
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
    lab.wait_job(job, "PENDING", "FAILED", "COMPLETED", "NODE_FAIL", "CANCELLED", seconds=60)
    # Slurm drains the node before it books the requeue: look once the job is settled.
    settled = ("FAILED", "COMPLETED", "NODE_FAIL", "CANCELLED")
    wait_until(lambda: lab.job(job)["JobState"] in settled or lab.job(job)["Restarts"] == "1", 60,
               f"{job} is settled: {lab.job(job)}", 0.2)  # fmt: skip
    outcome = lab.job(job)
    print(f"MEASURED flags={lab.flags} bad={bad}: batch started={there(lab, 'started')}, step="
          f"{lab.out('sh', '-c', 'cat /shared/home/alice/step 2>/dev/null || echo never')}, "
          f"{outcome['JobState']} {outcome['Reason']} {outcome['ExitCode']} Restarts={outcome['Restarts']}, "
          f"states {lab.node('n1')['State']} {lab.node('n2')['State']}")  # fmt: skip
    assert not there(lab, f"ran.{bad}"), "never a task on the bad node"
    if bad == "n1" or lab.flags:
        assert outcome["JobState"] == "PENDING" and outcome["Restarts"] == "1", "nothing is lost"
    if bad == "n1":
        assert not there(lab, "started")
    lab.run("scancel", job, check=False)
    prepare(lab, sealed.files())
    lab.run("scontrol", "update", f"nodename={bad}", "state=resume")
    lab.wait_nodes("idle")
