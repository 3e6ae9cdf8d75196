# SPDX-License-Identifier: GPL-2.0-or-later
"""cohort-node's verbs of the runtime on a real node: profile write and check, revision, report."""
from __future__ import annotations

import json
import shlex

import pytest

import sealed
from lab import LAB
from machines import wait_until
from spanklab import PROFILE, on, prepare, refused, start

NODE = "n1"
PROGRAM = "/usr/sbin/cohort-node"
ACTIVATED = {
    "FLOX_ENV": "/run/flox-link",
    "PATH": "/run/flox-link/bin:/usr/bin:/flox/env/sbin",
    "TOOL_HOME": "/opt/tool = é",
    "WORKER_IMAGE": sealed.IMAGE,
    "WORKER_FLOX_ENV": "flox/echoip",
    "WORKER_FLOX_GENERATION": "2",
    "WORKER_FLOX_ACTIVATE_MODE": "run",
    "WORKER_ENV_EXPORTS": "TOOL_HOME",
    "WORKER_PATH_PRECEDENCE": "prepend",
}
# What a daemon's environment has besides, and must not get into a profile.
FOREIGN = {"FLOX_FLOXHUB_TOKEN": "flox-s3cret", "KUBERNETES_SERVICE_HOST": "10.96.0.1",
           "OS_PASSWORD": "os-s3cret", "COMPUTE_REPLICAS": "2"}  # fmt: skip


@pytest.fixture(scope="module")
def lab(module_lab):
    started = start(module_lab, nodes=1, cohort_conf={"Cohort": "gpu Nodes=n1"})
    if not started.program(PROGRAM):
        pytest.skip("cohort-node is not installed in COHORT_STAGE")
    on(started, NODE, "mkdir -p /flox/env/bin; ln -sfn /flox/env /run/flox-link")
    return started


def node(lab, *words: str, env: dict | None = None):
    assignments = [f"{k}={v}" for k, v in (env or {}).items()]
    return lab.machines[NODE].run(["env", *assignments, PROGRAM, *words], check=False)


def test_a_profile_is_written_as_another_implementation_writes_it(lab):
    on(lab, NODE, f"rm -rf {PROFILE}")
    done = node(lab, "profile", "write", "--from-env", env=ACTIVATED | FOREIGN)
    assert done.returncode == 0, done
    made = sealed.files()
    assert done.stdout.strip() == sealed.revision(made)
    assert sorted(on(lab, NODE, f"ls -A {PROFILE}").split()) == sorted(made)
    for name, text in made.items():
        assert on(lab, NODE, f"cat {PROFILE}/{name}") == text, name
    owner = on(lab, NODE, f"stat -c '%U:%G %a' {PROFILE}/* | sort -u").strip()
    assert owner == "root:root 444"
    assert "s3cret" not in on(lab, NODE, f"cat {PROFILE}/*")


def test_nothing_of_the_seal_comes_from_the_network_or_the_controllers_wishes(lab):
    on(lab, NODE, f"rm -rf {PROFILE}")
    assignments = [f"{k}={v}" for k, v in ACTIVATED.items()]
    trace = ["strace", "-f", "-o", "/run/write.trace", "-e", "trace=%network,openat", "env", *assignments]
    lab.machines[NODE].run([*trace, PROGRAM, "profile", "write", "--from-env"])
    lines = on(lab, NODE, "cat /run/write.trace").splitlines()
    connections = [line for line in lines if "connect(" in line and "/dev/log" not in line]
    assert not connections and not any("AF_INET" in line for line in lines), connections
    opened = "\n".join(line for line in lines if "openat" in line and "ENOENT" not in line)
    assert "flox" in opened, "the trace has seen the writing"
    for wish in ("reboot_vars", "openstack", "metadata", "munge"):
        assert wish not in opened, wish
    # slurm.conf says where plugstack.conf is and that where the profile goes, nothing of what is in it.


def test_writing_the_same_again_changes_nothing(lab):
    node(lab, "profile", "write", "--from-env", env=ACTIVATED)
    before = on(lab, NODE, f"stat -c '%i %Z' {PROFILE}/*")
    assert node(lab, "profile", "write", "--from-env", env=ACTIVATED).returncode == 0
    assert on(lab, NODE, f"stat -c '%i %Z' {PROFILE}/*") == before


