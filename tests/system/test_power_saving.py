# SPDX-License-Identifier: GPL-2.0-or-later
"""Power saving: nodes of State=CLOUD whose servers are made when a job needs them and removed when idle."""
from __future__ import annotations

import json

import pytest

import slurmconf
from machines import wait_until
from namespace import LAB
from test_guard import seen
from test_main_job import extra, submit_rebuild

CLOUD = ["n2", "n3", "n4"]
PROGRAMS = {"ResumeProgram": "/usr/sbin/cohort-resume", "SuspendProgram": "/usr/sbin/cohort-suspend",
            "ResumeFailProgram": "/usr/sbin/cohort-resume-fail"}  # fmt: skip
QUICK = "reboot_from_controller,cloud_dns,power_save_interval=2,power_save_min_interval=1"
FAULT = "No valid host was found for this one."


@pytest.fixture(scope="module")
def site(module_lab):
    cluster = module_lab(
        nodes=4, cloud_nodes=CLOUD, cloud={"create_delay": 0.5}, advance_every=2,
        partitions=[slurmconf.PARTITION, "PartitionName=cloud Nodes=n[2-4] MaxTime=INFINITE State=UP"],
        conf={**PROGRAMS, "SlurmctldParameters": QUICK, "SuspendTime": 8, "SuspendTimeout": 6, "ResumeTimeout": 45,
              "SuspendExcNodes": "n1", "PrivateData": "cloud", "SchedulerParameters": "bf_interval=2,sched_min_interval=200000"},
        cohort_conf={"VerifyWait": "30s", "ServerTemplate": "/etc/slurm/cloud.yml"})  # fmt: skip
    slurmconf.write(LAB / "etc-slurm", "user-data", "#!/bin/sh\necho hello\n")
    order(cluster, "v1")
    return cluster


def order(cluster, image: str) -> None:
    slurmconf.write(LAB / "etc-slurm", "cloud.yml",
                    f"image_id: {cluster.image(image).id}\nflavor_id: lab\nnetwork_ids: auto\nkey_name: ops\n"
                    "user_data_file: /etc/slurm/user-data\nsecurity_groups: [default, slurm]\n")  # fmt: skip


def servers(cluster) -> dict[str, dict]:
    return {name: one for name, one in cluster.cloud.state()["servers"].items() if name in CLOUD}


def states(cluster, *nodes: str) -> dict[str, set[str]]:
    return {node: set(cluster.node(node)["State"].split("+")) for node in nodes}


def wait_powered_down(cluster, *nodes: str, seconds: float = 60) -> None:
    """After ResumeTimeout 22.05 leaves NOT_RESPONDING on a node, and wakes it all the same."""
    def asleep() -> bool:
        return all(state - {"NOT_RESPONDING"} == {"IDLE", "CLOUD", "POWERED_DOWN"}
                   for state in states(cluster, *nodes).values())

    wait_until(asleep, seconds, f"{nodes} sleep: {[cluster.node(node) for node in nodes]}", 0.3)


def history(cluster, node: str) -> str:
    return cluster.out("scohort", "history", "-w", node, "--json")


def test_doctor_finds_it_right(site):
    findings = site.run("scohort", "doctor", check=False).stdout
    assert "cohort-resume, cohort-suspend and cohort-resume-fail" in findings
    assert "each node of State=CLOUD says of what" in findings
    plan = {row["node"]: row for row in json.loads(site.out("scohort", "plan", "--json"))["plan"]}
    assert plan["n2"]["verdict"] == "skip" and "powered down" in plan["n2"]["why"], plan["n2"]


def test_sleeping_nodes_are_adopted_by_what_they_will_be(site):
    """n4 is left unlabelled. A node alone is found as well where Slurm lists no sleeping ones [22.05]."""
    for node in ("n2", "n3"):
        said = site.out("scohort", "adopt", "-w", node)
        label, named = said.split(": ")
        assert named == node and extra(site, node) == {"cohort_rev": label}, said
    assert extra(site, "n2") == extra(site, "n3") and not extra(site, "n4")
    site.v1 = extra(site, "n2")["cohort_rev"]
    order(site, "v2")
    wait_until(lambda: extra(site, "n3")["cohort_rev"] != site.v1, 30, "the promise is of v2", 0.3)
    order(site, "v1")
    wait_until(lambda: all(extra(site, n)["cohort_rev"] == site.v1 for n in ("n2", "n3")), 30, "and of v1 again", 0.3)
    assert not extra(site, "n4") and "n3 sleeps, and will be rev_" in site.log("ctl.syslog")
    wait_until(lambda: all(seen(site).get(n) == site.v1 for n in ("n2", "n3")), 30, "the plugin knows it", 0.2)


