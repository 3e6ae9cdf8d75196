# SPDX-License-Identifier: GPL-2.0-or-later
"""What a task has of the profile beyond the matrix of test_spank_injection.py: who wins, containers,
login shells, MPI, values of every kind; and what a change of plugstack.conf does.
"""
from __future__ import annotations

import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import sealed
from lab import LAB, SOURCE
from machines import wait_until
from spanklab import FLOX, PROFILE, environment, on, plugstack, prepare, start


@pytest.fixture(scope="module")
def lab(module_lab):
    return start(module_lab, nodes=2, conf={"LaunchParameters": "use_interactive_step"})


def one(lab, *command: str, env: dict | None = None) -> str:
    done = lab.run("/usr/bin/srun", *command, user="alice", env=env, timeout=60)
    return done.stdout.strip()


def test_the_profiles_command_is_the_one_that_runs(lab):
    for export in ([], ["--export=NONE"], ["--export=NIL"], ["--export=X=1"], ["--export=ALL,X=1"]):
        assert one(lab, *export, "probe-tool") == "from the profile"


def test_only_allow_listed_names_are_touched_and_the_profile_wins(lab):
    got = environment(one(lab, "/usr/bin/env", env={"TOOL_HOME": "/mine", "MINE": "1"}))
    assert got["TOOL_HOME"] == "/opt/tool = é" and got["MINE"] == "1"
    got = environment(one(lab, "--export=ALL,TOOL_HOME=/mine", "/usr/bin/env"))
    assert got["TOOL_HOME"] == "/opt/tool = é"


# A name that decides something in our programs, or would in a plugin that asked the user; and what stands in it.
FORGED = ("SPANK_COHORT_REBUILD", "SPANK_profile_dir", "COHORT_REBUILD", "_SLURM_SPANK_OPTION_cohort_profile_dir",
          "_SLURM_SPANK_OPTION_cohort_rebuild", "FLOX_TASK_PATH", "FLOX_TASK_PATH_POLICY", "FLOX_ENV")  # fmt: skip


@pytest.mark.parametrize("value", ["n1", "/tmp/evil", "../../evil", "", "append"], ids=lambda v: v or "empty")
def test_nothing_of_the_users_environment_decides(lab, value: str):
    forged = {name: value for name in FORGED}
    for export in ([], ["--export=ALL," + ",".join(f"{name}={value}" for name in FORGED)]):
        got = environment(one(lab, *export, "/usr/bin/env", env=forged))
        assert got["PATH"].split(":")[:2] == FLOX and got["FLOX_TASK_PATH"] == ":".join(FLOX)
        assert got["FLOX_TASK_PATH_POLICY"] == "prepend" and got["TOOL_HOME"] == "/opt/tool = é"


def test_a_long_value_is_kept_whole(lab):
    value = "x" * 6000 + " = é\t'\"$(x)`"
    prepare(lab, sealed.files(variables={"TOOL_HOME": value}))
    assert environment(one(lab, "/usr/bin/env"))["TOOL_HOME"] == value
    prepare(lab, sealed.files())


def test_a_long_path_of_the_profile_is_kept_whole(lab):
    entries = [f"{sealed.ENV_PATH}/{'d' * 80}{i}/bin" for i in range(70)]
    assert len(":".join(entries)) > 6000
    prepare(lab, sealed.files(path=entries))
    for export in ([], ["--export=NONE"]):
        assert environment(one(lab, *export, "/usr/bin/env"))["PATH"].split(":")[:70] == entries
    prepare(lab, sealed.files())


def test_a_user_without_an_account_on_the_node_gets_it_too(lab):
    uid = lab.out("id", "-u", "alice")
    on_node = lab.machines["n1"]
    on_node.run(["sed", "-i.kept", "/^alice:/d", "/etc/passwd"])
    try:
        got = environment(one(lab, "-w", "n1", "/usr/bin/env"))
        assert one(lab, "-w", "n1", "/usr/bin/id", "-u") == uid
    finally:
        on_node.run(["mv", "/etc/passwd.kept", "/etc/passwd"])
    assert got["PATH"].split(":")[:2] == FLOX


def test_login_shells_in_jobs_get_the_entries_back(lab):
    """bash -l runs /etc/profile, which sets PATH anew and then what is in /etc/profile.d."""
    snippet = SOURCE / "etc" / "profile.d" / "zz-flox-task-profile.sh"
    (LAB / "shared" / "zz.sh").write_text(snippet.read_text())
    for precedence in ("prepend", "append"):
        prepare(lab, sealed.files(precedence))
        ours = slice(0, 2) if precedence == "prepend" else slice(-2, None)
        without = one(lab, "bash", "-lc", 'echo "$PATH"')
        assert FLOX[0] not in without.split(":"), "the snippet is needed"
        for node in lab.nodes:
            on(lab, node, "cp /shared/zz.sh /etc/profile.d/zz-flox-task-profile.sh")
        try:
            assert one(lab, "bash", "-lc", 'echo "$PATH"').split(":")[ours] == FLOX
            script = "#!/bin/bash -l\necho $PATH\n"
            lab.run("sbatch", "--wait", "-o", "out.login", user="alice", stdin=script, timeout=60)
            assert lab.out("cat", "/shared/home/alice/out.login").split(":")[ours] == FLOX
        finally:
            for node in lab.nodes:
                on(lab, node, "rm /etc/profile.d/zz-flox-task-profile.sh")
    prepare(lab, sealed.files())


