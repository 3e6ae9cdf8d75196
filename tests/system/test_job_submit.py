# SPDX-License-Identifier: GPL-2.0-or-later
"""job_submit_cohort in a real slurmctld: who gets a rebuild job, and what becomes of it.

No node is rebooted here (RebootProgram does nothing), so a rebuild job that starts stays CONFIGURING.
"""
from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import services
import slurmconf
from lab import Lab
from machines import wait_until

TOP = 4294901760


@pytest.fixture(scope="module")
def cluster(module_lab):
    lab = module_lab(nodes=4, conf={"RebootProgram": "/bin/true"})
    lab.run("sacctmgr", "-i", "modify", "user", "bob", "set", "AdminLevel=Administrator")
    lab.run("sacctmgr", "-i", "modify", "user", "alice", "bob", "set", "qos+=rebuild")
    wait_until(lambda: snapshot(lab).get("nodes"), 20, "the plugin has read the cluster")
    return lab


@pytest.fixture(autouse=True)
def empty_queue(request):
    """Every test begins without jobs and with a plugin that has noticed it."""
    yield
    if "cluster" not in request.fixturenames:
        return
    lab = request.getfixturevalue("cluster")
    lab.cohort_conf.clear()
    lab.write_slurm_conf()
    lab.run("bash", "-c", "squeue -h -o %A | xargs -r scancel")
    wait_until(lambda: not lab.out("squeue", "-h"), 30, "the queue is empty", 0.1)
    waiting = [node for node in lab.nodes if lab.node(node)["State"] != "IDLE"]
    if waiting:
        time.sleep(2)  # Slurm compares whole seconds: it does not see a boot right after its request
        for node in waiting:
            # Slurm waits for the boot that nobody makes: make it.
            lab.power("hard", node)
            lab.run("scontrol", "update", f"node={node}", "state=resume", check=False)
    lab.wait_nodes("idle", seconds=90)
    wait_until(lambda: not snapshot(lab)["rebuild_jobs"] and not snapshot(lab)["fault"], 15,
               "the plugin sees no rebuild job", 0.1)  # fmt: skip


def state_file(lab: Lab, name: str) -> str:
    return lab.run("cat", f"/var/lib/slurm/slurmctld-cohort/{name}", check=False).stdout


def snapshot(lab: Lab) -> dict:
    return json.loads(state_file(lab, "snapshot.json") or "{}")


def configure(lab: Lab, **keys) -> None:
    """Changes cohort.conf and waits until the plugin has seen it."""
    lab.cohort_conf.clear()
    lab.cohort_conf.update(keys)
    lab.write_slurm_conf()
    text = "".join(f"{k}={v}\n" for k, v in keys.items())
    wait_until(lambda: state_file(lab, "cohort.conf.good") == text, 10, "cohort.conf is read", 0.1)


def busy(lab: Lab, *nodes: str) -> None:
    """User jobs fill these nodes, so that rebuild jobs for them wait."""
    for node in nodes:
        lab.wait_job(lab.submit("-w", node, "--exclusive", wrap="sleep 600"), "RUNNING")
    wait_until(lambda: all(n[1] != "IDLE" for n in snapshot(lab)["nodes"] if n[0] in nodes), 10,
               "the plugin sees that they are busy")  # fmt: skip


def rebuild(lab: Lab, node: str, *options: str, user: str = "root"):
    return lab.run("sbatch", "--parsable", "--reboot", "-w", node, *options, "--wrap", "true",
                   user=user, check=False)  # fmt: skip


def accepted(lab: Lab, node: str, *options: str, user: str = "root") -> str:
    done = rebuild(lab, node, *options, user=user)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def mark(lab: Lab, job: str) -> dict:
    comment = lab.job(job).get("AdminComment", "{}")
    return json.loads(comment).get("cohort", {})


def test_a_rebuild_job_is_marked_and_gets_what_was_left_unset(cluster):
    busy(cluster, "n1")
    job = accepted(cluster, "n1")
    record = cluster.job(job)
    assert record["Priority"] == str(TOP)
    assert record["Requeue"] == "0"
    assert record["TimeLimit"] == "00:30:00"
    assert mark(cluster, job) == {"kind": "rebuild", "node": "n1", "priority": TOP}


def test_what_the_administrator_gave_stays(cluster):
    configure(cluster, RebuildQos="rebuild", RebuildTime="10min")
    busy(cluster, "n1", "n2")
    record = cluster.job(accepted(cluster, "n1", "-t", "5", "--qos=normal", "--requeue",
                                  "--priority=77", "--comment=mine", user="bob"))  # fmt: skip
    assert (record["TimeLimit"], record["QOS"], record["Requeue"]) == ("00:05:00", "normal", "1")
    assert (record["Priority"], record["Comment"].strip()) == ("77", "mine")
    record = cluster.job(accepted(cluster, "n2", user="bob"))
    assert (record["TimeLimit"], record["QOS"]) == ("00:10:00", "rebuild")


