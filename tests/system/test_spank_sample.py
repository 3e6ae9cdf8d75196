# SPDX-License-Identifier: GPL-2.0-or-later
"""The sample configuration on three nodes, one of them bad: a two-node job finds its way by itself."""
from __future__ import annotations

import re
import time

import pytest

import sealed
import slurmconf
from lab import LAB, SOURCE
from machines import wait_until
from spanklab import PROFILE, on, prepare, start
from test_spank_flags import DEFER_BATCH

SAMPLE = (SOURCE / "etc" / "slurm.conf.fragment").read_text()


def said() -> dict[str, str]:
    """What etc/slurm.conf.fragment says about launch gates, for this Slurm."""
    found = dict(re.findall(r"^(PrologFlags|SchedulerParameters)=(\S+)", SAMPLE, re.M))
    if DEFER_BATCH:
        newer = re.search(r"24\.11 and newer: (\S+)", SAMPLE)
        assert newer
        found["PrologFlags"] = newer[1]
    found["SchedulerParameters"] += f",{slurmconf.DEFAULTS['SchedulerParameters']}"
    return found


@pytest.fixture(scope="module")
def lab(module_lab):
    return start(module_lab, nodes=3, conf=said())


@pytest.mark.parametrize("bad", ["n1", "n2"], ids=["first-node-bad", "second-node-bad"])
def test_the_job_is_requeued_without_a_hold_and_completes_elsewhere(lab, bad):
    lab.run("sh", "-c", "rm -f /shared/home/alice/ran.*")
    on(lab, bad, f"rm {PROFILE}/vars")
    job = lab.submit("-N2", wrap="srun -N2 sh -c 'touch ran.$SLURMD_NODENAME'")
    wait_until(lambda: "DRAIN" in lab.node(bad)["State"], 60, f"{bad} is drained", 0.1)
    wait_until(lambda: lab.job(job)["JobState"] == "PENDING" and lab.job(job)["Restarts"] == "1", 60,
               f"{job} is back in the queue: {lab.job(job)}", 0.2)  # fmt: skip
    shown = lab.job(job)
    assert shown["Priority"] != "0" and "held" not in shown["Reason"], "nobody has to release it"
    on(lab, bad, "cohort-node report")  # cohort-report.path
    assert lab.node(bad)["Reason"].startswith("cohort: the task profile is not usable")
    # Slurm lets a requeued job wait for two minutes: not a test's time. But slurmd takes credentials of the second
    # in which the old one was revoked for revoked ones.
    time.sleep(2)
    lab.run("scontrol", "update", f"jobid={job}", "starttime=now")
    lab.wait_job(job, seconds=90)
    good = sorted(set(lab.nodes) - {bad})
    assert sorted(path.name for path in (LAB / "shared/home/alice").glob("ran.*")) == [f"ran.{n}" for n in good]
    prepare(lab, sealed.files(), [bad])
    lab.run("scontrol", "update", f"nodename={bad}", "state=resume")
    lab.wait_nodes("idle")