REFUSED = [
    ("a missing environment", {"FLOX_ENV": "/nonexistent"}, 2, "is not there"),
    ("a mutable image", {"WORKER_IMAGE": "repo:latest"}, 2, "repository:tag@sha256"),
    ("no generation", {"WORKER_FLOX_GENERATION": "latest"}, 2, "flox_generation"),
    ("a reserved name", {"WORKER_ENV_EXPORTS": "LD_PRELOAD"}, 2, "reserved"),
    ("a value of two lines", {"TOOL_HOME": "a\nb"}, 2, "more than one line"),
]


@pytest.mark.parametrize("words,change,code,sentence", REFUSED, ids=[r[0].replace(" ", "-") for r in REFUSED])
def test_what_is_refused_leaves_no_profile(lab, words, change, code, sentence):
    on(lab, NODE, f"rm -rf {PROFILE}")
    done = node(lab, "profile", "write", "--from-env", env=ACTIVATED | change)
    assert done.returncode == code and sentence in done.stderr, done
    assert node(lab, "profile", "check").returncode != 0


def test_unset_exports_are_recorded_or_an_error(lab):
    on(lab, NODE, f"rm -rf {PROFILE}")
    env = ACTIVATED | {"WORKER_ENV_EXPORTS": "TOOL_HOME,NOT_SET"}
    assert node(lab, "profile", "write", "--from-env", "--require-exports", env=env).returncode == 2
    done = node(lab, "profile", "write", "--from-env", env=env)
    assert done.returncode == 0 and "NOT_SET" in done.stderr
    assert on(lab, NODE, f"cat {PROFILE}/vars") == "NOT_SET\nTOOL_HOME=/opt/tool = é\n"


def test_a_plain_node_seals_its_stamp(lab):
    on(lab, NODE, f"rm -rf {PROFILE}")
    done = node(lab, "profile", "write")
    assert done.returncode == 0, done
    canonical = "flox-runtime-revision/1\nworker_image=6:lab/v1\n"
    name = "rev_" + sealed.digest(canonical)[:16]
    assert done.stdout.strip() == name
    shown = node(lab, "revision")
    assert shown.stdout == f"{canonical}sha256:{sealed.digest(canonical)}\n{name}\n"
    assert node(lab, "revision", "--slurmd").stdout == f'-Z --conf "Feature={name}"\n'


def test_the_seeds_settings_give_the_published_vector(lab):
    image = ("ghcr.io/slinkyproject/slurmd:26.05-ubuntu26.04@sha256:"
             "f06ab7b1ce18b3d59c54c8c6f6b03698a28973d4d8fb30985bd0dfd673bd6dd9")  # fmt: skip
    env = {"WORKER_IMAGE": image, "WORKER_FLOX_ENV": "flox/echoip", "WORKER_FLOX_GENERATION": "2",
           "WORKER_FLOX_ACTIVATE_MODE": "run", "WORKER_FLOX_SKIP_CONTAINERS": "logfile",
           "WORKER_ENV_EXPORTS": "", "WORKER_PATH_PRECEDENCE": "prepend", "WORKER_CPUS": "6",
           "WORKER_MEM_MB": "6144", "WORKER_HOME_PATH": "/home"}  # fmt: skip
    shown = node(lab, "revision", "--from-env", env=env).stdout
    assert "sha256:e3b81339a88a54396198493848a9331e16d286cb011a2a3c6a0383f2127103ed\n" in shown
    shown = node(lab, "revision", "--from-env", env=env | {"WORKER_PATH_PRECEDENCE": "append"}).stdout
    assert "sha256:569bc01fa86baf903bf95968cda2b2e48f33123fb55302904930170d8adf2444\n" in shown


def test_report_makes_the_reason_readable_and_ours(lab):
    prepare(lab, sealed.files())
    on(lab, NODE, f"rm {PROFILE}/vars")
    job = lab.submit("-w", NODE)
    wait_until(lambda: "DRAIN" in lab.node(NODE)["State"], 60, "drained", 0.1)
    assert node(lab, "report").returncode == 0
    assert lab.node(NODE)["Reason"].startswith("cohort: the task profile is not usable"), lab.node(NODE)
    assert refused(lab, NODE) == "", "reported once"
    assert node(lab, "report").returncode == 0, "nothing to report is fine"
    lab.run("scancel", job)
    prepare(lab, sealed.files())
    lab.run("scontrol", "update", f"nodename={NODE}", "state=resume")
    lab.wait_nodes("idle")