def test_his_own_hold_is_not_ours(cluster):
    job = accepted(cluster, "n1", "--hold")
    assert cluster.job(job)["Priority"] == "0"
    assert mark(cluster, job) == {"kind": "rebuild", "node": "n1", "priority": TOP}


@pytest.mark.parametrize("options, words", [
    ([], "must name its node"),
    (["-w", "n1,n2"], "exactly one node"),
    (["-w", "n1", "-N2"], "exactly one node"),
    (["-w", "n1", "-a", "1-3"], "cannot be an array"),
])  # fmt: skip
def test_anything_but_one_node_is_refused_with_the_line_to_type(cluster, options, words):
    done = cluster.run("sbatch", "--reboot", *options, "--wrap", "true", check=False)
    assert done.returncode != 0
    assert words in done.stderr and "scohort rebuild -w NODE" in done.stderr


def test_a_het_job_and_an_unknown_node_are_refused(cluster):
    done = cluster.run("bash", "-c", "printf '#!/bin/sh\n#SBATCH --reboot -w n1\n"
                       "#SBATCH hetjob\n#SBATCH -w n2\ntrue\n' | sbatch", check=False)  # fmt: skip
    assert "heterogeneous" in done.stderr
    assert "Slurm knows no node n99" in rebuild(cluster, "n99").stderr


def test_a_user_gets_nothing(cluster):
    busy(cluster, "n1")
    job = accepted(cluster, "n1", "-J", "rebuild-n1", "--comment=rebuild")
    refused = rebuild(cluster, "n2", user="alice")
    assert refused.returncode != 0 and "only allowed for admins" in refused.stderr
    copied = json.dumps({"cohort": mark(cluster, job)})
    variables = {"COHORT_REBUILD": "1", "SPANK_COHORT_REBUILD": "1"}
    copy = cluster.out("sbatch", "--parsable", "-w", "n2", "-J", "rebuild-n1", "--hold",
                       f"--comment={copied}", "--wrap", "true", user="alice", env=variables)
    record = cluster.job(copy)
    assert record["Reboot"] == "0" and record.get("AdminComment", "") == ""
    assert record["Priority"] == "0" and record["TimeLimit"] != "00:30:00"
    for change in (f"AdminComment={copied}", "Priority=4000000000", "Reboot=1"):
        cluster.run("scontrol", "update", f"jobid={copy}", change, user="alice", check=False)
    record = cluster.job(copy)
    assert record["Reboot"] == "0" and record.get("AdminComment", "") == ""
    assert record["Priority"] == "0"
    # An Administrator's comment does not make one either; and the node is still free for a true one.
    cluster.run("scontrol", "update", f"jobid={copy}", f"AdminComment={copied}", user="bob",
                check=False)  # fmt: skip
    assert cluster.job(copy).get("AdminComment", "") == ""
    marked = cluster.run("scontrol", "update", f"jobid={copy}", "Comment=x", user="alice")
    assert marked.returncode == 0


def test_a_comment_on_a_running_rebuild_job(cluster):
    job = accepted(cluster, "n1")
    cluster.wait_job(job, "RUNNING", "CONFIGURING")
    cluster.run("scontrol", "update", f"jobid={job}", "Comment=mine")
    assert cluster.job(job)["Comment"] == "mine"


def test_an_administrator_not_in_rebuildusers_is_refused(cluster):
    configure(cluster, RebuildUsers="carol")
    refused = rebuild(cluster, "n1", "--hold", user="bob")
    assert refused.returncode != 0 and "RebuildUsers=" in refused.stderr
    accepted(cluster, "n1", "--hold")
    configure(cluster, RebuildUsers="carol,bob")
    accepted(cluster, "n2", "--hold", user="bob")


def test_of_32_at_once_one_is_accepted_and_after_its_end_the_next(cluster):
    busy(cluster, "n1")
    with ThreadPoolExecutor(32) as pool:
        done = list(pool.map(lambda _: rebuild(cluster, "n1"), range(32)))
    jobs = [d.stdout.strip() for d in done if d.returncode == 0]
    assert len(jobs) == 1, [d.stderr for d in done]
    assert all("n1" in d.stderr for d in done if d.returncode != 0)
    again = rebuild(cluster, "n1")
    assert f"job {jobs[0]} (pending)" in again.stderr
    cluster.run("scancel", jobs[0])
    wait_until(lambda: rebuild(cluster, "n1").returncode == 0, 6, "the next is accepted", 0.2)


