# SPDX-License-Identifier: GPL-2.0-or-later
"""What tasks get from the profile: every tool x --export x order x PATH, on a real cluster.

One row of the table is one test; the cells of one order run together, once (fixture `cells`).
"""
from __future__ import annotations

import functools

import pytest

import sealed
from spanklab import BASE, FLOX, environment, in_parallel, plugstack, prepare, start

MARK = "=== step"
SHOW = f"/usr/bin/env; echo; echo '{MARK}'; /usr/bin/srun /usr/bin/env"
EXPORTS = {"all": ["--export=ALL"], "none": ["--export=NONE"], "nil": ["--export=NIL"], "x": ["--export=X=1"],
           "all_x": ["--export=ALL,X=1"]}  # fmt: skip
MODULE = "/opt/module/bin:/usr/bin:/bin"
LONG = "/" + "l" * 20000 + ":/usr/bin:/bin"
PATHS = {"no": None, "empty": "", "module": MODULE, "long": LONG}
ORDERS = ("prepend", "append")
TOOLS = ("srun", "sbatch", "srun_in_sbatch", "salloc_srun", "srun_pty", "array", "het")


def client(path: str | None, *command: str) -> list[str]:
    """COMMAND with the submit-side PATH as PATH says."""
    return ["env", *(["-u", "PATH"] if path is None else [f"PATH={path}"]), *command]


def batch(lab, path, options, body, name) -> str:
    """Output of a batch script; both components' and both tasks' for het jobs and arrays."""
    script = "#!/bin/sh\n" + body + "\n"
    command = client(path, "/usr/bin/sbatch", "--wait", f"--output=out.{name}.%j", *options)
    done = lab.run(*command, user="alice", stdin=script, check=False, timeout=240)
    out = lab.out("/bin/sh", "-c", f"cat out.{name}.*", user="alice", check=False)
    return out if out else f"nothing: {done}"


def run_cell(lab, order: str, tool: str, export: str, path: str) -> str:
    given, submit = EXPORTS[export], PATHS[path]
    name = f"{order}.{tool}.{export}.{path}"
    if tool == "srun":
        command = client(submit, "/usr/bin/srun", *given, "/usr/bin/env")
    elif tool == "srun_pty":
        # Through a file: a terminal's stream loses bytes of a 20,000 character line.
        show = f"'/usr/bin/env >/shared/home/alice/out.{name}'"
        line = " ".join(["/usr/bin/srun", *given, "--pty", "/bin/sh", "-c", show])
        lab.run(*client(submit, "/usr/bin/script", "-qec", line, "/dev/null"), user="alice",
                check=False, timeout=240)  # fmt: skip
        return lab.out("/bin/cat", f"/shared/home/alice/out.{name}", user="alice", check=False)
    elif tool == "salloc_srun":
        command = client(submit, "/usr/bin/salloc", "-n1", "/usr/bin/srun", *given, "/usr/bin/env")
    elif tool == "sbatch":
        return batch(lab, submit, ["-n1", *given], "/usr/bin/env", name)
    elif tool == "srun_in_sbatch":
        return batch(lab, submit, ["-n1", *given], SHOW, name)
    elif tool == "array":
        return batch(lab, submit, ["-n1", "-a", "1-2", *given], "/usr/bin/env", name)
    else:
        het = ["-n1", *given, ":", "-n1", *given]
        # Each to its own file: srun may mix two lines of 20,000 characters.
        show = f"'/usr/bin/env >out.{name}.$SLURMD_NODENAME.$$'"
        return batch(lab, submit, het, f"/usr/bin/srun --het-group=0,1 /bin/sh -c {show}", name)
    done = lab.run(*command, user="alice", check=False, timeout=240)
    return done.stdout or f"nothing: {done}"


@pytest.fixture(scope="module")
def lab(module_lab):
    return start(module_lab, nodes=2)


@pytest.fixture(scope="module")
def cells(lab):
    """order -> (tool, export, path) -> output."""

    @functools.lru_cache
    def of(order: str) -> dict:
        prepare(lab, sealed.files(order))
        plugstack(f"required spank_cohort.so path={order}")
        keys = [(t, e, p) for t in TOOLS for e in EXPORTS for p in PATHS]
        calls = [functools.partial(run_cell, lab, order, *key) for key in keys]
        return dict(zip(keys, in_parallel(calls)))

    return of


def judge(path: str, order: str, rest: list[str] | None) -> None:
    """REST: what stands beside the profile's entries, where it is known."""
    entries = path.split(":")
    assert "" not in entries, "no empty entry"
    assert len(entries) == len(set(entries)), "no entry twice"
    ours = entries[:2] if order == "prepend" else entries[-2:]
    others = entries[2:] if order == "prepend" else entries[:-2]
    assert ours == FLOX
    assert others, "a task needs more than the profile's entries"
    if rest is not None:
        assert others == rest


def expected(tool: str, export: str, path: str) -> list[str] | None:
    """Entries that were there before; None: the user's login environment on the node."""
    if export == "all_x" and path == "no" and tool not in ("srun", "salloc_srun", "srun_pty"):
        return None  # sbatch with a list has the user's login environment fetched on the node
    if export in ("all", "all_x"):
        return PATHS[path].split(":") if PATHS[path] else BASE
    return BASE if tool in ("srun", "salloc_srun", "srun_pty", "het") else None


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("export", EXPORTS)
@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("order", ORDERS)
def test_path_and_variables(cells, order, tool, export, path):
    output = cells(order)[tool, export, path]
    assert not output.startswith("nothing"), output
    parts = output.split(MARK)
    paths = [line[5:] for part in parts for line in part.splitlines() if line.startswith("PATH=")]
    assert len(paths) == {"srun_in_sbatch": 2, "array": 2, "het": 2}.get(tool, 1), output[:2000]
    for one in paths:
        judge(one, order, expected(tool, export, path))
    for part in parts:
        got = environment(part)
        assert got["TOOL_HOME"] == "/opt/tool = é"
        assert got["FLOX_TASK_PATH"] == ":".join(FLOX) and got["FLOX_TASK_PATH_POLICY"] == order
    if tool == "srun_in_sbatch" and export in ("all", "all_x"):
        assert paths[0] == paths[1], "batch and step agree"