def test_an_interactive_step_of_salloc_gets_it(lab):
    """LaunchParameters=use_interactive_step: the shell runs on the node, as a task."""
    line = "salloc -n1 --quiet"
    done = lab.run("/usr/bin/script", "-qec", line, "/dev/null", user="alice", check=False, timeout=60,
                   stdin="echo path=$PATH\nexit\n")  # fmt: skip
    shown = [found for found in done.stdout.replace("\r", "").splitlines() if found.startswith("path=")]
    assert shown and shown[0][5:].split(":")[:2] == FLOX, done


def test_every_program_of_a_multi_prog_step_gets_it(lab):
    (LAB / "shared" / "programs").write_text("0 /usr/bin/env\n1 /bin/sh -c 'env'\n")
    shown = one(lab, "-n2", "--multi-prog", "/shared/programs")
    paths = [found[5:] for found in shown.splitlines() if found.startswith("PATH=")]
    assert len(paths) == 2 and all(path.split(":")[:2] == FLOX for path in paths)


def test_a_module_loaded_in_the_script_falls_behind_in_the_next_step(lab):
    """prepend is strict: the script's own change holds in the script, a step has the profile first."""
    script = "#!/bin/sh\nPATH=/opt/m/bin:$PATH; export PATH\necho $PATH\nsrun sh -c 'echo $PATH'\n"
    lab.run("sbatch", "--wait", "-o", "out.module", user="alice", stdin=script, timeout=60)
    inside, step = lab.out("cat", "/shared/home/alice/out.module").splitlines()
    assert inside.split(":")[:3] == ["/opt/m/bin", *FLOX]
    assert step.split(":")[:3] == [*FLOX, "/opt/m/bin"]
    assert sorted(inside.split(":")) == sorted(step.split(":")), "nothing more, nothing less"


def test_containers_keep_their_own_path_and_the_gate_stands(lab):
    shutil.copy(SOURCE / "tests/system/spank_pyxis.c", LAB / "shared")
    lab.run("gcc", "-shared", "-fPIC", "-o", "/shared/spank_pyxis.so", "/shared/spank_pyxis.c", timeout=60)
    try:
        for words, given in (("skip", False), ("inject", True)):
            plugstack(f"required spank_cohort.so containers={words}\nrequired /shared/spank_pyxis.so")
            for call, env in ((["--container-image=x"], {}), ([], {"SLURM_CONTAINER": "/bundle"})):
                got = environment(one(lab, *call, "/usr/bin/env", env={"PATH": "/opt/image/bin:/usr/bin"} | env))
                assert ("TOOL_HOME" in got) == given, (words, call, env)
                assert (got["PATH"] == "/opt/image/bin:/usr/bin") == (not given), (words, call, env)
            assert "TOOL_HOME" in environment(one(lab, "/usr/bin/env")), "other steps get it"
        on(lab, "n1", f"rm {PROFILE}/vars")
        done = lab.run("srun", "-w", "n1", "--container-image=x", "touch", "ran.container", user="alice", check=False)
        assert done.returncode != 0 and not (LAB / "shared/home/alice/ran.container").exists()
    finally:
        plugstack()
        prepare(lab, sealed.files())
        wait_until(lambda: "DRAIN" in lab.node("n1")["State"], 30, "the prolog's gate has drained n1")
        lab.run("scontrol", "update", "nodename=n1", "state=resume")
        lab.wait_nodes("idle")


def test_pmi_variables_are_left_alone(lab):
    shown = one(lab, "--mpi=pmi2", "-n2", "/bin/sh", "-c", 'echo "$PMI_RANK $PMI_SIZE"')
    assert sorted(shown.splitlines()) == ["0 2", "1 2"]


