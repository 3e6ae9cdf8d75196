# SPDX-License-Identifier: GPL-2.0-or-later
"""The launch gates on a real cluster: no task runs on a bad node, no job is lost, the node says why.

n1 and n3 are good; n2 gets the damage of the row.
"""
from __future__ import annotations

import json
import re
import time

import pytest

import sealed
from lab import LAB
from machines import wait_until
from spanklab import PROFILE, environment, on, plugstack, prepare, refused, start

BAD = "n2"


def reseal(**changed: str):
    """A profile that somebody sealed with other content."""

    def damage(lab) -> None:
        made = {**sealed.files(), **{name.replace("_", "-"): text for name, text in changed.items()}}
        made.pop("revision")
        on(lab, BAD, f"rm -rf {PROFILE}")
        sealed.write(LAB / "shared" / "damaged", {**made, "revision": sealed.seal(made)})
        on(lab, BAD, f"cp -r /shared/damaged {PROFILE}; chown -R 0:0 {PROFILE}; chmod 755 {PROFILE}; chmod 444 {PROFILE}/*")

    return damage


def shell(script: str):
    return lambda lab: on(lab, BAD, f"cd {PROFILE} && {script}")


# The words of the fourteen, what is done, and the sentence that people read.
CORRUPTIONS = [
    ("a file is absent", shell("rm vars"), "vars is missing"),
    ("a file is empty", shell(": >image.n; chmod 444 image.n; mv image.n image"), "image has 0 bytes"),
    ("a file of another owner", shell("chown 5001 vars"), "vars belongs to uid 5001"),
    ("a file that all may write", shell("chmod 666 vars"), "vars has mode 0666"),
    ("a symbolic link", shell("mv mode /run/mode; ln -s /run/mode mode"), "mode is a symbolic link"),
    ("a huge file", shell("head -c 70000 /dev/zero >v; chmod 444 v; mv v vars"), "vars is larger than"),
    ("a NUL byte", shell("printf 'A=b\\0c\\n' >v; chmod 444 v; mv v vars"), "vars contains a NUL byte"),
    ("carriage returns", shell("printf 'run\\r\\n' >m; chmod 444 m; mv m mode"), "mode has carriage returns"),
    ("a value of two lines", reseal(mode="run\nrun\n"), "mode has more than one line"),
    ("another schema", reseal(schema="2\n"), "schema is '2'"),
    ("a changed file", shell("sed s/sbin/xbin/ path >p; chmod 444 p; mv p path"), "path was changed after"),
    ("another hash", shell("sed '1s/^..../ffff/' revision >r; chmod 444 r; mv r revision"), "not the hash of the settings"),
    ("a torn update", shell("rm revision"), "revision is missing: the profile was not completed"),
    ("no directory", shell(f"rm -rf {PROFILE}"), "there is no such directory"),
]  # fmt: skip


@pytest.fixture(scope="module")
def lab(module_lab):
    return start(module_lab, nodes=3)


@pytest.fixture(autouse=True)
def clean(lab):
    yield
    lab.run("scancel", "-u", "alice", check=False)
    lab.run("sh", "-c", "rm -f /shared/home/alice/ran.*")
    prepare(lab, sealed.files(), [BAD])
    give_back(lab)


def give_back(lab) -> None:
    """What the manual tells the administrator to do after the repair."""
    if "drain" in lab.node_states().get(BAD, ""):
        lab.run("scontrol", "update", f"nodename={BAD}", "state=resume")
    lab.wait_nodes("idle", [BAD])


def side_effect(lab, name: str) -> bool:
    return lab.run("test", "-e", f"/shared/home/alice/{name}", check=False).returncode == 0


def wait_drained(lab) -> None:
    wait_until(lambda: "drain" in lab.node(BAD)["State"].lower() or "DRAIN" in lab.node(BAD)["State"],
               30, f"{BAD} is drained", 0.1)  # fmt: skip
    assert lab.node(BAD)["Reason"].startswith(("Prolog error", "cohort: ")), lab.node(BAD)


