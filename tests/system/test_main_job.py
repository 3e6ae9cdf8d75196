# SPDX-License-Identifier: GPL-2.0-or-later
"""The main job on real nodes: rebuild, reboot, and what each kind of fault makes of a node."""
from __future__ import annotations

import json
import time

import pytest

import services
from machines import wait_until
from spanklab import version

REBUILD = "cohort-node verify"
COHORT = {"VerifyWait": "40s", "SoftRebootTime": "10s"}


def start(lab, nodes=2, cloud=None, conf=None, cohort=None, images=None, advance=2.0):
    return lab(nodes=nodes, cloud={"rebuild_delay": 1.0, "reboot_delay": 0.2} | (cloud or {}), conf=conf or {},
               cohort_conf=COHORT | (cohort or {}), images=images, advance_every=advance)  # fmt: skip


def submit_rebuild(cluster, node: str, *options: str) -> str:
    """The plugin may still see the node's last rebuild job for a moment after its end."""
    command = ["sbatch", "--parsable", "--reboot", "-w", node, "-o", f"/shared/verify.{node}.out",
               *options, "--wrap", REBUILD]  # fmt: skip
    deadline = time.monotonic() + 10
    while True:
        result = cluster.run(*command, user="root", check=False)
        if result.returncode == 0:
            return result.stdout.strip()
        if "has a rebuild job already" not in result.stderr or time.monotonic() > deadline:
            raise AssertionError(result.stderr)
        time.sleep(0.5)


def extra(cluster, node: str) -> dict:
    text = cluster.node(node).get("Extra", "")
    return json.loads(text) if text and text != "(null)" else {}


def stamps(cluster, node: str) -> list[str]:
    return [boot["stamp"] for boot in cluster.boots(node)]


def server(cluster, node: str) -> dict:
    return cluster.cloud.state()["servers"][node]


def wait_result(cluster, node: str) -> None:
    """A node with a stamp proves itself before the cloud's action has ended."""
    wait_until(lambda: extra(cluster, node).get("cohort_want", {}).get("result") == "ok", 60,
               f"the result of {node} is written: {extra(cluster, node)}")  # fmt: skip


def wait_out(cluster, node: str, words: str, seconds: float) -> None:
    """NODE is FAIL and DOWN for a reason of ours that contains WORDS."""

    def out() -> bool:
        shown = cluster.node(node)
        state = shown["State"]
        return ("FAIL" in state and "DOWN" in state and shown.get("Reason", "").startswith("cohort: ")
                and words in shown["Reason"])  # fmt: skip

    wait_until(out, seconds, f"{node} is out with '{words}': {cluster.node(node)}")


def test_a_rebuild_ends_on_the_new_image_and_is_verified(lab):
    cluster = start(lab)
    cluster.set_desired("n1", "v2")
    job = submit_rebuild(cluster, "n1")
    assert cluster.wait_job(job, seconds=120) == "COMPLETED"
    first, last = cluster.boots("n1")
    assert first["stamp"] == "lab/v1" and last["stamp"] == "lab/v2"
    assert first["boot_id"] != last["boot_id"] and first["machine_id"] != last["machine_id"]
    wait_result(cluster, "n1")
    record = extra(cluster, "n1")
    assert record["cohort_want"]["act"] == "rebuild"
    assert record["cohort_rev"].startswith("rev_")
    assert record["cohort_rev"] in cluster.node("n1")["ActiveFeatures"]
    cluster.wait_nodes("idle")
    assert len(cluster.boots("n2")) == 1
    plan = json.loads(cluster.out("scohort", "plan", "--json"))["plan"]
    assert {row["node"]: row["verdict"] for row in plan} == {"n1": "skip", "n2": "skip"}

    # Already there: rebooted, not rebuilt.
    job = submit_rebuild(cluster, "n1")
    assert cluster.wait_job(job, seconds=120) == "COMPLETED"
    assert stamps(cluster, "n1") == ["lab/v1", "lab/v2", "lab/v2"]
    assert cluster.boots("n1")[2]["machine_id"] == last["machine_id"]
    assert extra(cluster, "n1")["cohort_want"]["act"] == "reboot"

    # The image matches but the server is in ERROR: rebuilt.
    cluster.cloud.change_server("n1", vm_state="error")
    job = submit_rebuild(cluster, "n1")
    assert cluster.wait_job(job, seconds=120) == "COMPLETED"
    assert cluster.boots("n1")[3]["machine_id"] != last["machine_id"]
    assert extra(cluster, "n1")["cohort_want"]["act"] == "rebuild"


