# SPDX-License-Identifier: GPL-2.0-or-later
"""Which hook of a SPANK plugin may fail, and how: Slurm's own table (hook x answer x tool), measured
with a plugin that only fails; and what a fault in each hook of spank_cohort.so does to a job.

A cell is judged by four things: did the task run (a file that it makes), what the user's command
said, what became of the batch job, and the node. COHORT_LONG=1 measures all hooks in which we never
refuse, some of which hang.
"""
from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import sealed
import slurmconf
from conftest import STAGE
from lab import LAB, SOURCE
from machines import wait_until
from spanklab import on, plugstack, prepare, start

PLUGIN = "spank_cohort.so"
TOOLS = ("srun", "sbatch", "salloc")
OURS = ("job_prolog", "task_init_privileged", "task_init")  # the hooks in which we refuse
OTHERS = ("init", "init_post_opt", "user_init", "task_post_fork")
LONG = bool(os.environ.get("COHORT_LONG"))
POSITIVE = "3000"  # ESPANK_ERROR


@pytest.fixture(scope="module")
def lab(module_lab, tmp_path_factory):
    """With spank_cohort.so as it is built for tests: throws in the hook that /run/cohort-fault names."""
    faulty = Path(STAGE).parent / "tests/load/faults/.libs" / PLUGIN
    if not STAGE or not faulty.exists():
        pytest.skip(f"{faulty} was not built: run make check first")
    stage = tmp_path_factory.mktemp("faults") / "stage"
    shutil.copytree(STAGE, stage, symlinks=True)
    (installed,) = stage.rglob(PLUGIN)
    shutil.copy(faulty, installed)
    started = start(module_lab, nodes=1, stage=stage)
    shutil.copy(SOURCE / "tests/system/spank_fails.c", LAB / "shared")
    started.run("gcc", "-shared", "-fPIC", "-o", "/shared/spank_fails.so", "/shared/spank_fails.c", timeout=60)
    version = started.run("slurmctld", "-V").stdout
    started.version = slurmconf.slurm_version(version)
    return started


class Cell:
    """One launch and its outcome."""

    def __init__(self, lab, tool: str) -> None:
        lab.run("rm", "-f", "/shared/home/alice/ran", "/shared/home/alice/out")
        self.code: int | None = None
        self.text = self.exit = ""
        self.held = False
        job = ""
        if tool == "sbatch":
            job = lab.submit("-o", "out", wrap="touch ran")
            settled = ("COMPLETED", "FAILED", "NODE_FAIL", "CANCELLED", "TIMEOUT")
            self._wait(lambda: (at := lab.job(job))["JobState"] in settled
                       or (at["Restarts"] == "1" and at["JobState"] != "COMPLETING"))  # fmt: skip
            record = lab.job(job)
            self.job, self.exit = record["JobState"], record["ExitCode"]
            self.held = record["Priority"] == "0"
            self.text = lab.run("cat", "/shared/home/alice/out", check=False).stdout
        else:
            command = ["srun", "touch", "ran"] if tool == "srun" else ["salloc", "srun", "touch", "ran"]
            done = lab.run("timeout", "-s", "KILL", "15", *command, user="alice", check=False, timeout=40)
            self.code, self.text = done.returncode, done.stdout + done.stderr
            self.job = ""
        self.hung = self.code in (-9, 137) or self.job == "RUNNING"
        self.ran = (LAB / "shared/home/alice/ran").exists()
        self.drained = "DRAIN" in lab.node("n1")["State"]
        if job:
            lab.run("scancel", job, check=False)

    @staticmethod
    def _wait(condition) -> None:
        try:
            wait_until(condition, 15, "", 0.1)
        except TimeoutError:
            pass

    @property
    def success(self) -> bool:
        return self.code == 0 or self.job == "COMPLETED"

    def __str__(self) -> str:
        return (f"{'ran' if self.ran else 'not run'}, {'rc ' + str(self.code) if self.job == '' else self.job} {self.exit}"
                f"{', held' if self.held else ''}{', hung' if self.hung else ''}{', drained' if self.drained else ''}")  # fmt: skip


@pytest.fixture
def cell(lab):
    """Runs a tool and leaves the node as it was."""

    def run(tool: str) -> Cell:
        return Cell(lab, tool)

    yield run
    plugstack()
    on(lab, "n1", "rm -f /run/cohort-fault")
    lab.run("scancel", "-u", "alice", check=False)
    wait_until(lambda: not lab.out("squeue", "-h", "-u", "alice"), 60, "no job is left", 0.2)
    prepare(lab, sealed.files())
    if "DRAIN" in lab.node("n1")["State"]:
        lab.run("scontrol", "update", "nodename=n1", "state=resume")
    lab.wait_nodes("idle", seconds=60)