def the_user_reads(lab, sentence: str) -> None:
    """What cohort-report.path does, and where every user can read it."""
    assert sentence in refused(lab, BAD)
    on(lab, BAD, "cohort-node report")
    shown = lab.out("sinfo", "-h", "-R", "-o", "%E|%N", user="alice")
    assert any(line.startswith("cohort: ") and sentence in line and line.endswith(f"|{BAD}")
               for line in shown.splitlines()), shown  # fmt: skip
    assert refused(lab, BAD) == "", "reported once"


def run_again(lab, job: str) -> None:
    # Slurm revokes credentials by the second: launched in the second of its requeue the job would fail.
    time.sleep(2)
    lab.run("scontrol", "release", job)
    lab.run("scontrol", "update", f"jobid={job}", "starttime=now")
    lab.wait_job(job, seconds=90)


@pytest.mark.parametrize("words,damage,sentence", CORRUPTIONS, ids=[c[0].replace(" ", "-") for c in CORRUPTIONS])
def test_a_corruption_runs_nothing_and_loses_nothing(lab, words, damage, sentence):
    damage(lab)
    done = lab.run("srun", "-w", BAD, "touch", "ran.srun", user="alice", check=False, timeout=60)
    assert done.returncode != 0 and "rolog" in done.stderr, done
    wait_drained(lab)
    the_user_reads(lab, sentence)
    give_back(lab)

    single = lab.submit("-w", BAD, wrap="touch ran.sbatch")
    wait_drained(lab)
    the_user_reads(lab, sentence)
    give_back(lab)
    # The script itself may have begun on the good first node: Alloc does not wait for the second.
    pair = lab.submit("-N2", "-w", f"n1,{BAD}", wrap="sleep 1; srun sh -c 'touch ran.pair.$SLURMD_NODENAME'")
    wait_drained(lab)
    the_user_reads(lab, sentence)
    for job in (single, pair):
        lab.wait_job(job, "PENDING", seconds=30)
        assert lab.job(job)["Restarts"] == "1", lab.job(job)
    for name in ("ran.srun", "ran.sbatch", f"ran.pair.{BAD}"):
        assert not side_effect(lab, name), name

    prepare(lab, sealed.files(), [BAD])
    give_back(lab)
    for job in (single, pair):
        run_again(lab, job)
    assert side_effect(lab, "ran.sbatch") and side_effect(lab, f"ran.pair.{BAD}")


def test_a_profile_damaged_during_a_job_fails_the_next_step_and_tells_the_user(lab):
    script = "#!/bin/sh\nsrun true && echo first\ntouch go\nwhile [ ! -e went ]; do sleep 0.1; done\nsrun touch ran.step\necho rc $?\n"
    job = lab.out("sbatch", "--parsable", "-w", BAD, "-o", "out.damaged", user="alice", stdin=script)
    wait_until(lambda: side_effect(lab, "go"), 30, "the job's first step")
    on(lab, BAD, f"rm {PROFILE}/vars")
    lab.run("touch", "/shared/home/alice/went")
    lab.wait_job(job, "COMPLETED", "FAILED", seconds=60)
    out = lab.out("cat", "/shared/home/alice/out.damaged")
    assert "first" in out and "rc 1" in out and "vars is missing" in out
    assert "this node may not run your task" in out
    assert not side_effect(lab, "ran.step")
    assert "vars is missing" in refused(lab, BAD), "the node can report it: no black hole"
    lab.run("sh", "-c", "rm -f /shared/home/alice/go /shared/home/alice/went")


ROWS = [
    ("nothing published", "rm -f /run/cohort/published", "published no revision"),
    ("an earlier boot's", "sed -i 's/boot_id\":\"./boot_id\":\"x/' /run/cohort/published", "of an earlier boot"),
    ("another revision", "sed -i 's/rev_..../rev_0000/' /run/cohort/published", "published was rev_0000"),
    ("published by others", "chmod 666 /run/cohort/published", "only uid 0 can write"),
]  # fmt: skip