def test_a_test_only_submission_does_not_block_the_node_for_long(cluster):
    cluster.run("sbatch", "--reboot", "--test-only", "-w", "n1", "--wrap", "true", check=False)
    wait_until(lambda: rebuild(cluster, "n1", "--hold").returncode == 0, 12, "accepted", 0.5)


def test_idle_nodes_are_taken_up_to_maxconcurrent_the_rest_is_held(cluster):
    configure(cluster, MaxConcurrent=2)
    done = {n: rebuild(cluster, n) for n in cluster.nodes}
    jobs = {n: d.stdout.strip() for n, d in done.items()}
    held = [n for n in cluster.nodes if cluster.job(jobs[n])["Priority"] == "0"]
    assert held == ["n3", "n4"]
    for node in held:
        assert "held: MaxConcurrent=2" in done[node].stderr
        assert "scohort advance" in done[node].stderr
        assert mark(cluster, jobs[node]) == {
            "kind": "rebuild", "node": node, "priority": TOP, "held": "concurrent"}  # fmt: skip


def test_too_many_pending_ones_are_held(cluster):
    configure(cluster, MaxPendingRebuilds=2)
    busy(cluster, *cluster.nodes)
    jobs = {n: accepted(cluster, n) for n in cluster.nodes}
    assert [mark(cluster, j).get("held", "") for j in jobs.values()] == ["", "", "pending", "pending"]
    cluster.run("scancel", jobs["n1"])
    wait_until(lambda: len(snapshot(cluster)["rebuild_jobs"]) == 3, 5, "the plugin sees it")
    assert mark(cluster, accepted(cluster, "n1")).get("held", "") == ""


def test_an_open_breaker_holds_new_ones(cluster):
    cluster.run("touch", "/var/lib/slurm/slurmctld-cohort/breaker")
    try:
        wait_until(lambda: snapshot(cluster)["breaker"], 10, "the plugin sees it")
        assert mark(cluster, accepted(cluster, "n1"))["held"] == "breaker"
    finally:
        cluster.run("rm", "/var/lib/slurm/slurmctld-cohort/breaker")
    wait_until(lambda: not snapshot(cluster)["breaker"], 15, "the plugin sees that it is closed")


def test_a_rebuild_job_cannot_be_sent_elsewhere(cluster):
    job = accepted(cluster, "n1", "--hold", user="bob")
    wait_until(lambda: snapshot(cluster)["rebuild_jobs"], 5, "the plugin sees it")
    cluster.run("scontrol", "update", f"jobid={job}", "ReqNodeList=n2", user="bob", check=False)
    assert cluster.job(job)["ReqNodeList"] == "n1"
    cluster.run("scontrol", "update", f"jobid={job}", "Comment=x", "TimeLimit=9", user="bob")
    assert cluster.job(job)["TimeLimit"] == "00:09:00"
    cluster.run("scontrol", "release", job)


BREAKS = {
    "missing": "rm -rf {0}",
    "truncated": "rm -rf {0}; printf 'MaxConcurrent=7\\nMaxConc' > {0}",
    "unreadable": "rm -rf {0}; touch {0}; chmod 000 {0}; chown root {0}",
    "a directory": "rm -rf {0}; mkdir {0}",
}
REASONS = {"missing": "No such file or directory", "truncated": "MaxConc", "unreadable": "Permission denied",
           "a directory": "is not a regular file"}  # fmt: skip


def hurt(lab: Lab, how: str) -> None:
    lab.run("sh", "-c", BREAKS[how].format("/etc/slurm/cohort.conf"))


def restart(lab: Lab) -> None:
    services.stop(lab.controller, "slurmctld")
    services.start_slurmctld(lab.controller)


