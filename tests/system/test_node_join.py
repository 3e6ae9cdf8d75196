# SPDX-License-Identifier: GPL-2.0-or-later
"""join's truth table against real Slurm, one node a cell, all at once: what boot it is (first, of a new
disk, of the same disk) x what it needs (there, late, missing) x how the node gets its configuration
(slurm.conf, --conf-server, -Z). And what is around it: the site's own step, a slurmd that restarts.
"""
from __future__ import annotations

import itertools
import json
import shlex

import pytest

import sealed
from lab import LAB
from machines import wait_until
from spanklab import before_slurmd, on, plugstack

BOOTS = ("first", "rebuild", "plain")
INPUTS = ("present", "late", "missing")
KINDS = ("static", "configless", "dynamic")
# The lab's dynamic nodes are its last ones.
CELLS = list(itertools.product(KINDS, BOOTS, INPUTS))
NODE = {cell: f"n{i + 1}" for i, cell in enumerate(CELLS)}
PROGRAM = "/usr/sbin/cohort-node"
PROFILE = "/run/tasks"  # profile_dir= of this site
STAMPED = "rev_" + sealed.digest("flox-runtime-revision/1\nworker_image=6:lab/v1\n")[:16]

# Seals the profile as the row says, once the table is asked (cell.<node> is there).
BEFORE = f"""
# Before slurmd has fetched plugstack.conf a configless node cannot know its profile_dir=.
[ -e /etc/slurm/plugstack.conf ] || directory="--directory {PROFILE}"
case $(cat /shared/cell.$HOSTNAME 2>/dev/null) in
missing) ;;
late) (sleep 7; cohort-node profile write $directory) & ;;
*) cohort-node profile write $directory ;;
esac
"""
SLURMD = """#!/bin/bash
number=${HOSTNAME#n}
[ $number -le %d ] || [ $number -gt %d ] || echo "-N $HOSTNAME --conf-server ctl"
[ $number -le %d ] || cohort-node revision --slurmd --conf "CPUs=4 RealMemory=1000 Gres= Feature=big" --features site
"""


def script(name: str, text: str) -> None:
    path = LAB / "shared" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def joins(lab, node: str) -> int:
    return lab.log(f"{node}.console").count("join --after: done")


@pytest.fixture(scope="module")
def cluster(module_lab):
    module_lab.stop()
    plugstack(f"required spank_cohort.so profile_dir={PROFILE}")
    before_slurmd(BEFORE)
    script("slurmd-options", SLURMD % (9, 18, 18))
    script("join-options", "#!/bin/bash\necho --wait 15s\n")
    made = module_lab(nodes=27, dynamic=9, configless=[f"n{i}" for i in range(10, 19)],
                      conf={"SlurmctldParameters": "reboot_from_controller,enable_configless",
                            "MaxNodeCount": 64})  # fmt: skip
    if not made.program(PROGRAM):
        pytest.skip("cohort-node is not installed in COHORT_STAGE")
    made.wait_joined(60)
    return made


@pytest.fixture(scope="module")
def table(cluster):
    """Every cell's boot, begun together; returns cell -> what its node was told while it waited."""
    lab = cluster
    for (kind, boot, inputs), node in NODE.items():
        machine = lab.machines[node]
        machine.power_off()
        if boot != "plain":
            machine.wipe(machine.image)
        if boot == "first":
            if kind == "dynamic":
                lab.run("scontrol", "delete", f"nodename={node}")
            else:
                lab.run("scontrol", "update", f"nodename={node}", "extra=")
        (LAB / "shared" / f"cell.{node}").write_text(inputs)
    before = {n: joins(lab, n) for n in lab.nodes}
    for node in lab.nodes:
        lab.machines[node].power_on()
    told: dict[str, str] = {}

    def ended(cell, node) -> bool:
        record = records(lab).get(node, {})
        reason = record.get("Reason", "")
        if "waiting: " in reason:
            told.setdefault(node, reason)
        if cell[2] == "missing":
            return "FAIL" in record.get("State", "") and "waiting: " not in reason
        return joins(lab, node) > before[node]

    open_cells = dict(NODE)

    def all_ended() -> bool:
        for cell, node in list(open_cells.items()):
            if ended(cell, node):
                del open_cells[cell]
        return not open_cells

    try:
        wait_until(all_ended, 90, "", 0.3)
    except TimeoutError:
        pass  # the cells say it
    return {cell: told.get(node, "") for cell, node in NODE.items()}


def records(lab) -> dict[str, dict[str, str]]:
    from queries import fields

    lines = lab.out("scontrol", "-o", "show", "node").splitlines()
    return {r["NodeName"]: r for r in map(fields, lines) if "NodeName" in r}