def test_a_fault_of_one_node_takes_only_that_node_out(lab):
    cluster = start(lab, nodes=4, conf={"ResumeTimeout": 30})
    for node in cluster.nodes:
        cluster.set_desired(node, "v2")
    cluster.cloud.change_server("n1", locked=True, locked_reason="hands off")
    (lab_desired := cluster.set_desired("n2", "v2")).write_text(
        lab_desired.read_text().replace(lab_desired.read_text().split()[1],
                                        "00000000-0000-4000-8000-000000000000"))  # fmt: skip
    cluster.cloud.next("n3", outcome="error", fault="No valid host was found")
    jobs = {node: submit_rebuild(cluster, node) for node in cluster.nodes}
    wait_until(lambda: "CF" in cluster.out("squeue", "-h", "-w", "n1", "-o", "%t")
               or "FAIL" in cluster.node("n1")["State"], 10, "n1 has begun")  # fmt: skip
    wait_out(cluster, "n1", "locked (hands off)", 5)
    wait_out(cluster, "n2", "00000000-0000-4000-8000-000000000000", 5)
    wait_out(cluster, "n3", "No valid host was found", 20)
    assert cluster.wait_job(jobs["n4"], seconds=120) == "COMPLETED"
    assert stamps(cluster, "n4")[-1] == "lab/v2"
    # Past ResumeTimeout with ReturnToService=2, and over a restart: still out.
    time.sleep(max(0.0, 65 - 10))
    for node, words in (("n1", "locked"), ("n2", "00000000"), ("n3", "No valid host")):
        wait_out(cluster, node, words, 1)
    cluster.run("scontrol", "reconfigure")
    for node, words in (("n1", "locked"), ("n2", "00000000"), ("n3", "No valid host")):
        wait_out(cluster, node, words, 10)


def test_a_cloud_that_lies_is_found_out_before_any_user_job_runs_there(lab):
    cluster = start(lab, nodes=1)
    cluster.set_desired("n1", "v2")
    cluster.cloud.next("n1", outcome="lie")
    job = submit_rebuild(cluster, "n1")
    user_job = cluster.submit("-w", "n1", user="alice", wrap="cat /etc/lab-content")
    wait_out(cluster, "n1", "lab/v1", 90)
    assert server(cluster, "n1")["image"] == cluster.image("v2").id, "the cloud did lie"
    assert cluster.job(user_job)["JobState"] == "PENDING"
    assert cluster.job(job)["JobState"] != "COMPLETED"
    assert "cohort_rev" not in extra(cluster, "n1")


def test_without_a_stamp_new_root_content_is_the_proof(lab):
    cluster = start(lab, nodes=1, images={"v1": True, "v2": False, "v3": False})
    wait_until(lambda: extra(cluster, "n1").get("cohort_root"), 30, "the root identity is known")
    cluster.set_desired("n1", "v2")
    assert cluster.wait_job(submit_rebuild(cluster, "n1"), seconds=120) == "COMPLETED"
    first = extra(cluster, "n1")["cohort_rev"]
    cluster.set_desired("n1", "v3")
    cluster.cloud.next("n1", outcome="lie")
    submit_rebuild(cluster, "n1")
    wait_out(cluster, "n1", "root content is the same", 90)
    assert extra(cluster, "n1").get("cohort_rev") is None and first


