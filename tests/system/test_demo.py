# SPDX-License-Identifier: GPL-2.0-or-later
"""./demo as a new user runs it, judged from outside: by slurmdbd and by what the nodes wrote."""
from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

import judge
from conftest import KEPT, STAGE

DEMO = Path(__file__).resolve().parents[2] / "demo"
NODES = [f"n{i}" for i in range(1, 7)]
LIMIT = 300  # seconds, with the build


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """One run of ./demo: its output, the records it left, seconds."""
    if not STAGE:
        pytest.skip("COHORT_STAGE is not set: run tests/system/run")
    folder = tmp_path_factory.mktemp("records")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COHORT_")}
    environment["COHORT_BUILD"] = str(Path(STAGE).parent)
    start = time.monotonic()
    done = subprocess.run([DEMO, "--records", folder], env=environment, text=True,
                          capture_output=True, timeout=2 * LIMIT)  # fmt: skip
    seconds = time.monotonic() - start
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / "demo.out").write_text(done.stdout + done.stderr)
    assert (folder / "sacct.txt").exists(), done.stdout + done.stderr
    jobs = judge.parse_jobs((folder / "sacct.txt").read_text(), judge.expand_nodes)
    boots = {node: [judge.Boot(**b) for b in records]
             for node, records in json.loads((folder / "boots.json").read_text()).items()}  # fmt: skip
    return done, judge.Records(jobs, boots), (folder / "refused.txt").read_text(), seconds


def test_it_ends_well_and_in_time(demo):
    done, _, _, seconds = demo
    assert done.returncode == 0, done.stdout + done.stderr
    assert seconds < LIMIT


def test_every_node_went_to_new_content_by_its_own_record(demo):
    records = demo[1]
    assert sorted(records.boots) == NODES
    assert judge.not_rebuilt(records, NODES, "v1", "v2") == []


def test_no_user_job_was_refused_failed_or_requeued(demo):
    _, records, refused, _ = demo
    assert refused == ""
    assert judge.losses(records) == []
    assert judge.straddlers(records, "v2") == []


def test_the_stream_was_large_enough_to_mean_something(demo):
    records = demo[1]
    users = records.user_jobs()
    assert len(users) >= 100
    assert sum(len(j.nodes) == 2 for j in users) >= 20
    assert judge.idle_nodes(records, NODES, "v2") == []
    assert any(len(judge.rebuilds_during(j, records, "v2")) >= 3 for j in users)


def test_one_rebuild_job_per_node_and_all_verified(demo):
    rebuilds = [j for j in demo[1].jobs if j.user == "root"]
    assert sorted(n for j in rebuilds for n in j.nodes) == NODES
    assert all(j.completed for j in rebuilds)
    assert "sbatch --reboot -w n1" in demo[0].stdout
    assert "sacct -aXD" in demo[0].stdout