WORDS = {"first": "first boot: ", "rebuild": "first boot of new root content: ",
         "plain": "boot of the same root content: "}  # fmt: skip


@pytest.mark.parametrize("cell", CELLS, ids=["-".join(c) for c in CELLS])
def test_join(cluster, table, cell):
    kind, boot, inputs = cell
    node = NODE[cell]
    record = records(cluster).get(node, {})
    slurmd = "slurmd" in cluster.machines[node].processes()
    if inputs == "missing":
        assert "FAIL" in record["State"] and "DOWN" in record["State"], record
        reason = f"cohort: join: the task profile is not usable: {PROFILE}: there is no such directory"
        assert record["Reason"].startswith(reason), record
        # Only a node that could say so by itself is kept from starting slurmd.
        assert slurmd == (kind == "configless" or (kind, boot) == ("dynamic", "first")), cluster.machines[node].processes()
        return
    cluster.wait_nodes("idle", [node])
    assert slurmd and not record.get("Reason"), record
    published = json.loads(on(cluster, node, "cat /run/cohort/published"))
    assert published["revision"] == STAMPED
    assert f"{node}: {WORDS[boot]}" in cluster.log(f"{node}.console").split("image content")[-1]
    assert json.loads(record["Extra"])["cohort_root"], record
    if kind == "dynamic":
        # It was started with its revision, so it is labelled; its site's features stay.
        assert json.loads(record["Extra"])["cohort_rev"] == STAMPED
        assert sorted(record["AvailableFeatures"].split(",")) == sorted(["big", "site", STAMPED]), record
    else:
        assert "cohort_rev" not in json.loads(record["Extra"]), "the cohort was never adopted"
    if inputs == "late" and kind == "static":
        assert "join: waiting: the task profile is not usable" in table[cell], "people were told"


def test_a_task_runs_where_join_has_published(cluster, table):
    nodes = [NODE[(kind, "plain", "late")] for kind in KINDS]
    for node in nodes:
        assert cluster.out("srun", "-w", node, "hostname", user="alice", timeout=60) == node


def before(lab, node: str, step_daemon: str) -> int:
    """join --before beside a process that is named as a step daemon is; `sleep` under another name."""
    on(lab, node, f"cp /bin/sleep /run/slurmstepd; /run/slurmstepd {step_daemon} >/dev/null 2>&1 & echo $! >/run/step.pid")
    done = lab.machines[node].run([PROGRAM, "join", "--before", "--wait", "1s"], check=False)
    on(lab, node, "kill $(cat /run/step.pid)")
    return done.returncode


def test_what_keeps_the_scope_of_all_jobs_is_no_job(cluster, table):
    """With cgroup v2 a `slurmstepd infinity` lives on every node."""
    node = NODE[("static", "first", "missing")]
    assert before(cluster, node, "infinity") == 1, "slurmd must not start"
    assert before(cluster, node, "60") == 0, "a job must not lose its slurmd"


def test_a_missing_input_that_comes_later_brings_the_node_back(cluster, table):
    """Safe to run again: join retries, and lifts what it has set itself."""
    nodes = [NODE[(kind, "plain", "missing")] for kind in KINDS]
    for node in nodes:
        on(cluster, node, f"{PROGRAM} profile write")
    cluster.wait_nodes("idle", nodes, seconds=90)
    for node in nodes:
        assert "cohort_out" not in cluster.node(node).get("Extra", "")


def drained(lab, node: str, sentence: str) -> bool:
    record = lab.node(node)
    return "DRAIN" in record["State"] and sentence in record.get("Reason", "")


def restart_slurmd(lab, node: str) -> None:
    """As `systemctl restart slurmd` with our drop-in and cohort-join.service."""
    machine = lab.machines[node]
    on(lab, node, "kill $(cat /run/slurm/slurmd.pid)")
    wait_until(lambda: "slurmd" not in machine.processes(), 20, "slurmd has ended", 0.1)
    machine.spawn(["/usr/lib/lab/slurmd-unit"], f"{node}.unit")
    machine.spawn([PROGRAM, "join", "--after", "--wait", "2s"], f"{node}.again")