def test_a_path_with_a_newline_and_a_script_that_is_otherwise_the_same(lab):
    """Nothing of a job changes but PATH and what the profile says."""
    script = ("#!/bin/sh\nid; pwd; umask; ulimit -a; hostname\n"
              "env | grep -vE '^(PATH|FLOX_TASK_PATH|FLOX_TASK_PATH_POLICY|TOOL_HOME|SLURM.*|TMPDIR)='\n"
              "srun sh -c 'id; umask; ulimit -a'\nexit 3\n")  # fmt: skip
    shown = []
    for line in ("# nothing", "required spank_cohort.so"):
        plugstack(line)
        job = lab.out("sbatch", "--parsable", "-w", "n1", "-o", "out.same", "--wait", user="alice", stdin=script,
                      check=False, timeout=60, env={"PATH": "/a\nb:/usr/bin:/bin"})  # fmt: skip
        assert lab.job(job)["ExitCode"] == "3:0"
        shown.append(lab.out("cat", "/shared/home/alice/out.same"))
    assert shown[0] == shown[1]


def test_an_argument_is_live_without_a_restart_and_the_log_says_so(lab):
    """Whoever changes plugstack.conf has to know what is in force."""
    prepare(lab, sealed.files(variables={}))
    for directory, live in (("/opt/a", True), ("/opt/b", True)):
        plugstack(f"required spank_cohort.so base_path={directory}")
        assert one(lab, "-w", "n1", "--export=NONE", "/bin/sh", "-c", "echo $PATH").endswith(f":{directory}") == live
        assert f"cohort: arguments: base_path={directory}" in lab.log("slurmd.n1.log")
    plugstack()
    prepare(lab, sealed.files())


def test_installing_the_line_while_steps_start_fails_none(lab):
    """One file, put there by a rename, world-readable."""
    folder = LAB / "etc-slurm" / "plugstack.conf.d"
    folder.mkdir(exist_ok=True)
    sample = (SOURCE / "etc/plugstack.conf.d/cohort.conf").read_text()
    plugstack("include /etc/slurm/plugstack.conf.d/*.conf")
    stop = threading.Event()
    codes: list[int] = []

    def steps() -> None:
        while not stop.is_set():
            codes.append(lab.run("srun", "true", user="alice", check=False, timeout=60).returncode)

    try:
        with ThreadPoolExecutor(2) as pool:
            workers = [pool.submit(steps) for _ in range(2)]
            for _ in range(8):
                (folder / ".cohort.new").write_text(sample)
                (folder / ".cohort.new").rename(folder / "cohort.conf")
                assert (folder / "cohort.conf").stat().st_mode & 0o444 == 0o444
                time.sleep(0.4)
                (folder / "cohort.conf").unlink()
                time.sleep(0.2)
            stop.set()
            for worker in workers:
                worker.result()
    finally:
        plugstack()
        shutil.rmtree(folder)
    assert len(codes) > 8 and not any(codes), codes


def test_a_line_on_one_side_only(lab):
    """The node's line is what counts; a node without one is told by join, and by its log."""
    own = "mount --bind /run/plugstack.conf /etc/slurm/plugstack.conf"
    try:
        plugstack("# nothing at submission")
        on(lab, "n1", f"echo 'required spank_cohort.so' >/run/plugstack.conf; {own}")
        assert "TOOL_HOME" in environment(one(lab, "-w", "n1", "/usr/bin/env")), "the node's alone is enough"
        on(lab, "n1", "umount -l /etc/slurm/plugstack.conf")
        plugstack()
        on(lab, "n1", f"echo '# nothing on the node' >/run/plugstack.conf; {own}")
        assert "TOOL_HOME" not in environment(one(lab, "-w", "n1", "/usr/bin/env"))
        told = lab.machines["n1"].run(["cohort-node", "profile", "check"], check=False)
        assert told.returncode == 0 and "no line for spank_cohort.so" in told.stderr, told
        on(lab, "n1", "umount -l /etc/slurm/plugstack.conf")
        # The line is there, the plugin is not (one image of many): nothing runs unguarded.
        on(lab, "n1", "p=$(find /usr/lib -name spank_cohort.so); mv $p /run/kept.so; echo $p >/run/kept.at")
        done = lab.run("srun", "-w", "n1", "touch", "ran.missing", user="alice", check=False, timeout=60)
        assert done.returncode != 0 and not (LAB / "shared/home/alice/ran.missing").exists(), done
    finally:
        on(lab, "n1", "umount -l /etc/slurm/plugstack.conf 2>/dev/null; [ ! -e /run/kept.so ] || mv /run/kept.so $(cat /run/kept.at)")
        plugstack()
        if "DRAIN" in lab.node("n1")["State"]:
            lab.run("scontrol", "update", "nodename=n1", "state=resume")
        lab.wait_nodes("idle")


def test_bad_arguments_are_refused_at_submission_with_the_reason(lab):
    plugstack("required spank_cohort.so pathh=append")
    try:
        for command in (["/usr/bin/srun", "true"], ["/usr/bin/sbatch", "--wrap", "true"]):
            done = lab.run(*command, user="alice", check=False)
            assert done.returncode != 0
            assert "pathh= is not known (did you mean path=?)" in done.stderr
    finally:
        plugstack()