def fails(hook: str, code: str) -> None:
    plugstack(f"required /shared/spank_fails.so hook={hook} rc={code}")


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("hook", OURS)
def test_slurm_fails_closed_on_minus_one_where_we_refuse(lab, cell, hook, tool):
    """Not run, not reported as a success, not hung; the node is drained by the prolog's hook only."""
    fails(hook, "-1")
    found = cell(tool)
    print(f"MEASURED {lab.version} {hook} -1 {tool}: {found}")
    assert not found.ran and not found.success and not found.hung, str(found)
    assert found.drained == (hook == "job_prolog"), str(found)
    if hook == "job_prolog" and tool == "sbatch":
        assert found.job == "PENDING" and found.held, str(found)
    if hook == "job_prolog" and tool == "srun":
        assert found.code in (1, 182), str(found)  # the job's end or the prolog's error, what srun hears first


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("code", [POSITIVE, "1"])
def test_a_positive_answer_of_job_prolog_is_no_refusal_before_25_05(lab, cell, code, tool):
    fails("job_prolog", code)
    found = cell(tool)
    print(f"MEASURED {lab.version} job_prolog {code} {tool}: {found}")
    old = lab.version < (25, 5)
    assert (found.ran, found.success, found.drained) == (old, old, not old), str(found)


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("hook", OURS)
def test_optional_lets_the_task_run(lab, cell, hook, tool):
    """Why doctor and join want "required"."""
    plugstack(f"optional /shared/spank_fails.so hook={hook} rc=-1")
    found = cell(tool)
    print(f"MEASURED {lab.version} optional {hook} -1 {tool}: {found}")
    assert found.ran and found.success and not found.drained, str(found)


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("hook", OURS[1:])
def test_a_positive_answer_is_no_refusal_before_25_05(lab, cell, hook, tool):
    """Why every hook of ours says -1 (SchedMD issue 50186)."""
    fails(hook, POSITIVE)
    found = cell(tool)
    print(f"MEASURED {lab.version} {hook} {POSITIVE} {tool}: {found}")
    assert found.ran == (lab.version < (25, 5)), str(found)


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("code", ["-1", POSITIVE] if LONG else ["-1"])
@pytest.mark.parametrize("hook", OTHERS if LONG else OTHERS[:2])
def test_where_we_never_refuse(lab, cell, hook, code, tool):
    """Success for a task that never ran, a drained node, or a hang."""
    fails(hook, code)
    found = cell(tool)
    print(f"MEASURED {lab.version} {hook} {code} {tool}: {found}")
    if code != "-1":
        return
    if hook == "task_post_fork" and (23, 11) <= lab.version < (26, 5):
        assert found.hung or not found.success, str(found)
        return
    assert not found.ran, str(found)
    if tool == "sbatch":
        assert found.drained, str(found)
        # Before 23.11 it is lost: nobody can tell that it never ran.
        assert (found.job, found.exit) == (("COMPLETED", "0:0") if lab.version < (23, 11) else ("PENDING", "0:0")), str(found)
    elif lab.version < (23, 11):
        assert found.code == 0, str(found)


# A fault of our own in each hook: what the task, the job and the node get.
FAULTS = {
    "init": ("refused", "the plugin was not initialised"),
    "init_post_opt": ("runs", ""),  # the gate looks for itself
    "task_init_privileged": ("refused", ""),
    "user_init": ("refused", "environment could not be set"),
    "task_init": ("refused", ""),
    "job_prolog": ("drained", ""),
    "job_epilog": ("runs", ""),
}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("hook", FAULTS)
def test_a_fault_in_a_hook_of_ours(lab, cell, hook, tool):
    wanted, sentence = FAULTS[hook]
    on(lab, "n1", f"echo {hook} >/run/cohort-fault")
    found = cell(tool)
    print(f"MEASURED {lab.version} fault in {hook} {tool}: {found}")
    assert not found.hung, str(found)
    assert found.ran == found.success == (wanted == "runs"), str(found)
    assert found.drained == (wanted == "drained"), str(found)
    assert sentence in found.text, found.text
    if wanted == "drained" and tool == "sbatch":
        assert found.job == "PENDING", "back in the queue"


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("hook", ["init", "init_post_opt"])
def test_a_bad_profile_is_refused_whatever_else_fails(lab, cell, hook, tool):
    """The gates stand when the look before them was lost."""
    on(lab, "n1", f"echo {hook} >/run/cohort-fault; rm /run/flox-task-profile/vars")
    found = cell(tool)
    assert not found.ran and not found.success and found.drained, str(found)