def test_slurmd_restarts_beside_a_job_with_a_damaged_profile(cluster, table):
    """The job keeps its slurmd and lives, no other comes; mended, the node is back."""
    nodes = [NODE[(kind, "plain", "present")] for kind in KINDS]
    jobs = {node: cluster.submit("-w", node, wrap="sleep 20") for node in nodes}
    for node in nodes:
        wait_until(lambda: "slurm_script" in cluster.machines[node].processes(), 30, "the job runs", 0.1)
        on(cluster, node, f"chmod 666 {PROFILE}/vars")
        restart_slurmd(cluster, node)
    for node in nodes:
        wait_until(lambda: drained(cluster, node, "join: the task profile is not usable"), 40, node, 0.2)
        assert "vars has mode 0666" in cluster.node(node)["Reason"]
        wait_until(lambda: "slurmd" in cluster.machines[node].processes(), 20, "slurmd runs", 0.2)
        assert cluster.job(jobs[node])["JobState"] == "RUNNING"
    pending = {node: cluster.submit("-w", node) for node in nodes}
    for node in nodes:
        assert cluster.wait_job(jobs[node]) == "COMPLETED" and cluster.job(jobs[node])["Restarts"] == "0"
        assert cluster.job(pending[node])["JobState"] == "PENDING"
        on(cluster, node, f"rm -rf {PROFILE}; {PROGRAM} profile write; {PROGRAM} join --after")
    for node in nodes:
        cluster.wait_job(pending[node])


def test_an_administrators_drain_is_not_lifted(cluster, table):
    node = NODE[("static", "plain", "present")]
    cluster.run("scontrol", "update", f"nodename={node}", "state=drain", "reason=memory is bad")
    before = joins(cluster, node)
    cluster.machines[node].power_off()
    cluster.machines[node].power_on()
    wait_until(lambda: joins(cluster, node) > before, 60, "joined", 0.1)
    assert drained(cluster, node, "memory is bad")
    cluster.run("scontrol", "update", f"nodename={node}", "state=resume")


def test_a_dynamic_node_that_comes_back_with_another_revision_is_relabelled(cluster, table):
    """Slurm ignores the Feature= of a node that registers again."""
    node = NODE[("dynamic", "plain", "present")]
    machine = cluster.machines[node]
    before = joins(cluster, node)
    machine.power_off()
    machine.wipe(cluster.image("v2").id)
    machine.power_on()
    wait_until(lambda: joins(cluster, node) > before, 60, "joined", 0.1)
    name = "rev_" + sealed.digest("flox-runtime-revision/1\nworker_image=6:lab/v2\n")[:16]
    features = cluster.node(node)["AvailableFeatures"].split(",")
    assert name in features and STAMPED not in features and "site" in features


def once(lab, node: str, command: str, *options: str):
    return lab.machines[node].run([PROGRAM, "once", "site", *options, "--", "sh", "-c", command], check=False)


def test_a_sites_step_runs_once_per_disk(cluster, table):
    node = NODE[("static", "first", "present")]
    machine = cluster.machines[node]
    fails = "echo try >>/run/tries; [ $(wc -l </run/tries) -ge 3 ]"
    done = once(cluster, node, fails, "--tries", "2", "--pause", "100ms")
    assert done.returncode == 1 and "exit 1" in done.stderr, done
    joined = machine.run([PROGRAM, "join", "--after", "--wait", "1s"], check=False)
    assert joined.returncode == 1
    assert "join: boot step site: sh: exit 1" in cluster.node(node)["Reason"], cluster.node(node)
    assert once(cluster, node, fails).returncode == 0, "tried again, it ends well"
    assert machine.run([PROGRAM, "join", "--after"]).returncode == 0
    cluster.wait_nodes("idle", [node])
    assert once(cluster, node, fails).returncode == 0
    assert on(cluster, node, "wc -l </run/tries").strip() == "3", "it was not run again"
    for wipe, runs in ((False, "0"), (True, "1")):
        before = joins(cluster, node)
        machine.power_off()
        if wipe:
            machine.wipe(machine.image)
        machine.power_on()
        wait_until(lambda: joins(cluster, node) > before, 60, "joined", 0.1)
        once(cluster, node, "echo try >>/run/tries")
        assert on(cluster, node, "cat /run/tries 2>/dev/null | wc -l").strip() == runs


BAD = [
    ("a name that is a path", ["once", "../x", "--", "true"], "no name of a step"),
    ("no command", ["once", "site"], "COMMAND"),
    ("a command that is not there", ["once", "gone", "--tries", "1", "--", "/nonexistent"], "cannot start"),
    ("conf without a value", ["revision", "--slurmd", "--conf", "Weight"], "not KEY=VALUE"),
    ("conf with a quote", ["revision", "--slurmd", "--conf", 'A="b"'], "cannot be passed on"),
    ("conf without slurmd", ["revision", "--conf", "A=b"], "--slurmd"),
    ("a bad time", ["join", "--after", "--wait", "soon"], "is no time"),
]


@pytest.mark.parametrize("words,given,sentence", BAD, ids=[b[0].replace(" ", "-") for b in BAD])
def test_bad_words_are_refused(cluster, words, given, sentence):
    node = NODE[("static", "plain", "present")]
    done = cluster.machines[node].run([PROGRAM, *given], check=False)
    assert done.returncode in (1, 2) and sentence in done.stderr + done.stdout, (shlex.join(given), done)
    on(cluster, node, "rm -rf /run/cohort/steps")