def test_a_job_that_runs_on_the_old_boot_fails_and_the_node_is_out(lab):
    """slurmctld restarted while the job is CONFIGURING: 22.05 and 24.11 then run it as it is, 26.05 waits on."""
    cluster = start(lab, nodes=1)
    cluster.set_desired("n1", "v2")
    cluster.cloud.fault(method="POST", path="/action", status=503, count=100000)
    job = submit_rebuild(cluster, "n1")
    wait_until(lambda: extra(cluster, "n1").get("cohort_want"), 30, "the wish is written")
    user_job = cluster.submit("-w", "n1", user="alice")
    services.stop(cluster.controller, "slurmctld")
    services.start_slurmctld(cluster.controller)
    if version() >= (26, 5):
        assert cluster.out("squeue", "-h", "-j", job, "-o", "%t") == "CF"
        cluster.cloud.reset()
        assert cluster.wait_job(job, seconds=150) == "COMPLETED"
        assert stamps(cluster, "n1") == ["lab/v1", "lab/v2"]
        assert cluster.wait_job(user_job, seconds=150) == "COMPLETED"
        return
    wait_out(cluster, "n1", "this boot is", 90)
    assert stamps(cluster, "n1") == ["lab/v1"], "nothing was rebuilt"
    assert cluster.job(user_job)["JobState"] == "PENDING"
    # Later the cloud takes the request: the node proves itself and comes back by itself.
    cluster.cloud.reset()
    wait_until(lambda: stamps(cluster, "n1")[-1] == "lab/v2", 90, "the new content booted")
    assert cluster.wait_job(user_job, seconds=150) == "COMPLETED"


def test_an_action_that_outlasts_slurms_patience_is_followed_to_its_end(lab):
    cluster = start(lab, nodes=1, cloud={"rebuild_delay": 45.0}, conf={"ResumeTimeout": 30})
    cluster.set_desired("n1", "v2")
    submit_rebuild(cluster, "n1")
    user_job = cluster.submit("-w", "n1", user="alice")
    wait_out(cluster, "n1", "may still be under way", 60)
    wait_until(lambda: stamps(cluster, "n1")[-1] == "lab/v2", 90, "the new content booted")
    assert cluster.wait_job(user_job, seconds=120) == "COMPLETED"
    wait_result(cluster, "n1")
    rebuilds = [a for a in server(cluster, "n1")["actions"] if a["action"] == "rebuild"]
    assert len(rebuilds) == 1


def test_a_revoked_credential_stops_the_rest_and_heals_by_itself(lab):
    cluster = start(lab, nodes=20, conf={"ResumeTimeout": 40, "SlurmdTimeout": 300},
                    cohort={"MaxConcurrent": 4})  # fmt: skip
    for node in cluster.nodes:
        cluster.set_desired(node, "v2")
    cluster.cloud.revoke()
    cluster.cloud.end_tokens()
    jobs = [submit_rebuild(cluster, node) for node in cluster.nodes]
    worst: dict[str, str] = {}
    deadline = time.monotonic() + 75  # past ResumeTimeout and Slurm's 30 s check
    while time.monotonic() < deadline:
        # A node that did not answer one ping in time ("idle*") has not left service.
        left = {node: state for node, state in cluster.node_states().items()
                if state not in ("idle", "idle*")}  # fmt: skip
        worst = max(worst, left, key=len)
        time.sleep(1)
    assert 1 <= len(worst) <= 4, worst
    assert cluster.boots("n1") and all(len(cluster.boots(n)) == 1 for n in cluster.nodes)
    held = [j for j in jobs if cluster.job(j)["JobState"] == "PENDING"]
    assert len(held) >= 16
    assert all(cluster.job(j)["Priority"] == "0" for j in held)
    assert "breaker is open" in cluster.run("scohort", "status").stderr

    cluster.cloud.mend()
    cluster.wait_nodes("idle", seconds=400)
    for job in held:
        assert cluster.wait_job(job, seconds=400) == "COMPLETED"
    assert cluster.cloud.counters()["max_rebuilds_in_flight"] <= 4


