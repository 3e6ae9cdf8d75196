# SPDX-License-Identifier: GPL-2.0-or-later
"""What a bad node costs a two-node batch job, by PrologFlags: the table of spank_cohort(8)."""
from __future__ import annotations

import pytest

import sealed
from machines import wait_until
from spanklab import PROFILE, on, prepare, start, version

BODY = "touch started; sleep 1; srun -N2 sh -c 'touch ran.$SLURMD_NODENAME'; echo step $? >step"


DEFER_BATCH = version() >= (24, 11)
FLAGS = [None, "Alloc"] + (["Alloc,DeferBatch"] if DEFER_BATCH else [])


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
