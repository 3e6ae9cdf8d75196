# SPDX-License-Identifier: GPL-2.0-or-later
"""scohort barrier on eight nodes: closed, replaced, proved, opened; killed and run again.

With COHORT_LONG=1 scohort is killed between every two steps, else between some of them. Judged from
outside: when each user job began, by slurmctld, and what the nodes write of themselves at each boot.
"""
from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from machines import wait_until
from namespace import LAB

STEPS = ("wait", "replace", "register", "prove", "resume", "test", "open")
KILLED_AT = STEPS if os.environ.get("COHORT_LONG") else ("replace", "resume")
ENDED = "cohort main is open on"


@pytest.fixture(scope="module")
def cluster(module_lab):
    lab = module_lab(nodes=8, cloud={"rebuild_delay": 1.0}, advance_every=1.0,
                     cohort_conf={"VerifyWait": "30s", "SoftRebootTime": "10s"})  # fmt: skip
    lab.wait_joined()
    lab.run("scohort", "adopt")
    wait_until(lambda: len(labels(lab)) == 1 and "" not in labels(lab), 20, "all nodes have a label")
    return lab


def extra(cluster, node: str) -> dict:
    text = cluster.node(node).get("Extra", "")
    return json.loads(text) if text.startswith("{") else {}


def labels(cluster) -> set[str]:
    return {extra(cluster, n).get("cohort_rev", "") for n in cluster.nodes}


def content(cluster, node: str) -> str:
    return cluster.boots(node)[-1]["content"]


def is_up(cluster) -> bool:
    return "State=UP" in cluster.out("scontrol", "show", "partition", "main")


def barrier(cluster, *options: str, code: int = 0) -> str:
    """What it said."""
    done = cluster.run("scohort", "barrier", "--cohort", "main", *options, check=False, timeout=180)
    assert done.returncode == code, done
    return done.stdout + done.stderr


class Run:
    """A barrier in the background, whose words are read as they come."""

    def __init__(self, cluster, *options: str) -> None:
        self.words: list[str] = []
        cohort = () if "--cohort" in options else ("--cohort", "main")
        self.process = subprocess.Popen(
            [*cluster.controller.enter(), "--", "scohort", "barrier", *cohort, *options], text=True,
            env=cluster.controller.environment("root"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)  # fmt: skip

    def until(self, word: str) -> bool:
        """False when it has ended without that line."""
        assert self.process.stdout
        for line in self.process.stdout:
            self.words.append(line.rstrip())
            if word in line:
                return True
        self.process.wait()
        return False

    def kill(self) -> None:
        """At once: the next step takes some RPCs."""
        pid = self.process.pid
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)
        self.process.wait()


def start_of(cluster, job: str) -> float:
    text = cluster.job(job)["StartTime"]
    return time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S")) if text[0] == "2" else 0


def reservations(cluster) -> str:
    return cluster.out("scontrol", "-o", "show", "reservation")


def test_a_command_may_replace_the_machines(cluster) -> None:
    """As kubectl does: it ends before the machines are back. Without a wish each proves what it runs."""
    rows = json.loads(cluster.out("scohort", "plan", "--json", "--to", "v3"))["plan"]
    label = rows[0]["to_label"]
    program = LAB / "shared" / "replace"
    program.write_text('#!/bin/sh\necho "$1 $COHORT_NODES $COHORT_REVISION" >/shared/replaced\nchmod 666 /shared/replaced\n')
    program.chmod(0o755)
    run = Run(cluster, "--revision", label, "--command", "/shared/replace now;")
    assert run.until("runs /shared/replace"), run.words
    wait_until((LAB / "shared" / "replaced").exists, 10, "the command has run")
    assert (LAB / "shared" / "replaced").read_text() == f"now; n[1-8] {label}\n", "no shell reads its words"
    for node in cluster.nodes:
        cluster.power("spawn", node, "v3")
    assert run.until(ENDED) and run.process.wait() == 0, run.words
    assert labels(cluster) == {label} and {content(cluster, n) for n in cluster.nodes} == {"v3"}
    program.write_text("#!/bin/sh\necho no quota >&2\nexit 3\n")
    other = label[:-1] + ("0" if label[-1] != "0" else "1")
    assert "exit status 3: no quota" in barrier(cluster, "--revision", other, "--command", "/shared/replace", code=1)
    assert not is_up(cluster)
    program.write_text("#!/bin/sh\nexit 0\n")
    # The old one was to fail; this is taken over by one that only puts right what is there.
    run = Run(cluster, "--revision", label)
    assert run.until(ENDED) and run.process.wait() == 0, run.words
    assert is_up(cluster)


