# SPDX-License-Identifier: GPL-2.0-or-later
"""Power saving with a site's own command (Backend=exec): it makes and removes the machines of CLOUD nodes."""
from __future__ import annotations

import pytest

import slurmconf
from machines import wait_until
from namespace import LAB
from test_backends import ROOM, Room
from test_main_job import extra
from test_power_saving import PROGRAMS, QUICK, history, wait_powered_down

CLOUD = ["n2", "n3"]


@pytest.fixture(scope="module")
def site(module_lab):
    words = "/shared/room/machines {verb} {node} {image} {request}"
    cluster = module_lab(
        nodes=3, cloud_nodes=CLOUD, advance_every=2,
        partitions=[slurmconf.PARTITION, "PartitionName=cloud Nodes=n[2-3] MaxTime=INFINITE State=UP"],
        conf={**PROGRAMS, "SlurmctldParameters": QUICK, "SuspendTime": 8, "SuspendTimeout": 6, "ResumeTimeout": 45,
              "SuspendExcNodes": "n1", "PrivateData": "cloud", "SchedulerParameters": "bf_interval=2,sched_min_interval=200000"},
        cohort_conf={"VerifyWait": "30s", "Backend": "exec", "BackendCommand": words,
                     "ServerTemplate": "/etc/slurm/cloud.yml"})  # fmt: skip
    cluster.set_desired("n1", "v1")
    order(cluster, "v1")
    room = Room(cluster, ["n1"], cluster.image("v1"))
    room.start()
    cluster.room = room
    yield cluster
    room.over.set()
    room.join(10)


def order(cluster, image: str) -> None:
    slurmconf.write(LAB / "etc-slurm", "cloud.yml", f"image_id: {cluster.image(image).id}\n")


def wake(cluster, node: str) -> str:
    return cluster.submit("-p", "cloud", "-w", node, "-o", f"/shared/home/alice/{node}.out", wrap="srun hostname")


def test_a_job_makes_a_machine_and_idle_it_is_removed(site) -> None:
    site.out("scohort", "adopt", "-w", "n2")
    promised = extra(site, "n2")["cohort_rev"]
    assert not (ROOM / "nodes" / "n2").exists()
    site.wait_job(wake(site, "n2"), seconds=90)
    assert (LAB / "shared/home/alice/n2.out").read_text().split() == ["n2"]
    assert site.room.done[0] == ["create", "n2", site.image("v1").id]
    wait_until(lambda: extra(site, "n2").get("cohort_rev"), 20, "it is labelled", 0.3)
    record = extra(site, "n2")
    assert record["cohort_rev"] == promised and record["cohort_want"]["act"] == "create", record
    assert record["cohort_want"]["result"] == "ok" and site.boots("n2")[-1]["content"] == "v1"
    wait_until(lambda: ["delete", "n2"] in site.room.done, 60, "idle, its machine is removed", 0.3)
    wait_powered_down(site, "n2")
    assert not (ROOM / "nodes" / "n2").exists() and extra(site, "n2") == {"cohort_rev": promised}
    # Another image while it sleeps: the promise, and then the machine.
    order(site, "v2")
    wait_until(lambda: extra(site, "n2")["cohort_rev"] != promised, 30, "the promise is renewed", 0.3)
    renewed = extra(site, "n2")["cohort_rev"]
    site.wait_job(wake(site, "n2"), seconds=90)
    wait_until(lambda: extra(site, "n2").get("cohort_rev") == renewed, 20, "as promised", 0.3)
    assert site.boots("n2")[-1]["content"] == "v2"
    assert [one[0] for one in site.room.done if one[1] == "n2"][:3] == ["create", "delete", "create"], "never two"


def test_one_that_cannot_be_made_goes_back_to_sleep(site) -> None:
    (ROOM / "broken" / "n3").write_text("no rack for n3, token=hunter2\n")
    job = wake(site, "n3")
    wait_until(lambda: "no rack for n3" in history(site, "n3"), 40, "the fault is on record", 0.3)
    assert "hunter2" not in history(site, "n3")
    (ROOM / "broken" / "n3").unlink()
    wait_powered_down(site, "n3")
    assert site.job(job)["JobState"] == "PENDING", "requeued"
    site.run("scontrol", "update", f"jobid={job}", "StartTime=now")
    site.wait_job(job, seconds=90)
    assert site.boots("n3")[-1]["content"] == "v2" and "FAIL" not in site.node("n3")["State"]