@pytest.mark.parametrize("how", BREAKS)
def test_a_broken_cohort_conf_at_reconfigure_and_at_start(cluster, how):
    configure(cluster, MaxConcurrent=1)
    good = state_file(cluster, "cohort.conf.good")
    assert good == "MaxConcurrent=1\n"
    before = len(cluster.log("slurmctld.log"))
    hurt(cluster, how)
    cluster.run("scontrol", "reconfigure")
    wait_until(lambda: REASONS[how] in snapshot(cluster)["fault"], 10, "the fault is seen")
    assert services.slurmctld_answers(cluster.controller)
    # The last good one holds: the second idle node is one too many.
    accepted(cluster, "n1", "--hold")
    time.sleep(2)  # it is looked at again and again
    said = [line for line in cluster.log("slurmctld.log")[before:].splitlines()
            if "/etc/slurm/cohort.conf" in line and REASONS[how] in line]  # fmt: skip
    assert said and all("error: " in line and "Mend it" in line for line in said), said
    if slurmconf.slurm_version(cluster.out("slurmctld", "-V")) < (23, 11):
        assert len(said) == 1, said  # newer ones begin a new process, which reads it too
    restart(cluster)
    cluster.wait_job(cluster.submit("-w", "n4"), seconds=30)
    wait_until(lambda: rebuild(cluster, "n2", "--hold").returncode == 0, 20, "accepted", 0.3)
    assert snapshot(cluster)["configuration"].endswith("cohort.conf.good")
    # With neither, rebuild jobs are refused with the reason and the rest works.
    cluster.run("rm", "/var/lib/slurm/slurmctld-cohort/cohort.conf.good")
    restart(cluster)
    wait_until(lambda: "cohort.conf" in rebuild(cluster, "n3", "--hold").stderr, 20, "refused", 0.3)
    assert "mended" in rebuild(cluster, "n3", "--hold").stderr
    cluster.wait_job(cluster.submit("-w", "n4"), seconds=30)
    cluster.run("rm", "-rf", "/etc/slurm/cohort.conf")
    configure(cluster)
    wait_until(lambda: rebuild(cluster, "n3", "--hold").returncode == 0, 20, "accepted", 0.3)


# What becomes of the files that say what nodes are to run: the hooks never read them.
DESIRED = "/shared/desired"
DESIRED_BREAKS = {
    "missing": "rm -rf {0}",
    "truncated": "for f in {0}/*; do : >$f; done",
    "unreadable": "chmod 000 {0}/* {0}; chown root {0}",
    "a file": "rm -rf {0}; touch {0}",
}


@pytest.mark.parametrize("how", DESIRED_BREAKS)
def test_a_broken_desireddir_at_reconfigure_and_at_start(cluster, how):
    cluster.run("sh", "-c", "mkdir -p {0}; for n in n1 n2 n3 n4; do echo image_id: {1} >{0}/$n.yml; done".format(
        DESIRED, cluster.image("v1").id))  # fmt: skip
    try:
        configure(cluster, DesiredDir=DESIRED)
        accepted(cluster, "n1", "--hold")
        cluster.run("sh", "-c", DESIRED_BREAKS[how].format(DESIRED))
        cluster.run("scontrol", "reconfigure")
        wait_until(lambda: services.slurmctld_answers(cluster.controller), 20, "slurmctld answers")
        cluster.wait_job(cluster.submit("-w", "n4"), seconds=30)
        wait_until(lambda: rebuild(cluster, "n2", "--hold").returncode == 0, 20, "accepted", 0.3)
        pid = services.pid(cluster.controller, "slurmctld")
        restart(cluster)
        assert services.pid(cluster.controller, "slurmctld") not in (0, pid)
        cluster.wait_job(cluster.submit("-w", "n4"), seconds=30)
        wait_until(lambda: rebuild(cluster, "n3", "--hold").returncode == 0, 20, "accepted", 0.3)
        assert not snapshot(cluster)["fault"]
    finally:
        cluster.run("rm", "-rf", DESIRED)


def test_200_sbatch_at_once_with_rebuild_jobs_among_them(cluster):
    pid = services.pid(cluster.controller, "slurmctld")

    def one(i: int):
        if i % 10 == 0:
            return rebuild(cluster, f"n{1 + i // 10 % 4}", "--hold")
        return cluster.run("sbatch", "--hold", "--wrap", "true", user="alice", check=False)

    with ThreadPoolExecutor(40) as pool:
        done = list(pool.map(one, range(200)))
    assert sum(d.returncode == 0 for i, d in enumerate(done) if i % 10) == 180
    assert sum(d.returncode == 0 for i, d in enumerate(done) if i % 10 == 0) == 4
    assert services.pid(cluster.controller, "slurmctld") == pid


def test_50_reconfigures(cluster):
    job = accepted(cluster, "n1", "--hold")
    before = services.pid(cluster.controller, "slurmctld")
    for _ in range(50):
        cluster.run("scontrol", "reconfigure")
    assert services.slurmctld_answers(cluster.controller)
    if slurmconf.slurm_version(cluster.out("slurmctld", "-V")) < (23, 11):
        assert services.pid(cluster.controller, "slurmctld") == before
    # Threads come and go while they are listed: cat may miss one.
    comms = "cat /proc/$(cat /run/slurm/slurmctld.pid)/task/*/comm 2>/dev/null || true"
    assert cluster.out("sh", "-c", comms).split().count("cohort") == 1
    wait_until(lambda: f"job {job} " in rebuild(cluster, "n1", "--hold").stderr, 15,
               "the plugin still knows the job", 0.3)  # fmt: skip