@pytest.mark.parametrize("words,script,sentence", ROWS, ids=[r[0].replace(" ", "-") for r in ROWS])
def test_what_was_published_must_be_what_is_sealed(lab, words, script, sentence):
    on(lab, BAD, script)
    job = lab.submit("-w", BAD, wrap="touch ran.published")
    wait_drained(lab)
    assert sentence in refused(lab, BAD)
    assert not side_effect(lab, "ran.published")
    assert lab.job(job)["JobState"] == "PENDING"


def test_a_node_that_publishes_a_moment_late_loses_no_job(lab):
    on(lab, BAD, "mv /run/cohort/published /run/cohort/later; (sleep 2; mv /run/cohort/later /run/cohort/published) >/dev/null 2>&1 &")
    assert lab.out("srun", "-w", BAD, "hostname", user="alice", timeout=60) == BAD


REBUILD = ("SPANK_COHORT_REBUILD", "COHORT_REBUILD", "SPANK_SPANK_COHORT_REBUILD", "_SLURM_SPANK_OPTION_cohort_rebuild",
           "_SLURM_SPANK_OPTION_cohort_profile_dir", "SLURM_JOB_CONSTRAINTS")  # fmt: skip


@pytest.mark.parametrize("value", ["1", BAD, ""], ids=["1", "the-node", "empty"])
def test_no_forged_variable_opens_the_gates_of_a_bad_node(lab, value):
    """A rebuild job alone may run there, and only slurmctld says which one is."""
    forged = {name: value for name in REBUILD}
    exports = "--export=ALL," + ",".join(f"{name}={value}" for name in REBUILD)
    on(lab, BAD, f"rm {PROFILE}/vars")
    for command in (["srun"], ["srun", exports], ["salloc", "-w", BAD, "srun"]):
        done = lab.run(*command, "-w", BAD, "touch", "ran.forged", user="alice", env=forged, check=False, timeout=60)
        assert done.returncode != 0, done
        wait_drained(lab)
        give_back(lab)
    jobs = []
    for options in ([], [exports]):
        jobs.append(lab.out("sbatch", "--parsable", "-w", BAD, "-o", "/dev/null", *options, "--wrap",
                            "touch ran.forged; srun touch ran.forged", user="alice", env=forged))  # fmt: skip
        wait_drained(lab)
        lab.wait_job(jobs[-1], "PENDING", seconds=30)
        give_back(lab)
    assert not side_effect(lab, "ran.forged")
    # The gates of a job that is on the node already: the prolog has passed.
    prepare(lab, sealed.files(), [BAD])
    script = "#!/bin/sh\ntouch ran.go\nwhile [ ! -e ran.went ]; do sleep 0.1; done\n" + \
             "".join(f"export {name}={value}\n" for name in REBUILD) + f"srun touch ran.forged\nsrun {exports} touch ran.forged\n"
    job = lab.out("sbatch", "--parsable", "-w", BAD, "-o", "out.forged", user="alice", stdin=script, env=forged)
    wait_until(lambda: side_effect(lab, "ran.go"), 30, "the job has begun")
    on(lab, BAD, f"rm {PROFILE}/vars")
    lab.run("touch", "/shared/home/alice/ran.went")
    lab.wait_job(job, "COMPLETED", "FAILED", seconds=60)
    assert lab.out("cat", "/shared/home/alice/out.forged").count("this node may not run your task") == 2
    assert not side_effect(lab, "ran.forged")