def test_check_only_and_a_limit_leave_everything_as_it_was(cluster) -> None:
    job = cluster.submit("-w", "n2", "-t", "10", wrap="sleep 600")
    cluster.wait_job(job, "RUNNING")
    assert f"1 jobs are on its nodes: {job}" in barrier(cluster, "--check-only", code=4)
    assert "given up, everything is as it was before" in barrier(cluster, "--to", "v2", "--wait", "1s", code=75)
    assert is_up(cluster) and cluster.job(job)["JobState"] == "RUNNING"
    wait_until(lambda: "drain" not in str(cluster.node_states()), 10, f"nothing is drained: {cluster.node_states()}")
    assert not any("cohort_hold" in extra(cluster, n) for n in cluster.nodes)
    # The same by hand: somebody has thought better of it.
    run = Run(cluster, "--to", "v2")
    assert run.until("jobs are on its nodes")
    run.kill()
    assert not is_up(cluster) and "cohort_hold" in extra(cluster, "n1")
    assert "is undone" in barrier(cluster, "--undo") and is_up(cluster)
    assert not any("cohort_hold" in extra(cluster, n) for n in cluster.nodes)
    cluster.run("scancel", job)
    cluster.wait_job(job, "CANCELLED")
    assert "no job is on the nodes" in barrier(cluster, "--check-only")
    assert {len(cluster.boots(n)) for n in cluster.nodes} == {2}, "nothing was replaced"


def test_words_that_make_no_sense_are_refused(cluster) -> None:
    for options, words in [(("--revision", "v2"), "rev_ and 16 hex digits"), (("--wait", "soon"), "such as 30min"),
                           (("--command", "/bin/true"), "needs --revision"),
                           (("--command", "/bin/true", "--revision", "rev_0123456789abcdef", "--to", "v2"), "either")]:  # fmt: skip
        assert words in barrier(cluster, *options, code=2)
    done = cluster.run("scohort", "barrier", "--cohort", "nowhere", check=False)
    assert done.returncode == 2 and "no cohort and no partition nowhere" in done.stderr
    assert is_up(cluster)


def test_killed_and_run_again_it_opens_on_one_revision(cluster) -> None:
    """n8: an administrator's drain. Two jobs run, and more wait than there is room for."""
    cluster.run("scontrol", "update", "node=n8", "state=drain", "reason=disk")
    running = [cluster.submit("-w", n, "--exclusive", "-t", "10", wrap="sleep 12") for n in ("n1", "n[2-3]")]
    for job in running:
        cluster.wait_job(job, "RUNNING")
    run = Run(cluster, "--to", "v2")
    assert run.until("step wait"), run.words
    closed = time.time()
    waiting = [cluster.submit(f"-N{nodes}", "-t", "10", wrap="srun cohort-node revision --own; sleep 1")
               for nodes in (1, 2, 7, 1)]  # fmt: skip
    killed = []
    for step in KILLED_AT:
        if step != "wait":
            assert run.until(f"step {step}"), run.words
        run.kill()
        killed.append(step)
        cluster.run("scontrol", "reconfigure")
        run = Run(cluster)
    assert run.until(ENDED), run.words
    assert run.process.wait() == 0
    # Killed between the word and its event, the last step is known by the opening alone, a moment later.
    told = [e["at"] for e in events(cluster) if "step open" in e["text"]]
    opened = max(told or [e["at"] - 1 for e in events(cluster) if "open" in e["text"]])
    assert all(cluster.wait_job(j, "COMPLETED", "FAILED", "CANCELLED", "NODE_FAIL") == "COMPLETED" for j in running)
    for job in waiting:
        assert cluster.wait_job(job, "COMPLETED", "FAILED", "CANCELLED", seconds=90) == "COMPLETED"
        assert start_of(cluster, job) >= opened, (job, closed, opened, killed)
    assert all(start_of(cluster, j) <= closed and cluster.job(j)["Restarts"] == "0" for j in running)
    assert {content(cluster, n) for n in cluster.nodes[:7]} == {"v2"} and is_up(cluster)
    assert len({extra(cluster, n)["cohort_rev"] for n in cluster.nodes[:7]}) == 1
    assert all(len(cluster.boots(n)) == 3 for n in cluster.nodes[:7]), "nothing is replaced twice"
    # Not ours to lift, and not replaced: the guard keeps jobs from spanning it.
    shown = cluster.node("n8")
    assert "DRAIN" in shown["State"] and shown["Reason"].startswith("disk") and content(cluster, "n8") == "v3"
    assert "cohort_barrier" not in reservations(cluster)


