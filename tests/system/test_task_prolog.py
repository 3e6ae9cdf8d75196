# SPDX-License-Identifier: GPL-2.0-or-later
"""The compat TaskProlog on a real cluster without the SPANK plugin: the same sealed files, the same
answers. Its own rules are in tests/unit/task_prolog_test.
"""
from __future__ import annotations

import pytest

import sealed
from lab import LAB
from spanklab import FLOX, PROFILE, environment, on, plugstack, prepare, start

PROLOG = "/usr/libexec/slurm-cohort/cohort-task-prolog"
EXPORTS = {"all": [], "none": ["--export=NONE"], "nil": ["--export=NIL"], "x": ["--export=X=1"]}
PATHS = {"no": None, "empty": "", "module": "/opt/module/bin:/usr/bin:/bin"}


@pytest.fixture(scope="module")
def lab(module_lab):
    started = start(module_lab, nodes=1, conf={"TaskProlog": PROLOG})
    plugstack("# a site that may not load SPANK plugins")
    return started


def launch(lab, tool: str, export: list[str], path: str | None) -> str:
    client = ["env", *(["-u", "PATH"] if path is None else [f"PATH={path}"])]
    if tool == "srun":
        return lab.run(*client, "/usr/bin/srun", *export, "/usr/bin/env", user="alice", timeout=60).stdout
    body = "/usr/bin/env" if tool == "sbatch" else "/usr/bin/srun /usr/bin/env"
    lab.run(*client, "/usr/bin/sbatch", "--wait", "-o", "out.prolog", *export, user="alice",
            stdin=f"#!/bin/sh\n{body}\n", timeout=60)  # fmt: skip
    return lab.out("cat", "/shared/home/alice/out.prolog")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("export", EXPORTS)
@pytest.mark.parametrize("tool", ["srun", "sbatch", "srun_in_sbatch"])
def test_a_task_gets_path_and_variables(lab, tool, export, path):
    got = environment(launch(lab, tool, EXPORTS[export], PATHS[path]))
    entries = got["PATH"].split(":")
    assert entries[:2] == FLOX and "" not in entries and len(entries) == len(set(entries))
    assert "/usr/bin" in entries and got["TOOL_HOME"] == "/opt/tool = é"
    assert got["FLOX_TASK_PATH"] == ":".join(FLOX)


def test_append_is_append(lab):
    prepare(lab, sealed.files("append"))
    got = environment(launch(lab, "srun", [], PATHS["module"]))
    assert got["PATH"].split(":") == [*PATHS["module"].split(":"), *FLOX]
    prepare(lab, sealed.files())


DAMAGES = [
    ("a file is absent", "rm vars", "vars is missing"),
    ("a file that all may write", "chmod 666 vars", "vars does not belong to root alone"),
    ("a torn update", "rm revision", "revision is missing"),
    ("no directory", f"rm -rf {PROFILE}", "flox-task-profile is missing"),
]


@pytest.mark.parametrize("words,script,sentence", DAMAGES, ids=[d[0].replace(" ", "-") for d in DAMAGES])
def test_a_bad_profile_starts_nothing_and_the_user_reads_why(lab, words, script, sentence):
    on(lab, "n1", f"cd {PROFILE} && {script}")
    try:
        done = lab.run("srun", "touch", "ran.prolog", user="alice", check=False, timeout=60)
        assert done.returncode != 0 and sentence in done.stdout + done.stderr, done
        job = lab.submit("-o", "out.prolog", wrap="touch ran.prolog")
        assert lab.wait_job(job, "FAILED", "COMPLETED") == "FAILED"
        assert sentence in lab.out("cat", "/shared/home/alice/out.prolog")
        assert not (LAB / "shared/home/alice/ran.prolog").exists()
        assert "DRAIN" not in lab.node("n1")["State"], "a TaskProlog has no say in that"
    finally:
        prepare(lab, sealed.files())