def test_report_leaves_an_administrators_drain_alone(lab):
    lab.run("scontrol", "update", f"nodename={NODE}", "state=drain", "reason=memory is bad")
    on(lab, NODE, "echo " + shlex.quote("no profile") + " >/run/cohort/refused")
    assert node(lab, "report").returncode == 0
    assert lab.node(NODE)["Reason"].startswith("memory is bad")
    lab.run("scontrol", "update", f"nodename={NODE}", "state=resume")
    lab.wait_nodes("idle")


def settings(lab, *words: str, env: dict | None = None):
    return lab.run("scohort", "settings", *words, env=env, check=False)


def test_settings_are_kept_on_the_controller(lab):
    """A deployment's way: explicit values are kept and beat the kept ones; no default is written."""
    assert settings(lab, "get").stdout == "", "nothing was ever set"
    explicit = {"WORKER_FLOX_ENV": "flox/echoip", "WORKER_FLOX_GENERATION": "2", "WORKER_HOME_PATH": ""}
    done = settings(lab, "set", "--from-env", "worker_cpus=6", "WORKER_IMAGE=" + sealed.IMAGE, env=explicit)
    assert done.returncode == 0, done
    lines = [f"WORKER_IMAGE={sealed.IMAGE}", "WORKER_FLOX_ENV=flox/echoip", "WORKER_FLOX_GENERATION=2",
             "WORKER_CPUS=6", "WORKER_HOME_PATH="]  # fmt: skip
    assert done.stdout.splitlines()[1:] == lines, "an empty one is kept, no default is"
    assert settings(lab, "get").stdout == done.stdout
    state = "/var/lib/slurm/slurmctld-cohort/settings"
    kept = lab.out("cat", f"{state}/default.env")
    assert kept.splitlines() == lines
    assert lab.out("stat", "-c", "%U", f"{state}/default.env") == "slurm"

    shown = settings(lab, "get", "--from-env", env={"WORKER_CPUS": "8"}).stdout
    assert "WORKER_CPUS=8" in shown and "WORKER_CPUS=6" in lab.out("cat", f"{state}/default.env")
    done = settings(lab, "set", "--from-env", "home_path-", env={"WORKER_CPUS": "8"})
    assert "WORKER_CPUS=8" in done.stdout and "HOME_PATH" not in done.stdout
    assert settings(lab, "get").stdout == done.stdout

    other = json.loads(settings(lab, "set", "-c", "gpu", "--json", "worker_cpus=1").stdout)
    assert other == {"cohort": "gpu", "settings": {"worker_cpus": "1"}}
    assert settings(lab, "get").stdout == done.stdout, "cohorts are apart"


def test_a_node_seals_the_revision_that_the_controller_shows(lab):
    """Settings printed by the controller, read by a node: the same revision."""
    keys = {k: v for k, v in ACTIVATED.items() if k.startswith("WORKER_")}
    done = settings(lab, "set", "home_path-", "worker_cpus-", "--from-env", env=keys)
    (LAB / "shared" / "runtime.conf").write_text(done.stdout)
    on(lab, NODE, f"rm -rf {PROFILE}")
    env = {k: v for k, v in ACTIVATED.items() if not k.startswith("WORKER_")}
    wrote = node(lab, "profile", "write", "--settings", "/shared/runtime.conf", env=env)
    assert wrote.returncode == 0, wrote
    assert done.stdout.split()[1] == wrote.stdout.strip() == sealed.revision(sealed.files())


BAD_SETTINGS = [
    ("not a number", ["worker_cpus=six"], "worker_cpus"),
    ("an unknown key", ["worker_cpu=6"], "worker_cpu is not a runtime setting"),
    ("an empty mode", ["activate_mode="], "activate_mode"),
    ("no value", ["worker_cpus"], "write KEY=VALUE"),
    ("one good and one bad", ["worker_mem_mb=1", "path_precedence=first"], "path_precedence"),
    ("nothing", [], "nothing to set"),
    ("an unknown cohort", ["-c", "gpus", "worker_cpus=1"], "no line Cohort=gpus"),
    ("a cohort that is a path", ["-c", "../x", "worker_cpus=1"], "no line Cohort=../x"),
]


@pytest.mark.parametrize("words,given,sentence", BAD_SETTINGS, ids=[r[0].replace(" ", "-") for r in BAD_SETTINGS])
def test_bad_settings_are_refused_and_change_nothing(lab, words, given, sentence):
    before = settings(lab, "get").stdout
    done = settings(lab, "set", *given)
    assert done.returncode == 2 and sentence in done.stderr, done
    assert settings(lab, "get").stdout == before
