# SPDX-License-Identifier: GPL-2.0-or-later
"""slurmctld survives an exception in a hook: the plugin built with faults on request."""
from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import services
from conftest import STAGE
from lab import Lab

PLUGIN = "job_submit_cohort.so"


def test_an_exception_in_a_hook_is_survived(lab, tmp_path):
    faulty = Path(STAGE).parent / "tests/load/faults/.libs" / PLUGIN
    if not STAGE or not faulty.exists():
        pytest.skip(f"{faulty} was not built: run make check first")
    stage = tmp_path / "stage"
    shutil.copytree(STAGE, stage, symlinks=True)
    (installed,) = stage.rglob(PLUGIN)
    shutil.copy(faulty, installed)
    lab.running = cluster = Lab(nodes=1, stage=stage, conf={"RebootProgram": "/bin/true"})
    cluster.start()
    pid = services.pid(cluster.controller, "slurmctld")
    for name in ("cohort-test-throw", "cohort-test-throw-int"):
        cluster.wait_job(cluster.submit("-J", name))
        refused = cluster.run("sbatch", "--reboot", "-w", "n1", "-J", name, "--wrap", "true",
                              check=False)  # fmt: skip
        assert refused.returncode != 0 and "see slurmctld's log" in refused.stderr
        later = cluster.submit("--hold", "-J", "later")
        cluster.run("scontrol", "update", f"jobid={later}", f"name={name}", user="alice")
        cluster.run("scancel", later)
    assert "job_submit: unexpected error: on purpose" in cluster.log("slurmctld.log")
    assert "job_modify: unexpected error: on purpose" in cluster.log("slurmctld.log")
    assert services.pid(cluster.controller, "slurmctld") == pid