def events(cluster) -> list[dict]:
    program = ("import json,sqlite3,sys; d=sqlite3.connect(sys.argv[1]); "
               "print(json.dumps([dict(zip(('at','text'),r)) for r in d.execute('select at,text from events')]))")  # fmt: skip
    path = cluster.out("find", "/var/lib/slurm", "-name", "journal.db")
    return json.loads(cluster.out("python3", "-c", program, path))


def test_run_again_it_knows_whether_there_is_anything_to_do(cluster) -> None:
    """Same revision and open: nothing. The cloud out of reach: nobody knows, so nothing is begun."""
    assert "nothing to do: cohort main is open on" in barrier(cluster, "--to", "v2")
    boots = [len(cluster.boots(n)) for n in cluster.nodes]
    (LAB / "openstack" / "clouds.yaml").rename(LAB / "openstack" / "clouds.away")
    assert "cannot be told" in barrier(cluster, "--to", "v3", code=3)
    (LAB / "openstack" / "clouds.away").rename(LAB / "openstack" / "clouds.yaml")
    assert is_up(cluster) and boots == [len(cluster.boots(n)) for n in cluster.nodes]


def test_a_node_with_the_old_image_keeps_it_closed(cluster) -> None:
    """The cloud says that it did it and n3 boots what it had. Mended, the same words open it."""
    if "drain" in cluster.node_states()["n8"]:  # by the row about the kills
        cluster.run("scontrol", "update", "node=n8", "state=resume")
    cluster.wait_nodes("idle")
    cluster.cloud.next("n3", outcome="lie")
    job = ""
    run = Run(cluster, "--to", "v3")
    assert run.until("step wait")
    job = cluster.submit("-N1", "-t", "10")
    assert not run.until(ENDED) and run.process.wait() == 1
    said = "\n".join(run.words)
    assert "not replaced: n3: " in said and "stays closed" in said, said
    assert not is_up(cluster) and cluster.job(job)["JobState"] == "PENDING"
    shown = json.loads(cluster.out("scohort", "status", "--json"))["barriers"]
    assert [b["state"] for b in shown] == ["closed"] and "n3" in shown[0]["why"], shown
    assert "Cohort main is CLOSED by barrier" in cluster.out("scohort", "status")
    # Neither a resume by hand nor a reconfigure opens it: each takes one of two locks, and advance
    # puts it back. (Who does both within one interval of advance has opened it for that long.)
    cluster.run("scontrol", "update", "node=n1", "state=resume")
    wait_until(lambda: "drain" in cluster.node_states()["n1"], 15, "advance drains it again", 0.5)
    assert cluster.job(job)["JobState"] == "PENDING"
    cluster.run("scontrol", "reconfigure")
    wait_until(lambda: not is_up(cluster), 15, "advance closes it again", 0.5)
    assert cluster.job(job)["JobState"] == "PENDING"
    assert ENDED in barrier(cluster)
    assert {content(cluster, n) for n in cluster.nodes} == {"v3"} and is_up(cluster)
    cluster.wait_job(job)
    assert "opened" in cluster.out("scohort", "history")