def test_a_job_bound_to_another_revision_is_refused(lab):
    other = "rev_00000000000000aa"
    before = lab.node(BAD).get("Extra", "").replace("(null)", "")
    # With its label: the guard takes a feature of ours off a node that does not have it.
    extra = json.dumps(json.loads(before or "{}") | {"cohort_rev": other})
    lab.run("scontrol", "update", f"nodename={BAD}", f"Extra={extra}",
            f"availablefeatures={other}", f"activefeatures={other}")  # fmt: skip
    try:
        job = lab.submit("-C", other, wrap="touch ran.bound")
        wait_drained(lab)
        assert f"bound to {other}" in refused(lab, BAD)
        assert not side_effect(lab, "ran.bound") and lab.job(job)["JobState"] == "PENDING"
    finally:
        lab.run("scontrol", "update", f"nodename={BAD}", f"Extra={before}", "availablefeatures=", "activefeatures=")


def test_profile_off_compares_the_stamp(lab):
    plugstack("required spank_cohort.so profile=off stamp_file=/etc/lab-content")
    try:
        name = sealed.digest("flox-runtime-revision/1\nworker_image=2:v1\n")[:16]
        publish = ("printf '{\"revision\":\"rev_%s\",\"boot_id\":\"%s\",\"stamp\":\"%s\"}' " + name +
                   " $(cat /proc/sys/kernel/random/boot_id) ")  # fmt: skip
        for node in lab.nodes:
            on(lab, node, publish + "v1 >/run/cohort/published")
        path = environment(lab.out("srun", "-w", BAD, "env", user="alice"))["PATH"]
        assert sealed.ENV_PATH not in path, "nothing is injected"
        on(lab, BAD, publish + "v2 >/run/cohort/published")
        lab.submit("-w", BAD, wrap="touch ran.off")
        wait_drained(lab)
        assert "stamp is 'v1', published was 'v2'" in refused(lab, BAD)
    finally:
        plugstack()
        prepare(lab, sealed.files())


TRACE = "strace -f -s 200 -o /run/trace -e trace=openat,socket,connect,execve -p $(cat /run/slurm/slurmd.pid)"


def traced(lab, line: str) -> list[str]:
    """System calls of slurmd and all that comes of it while a step of four tasks runs."""
    plugstack(line)
    on(lab, BAD, f"{TRACE} >/dev/null 2>&1 & echo $! >/run/strace.pid; sleep 1")
    try:
        lab.run("srun", "-w", BAD, "-n4", "true", user="alice", timeout=90)
        time.sleep(1)
    finally:
        on(lab, BAD, "kill $(cat /run/strace.pid); sleep 1")
    return on(lab, BAD, "cat /run/trace").splitlines()


def calls(lines: list[str]) -> set[str]:
    """What sockets, connections and programs there were, without numbers."""
    found = set()
    for line in lines:
        call = line.split(None, 1)[1]
        if call.startswith(("socket(", "connect(", "execve(")):
            # A call that another process interrupts in the trace stands there in two halves.
            begun = call.split(" = ")[0].removesuffix(" <unfinished ...>").strip().removesuffix(")")
            found.add(re.sub(r"0x[0-9a-f]+|\d+", "N", begun))
    return found


def test_no_socket_no_program_and_one_read_of_the_profile_per_step(lab):
    without = traced(lab, "# nothing")
    lines = traced(lab, "required spank_cohort.so")
    readers = [line.split()[0] for line in lines if '"vars"' in line]
    assert len(readers) == len(set(readers)) == 2, "one by the prolog's process and one by the step's, none per task"
    for process in readers:
        inside = [line for line in lines if line.split()[0] == process]
        begin = next(i for i, line in enumerate(inside) if "flox-task-profile" in line)
        end = max(i for i, line in enumerate(inside) if '"vars"' in line)
        between = [line for line in inside[begin:end] if "openat" not in line]
        assert not between, f"between the first and the last file of a profile: {between}"
    # Slurm runs its own slurmstepd for the prolog's hook, and its slurmd asks a step's socket when it
    # has a reason to, in either trace or in none; nothing else is new.
    slurms = ('slurmstepd", "spank", "prolog"', 'sun_path="/var/spool/slurmd/nN_N.')
    new = {call for call in calls(lines) - calls(without) if not any(own in call for own in slurms)}
    assert not new, new
    assert calls(lines), "the trace has seen Slurm's own"