def test_cohort_reboot_stands_on_its_own_feet(lab):
    """22.05 gives it closed descriptors and blocked signals, 24.11 ends it with its process group at a
    reconfigure, 26.05 gives it no environment. Nobody else finishes the attempt here."""
    cluster = start(lab, nodes=1, cloud={"rebuild_delay": 8.0}, advance=0)
    cluster.set_desired("n1", "v2")
    submit_rebuild(cluster, "n1")
    wait_until(lambda: extra(cluster, "n1").get("cohort_want", {}).get("request"), 30, "POSTed")
    process = cluster.out("pgrep", "-x", "cohort-reboot").split()[0]
    opened = cluster.out("sh", "-c", f"readlink /proc/{process}/fd/[012]").split()
    assert len(opened) == 3 and not any("socket" in name or "pipe" in name for name in opened), opened
    status = dict(line.split(":", 1) for line in cluster.out("cat", f"/proc/{process}/status").splitlines())
    assert int(status["SigBlk"], 16) == 0
    cluster.run("scontrol", "reconfigure")
    wait_result(cluster, "n1")
    wait_until(lambda: stamps(cluster, "n1")[-1] == "lab/v2", 90, "the new content booted")
    # Where slurmctld forgot that the node boots, its job has run on the old boot, and the node is out for a while.
    wait_until(lambda: cluster.node("n1")["State"].split("*")[0] == "IDLE"
               and "cohort_rev" in extra(cluster, "n1"), 150, f"n1 works: {cluster.node('n1')}", 0.5)  # fmt: skip
    assert sum(a["action"] == "rebuild" for a in server(cluster, "n1")["actions"]) == 1


def test_what_a_killed_process_left_is_finished_by_advance(lab):
    cluster = start(lab, nodes=2, cloud={"rebuild_delay": 8.0}, advance=0)
    for node in cluster.nodes:
        cluster.set_desired(node, "v2")
    job = submit_rebuild(cluster, "n1")
    wait_until(lambda: extra(cluster, "n1").get("cohort_want", {}).get("request"), 30, "POSTed")
    cluster.run("pkill", "-9", "-x", "cohort-reboot")
    assert extra(cluster, "n1")["cohort_want"].get("result", "") == ""
    wait_until(lambda: cluster.run("scohort", "advance", check=False) is not None
               and extra(cluster, "n1")["cohort_want"].get("result") == "ok", 60, "result written")  # fmt: skip
    assert cluster.wait_job(job, seconds=90) == "COMPLETED"
    rebuilds = [a for a in server(cluster, "n1")["actions"] if a["action"] == "rebuild"]
    assert len(rebuilds) == 1
    assert "nothing to do" in cluster.run("scohort", "advance").stderr


def test_an_administrators_drain_is_never_lifted(lab):
    cluster = start(lab, nodes=1)
    cluster.set_desired("n1", "v2")
    job = submit_rebuild(cluster, "n1")
    wait_until(lambda: len(cluster.boots("n1")) == 2, 60, "n1 boots the new image")
    cluster.run("scontrol", "update", "node=n1", "state=drain", "reason=ECC memory error")
    time.sleep(10)
    shown = cluster.node("n1")
    assert "DRAIN" in shown["State"] and shown["Reason"].startswith("ECC memory error")
    del job


def test_an_extra_that_is_not_ours_is_never_overwritten(lab):
    cluster = start(lab, nodes=1)
    cluster.run("scontrol", "update", "node=n1", "Extra=rack A3")
    cluster.set_desired("n1", "v2")
    submit_rebuild(cluster, "n1")
    wait_out(cluster, "n1", "Extra is not a JSON object", 30)
    assert cluster.node("n1")["Extra"] == "rack A3"
    assert len(cluster.boots("n1")) == 1