def test_a_job_wakes_two_nodes_and_they_go_when_idle(site):
    # Meanwhile nova never ends with n4, so that Slurm gives it up: see below.
    site.cloud.next("n4", outcome="stuck")
    site.waiting = site.submit("-p", "cloud", "-w", "n4", wrap="true")
    # With power saving on, Slurm up to 25.11 runs ResumeProgram for a rebuild job too.
    site.set_desired("n1", "v2")
    rebuild = submit_rebuild(site, "n1")
    used = ["n2", "n3"]
    job = site.submit("-p", "cloud", "-w", "n[2-3]", "-N2", "-o", "/shared/home/alice/two.out", wrap="srun hostname")
    site.wait_job(job, seconds=60)
    assert sorted((LAB / "shared/home/alice/two.out").read_text().split()) == used
    made = servers(site)
    for node in used:
        one = made[node]
        assert one["order"]["flavorRef"] == "lab" and one["order"]["networks"] == "auto"
        assert one["order"]["key_name"] == "ops" and one["order"]["user_data"] == "IyEvYmluL3NoCmVjaG8gaGVsbG8K"
        assert one["order"]["security_groups"] == [{"name": "default"}, {"name": "slurm"}]
        assert one["metadata"]["cohort_node"] == node
        assert [boot["content"] for boot in site.boots(node)] == ["v1"]
    wait_until(lambda: all("cohort_rev" in extra(site, node) for node in used), 20, "they are labelled", 0.3)
    labels = {extra(site, node)["cohort_rev"] for node in used}
    assert labels == {site.v1}, "as promised"
    assert all(extra(site, node)["cohort_want"]["act"] == "create" for node in used)
    site.wait_job(rebuild, seconds=60)
    assert site.boots("n1")[-1]["content"] == "v2"
    order(site, "v2")
    wait_until(lambda: not set(used) & set(servers(site)), 60, "their servers are gone", 0.3)
    wait_powered_down(site, *used)
    for node in used:  # what the next machine will be is promised
        promised = extra(site, node)
        assert promised["cohort_rev"] not in labels and "cohort_want" not in promised, promised
    # While they sleep the site thinks better of it.
    order(site, "v1")
    wait_until(lambda: {extra(site, node)["cohort_rev"] for node in used} == labels, 30, "the promise is renewed", 0.3)


def test_what_cannot_be_made_goes_back_and_the_jobs_run_all_the_same(site):
    """n2: nova says ERROR. n4: Slurm has given it up at ResumeTimeout and called ResumeFailProgram."""
    site.cloud.next("n2", outcome="error", fault=FAULT)
    job = site.submit("-p", "cloud", "-w", "n2", wrap="true")
    wait_until(lambda: FAULT in history(site, "n2"), 40, "the fault is on record", 0.3)
    wait_until(lambda: "n2" not in servers(site), 20, "the broken server is removed", 0.3)
    wait_until(lambda: "not up within ResumeTimeout" in history(site, "n4"), 90, "n4 was given up", 0.3)
    assert "was BUILD" in history(site, "n4")
    wait_until(lambda: "n4" not in servers(site), 20, "its half server is removed", 0.3)
    wait_powered_down(site, "n2", "n4")
    for waiting in (job, site.waiting):
        assert site.job(waiting)["JobState"] == "PENDING", "requeued"
        # Slurm would let a requeued job wait for two minutes.
        site.run("scontrol", "update", f"jobid={waiting}", "StartTime=now")
    for waiting in (job, site.waiting):
        site.wait_job(waiting, seconds=90)
    assert [site.boots(node)[-1]["content"] for node in ("n2", "n4")] == ["v1", "v1"]
    assert not [node for node in CLOUD if "FAIL" in states(site, node)[node]]
