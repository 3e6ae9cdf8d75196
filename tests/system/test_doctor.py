# SPDX-License-Identifier: GPL-2.0-or-later
"""scohort doctor: a good site has no FAIL, and what is broken on purpose is named with its remedy."""
from __future__ import annotations

import json

import pytest

import services
import slurmconf
from cloudlink import OPENSTACK
from machines import wait_until
from namespace import LAB

ETC = LAB / "etc-slurm"
GOOD = {"ResumeTimeout": 1800, "PrologSlurmctld": "/usr/sbin/cohort-gate", "ReconfigFlags": "KeepPartState",
        "SchedulerParameters": "bf_interval=2,nohold_on_prolog_fail"}  # fmt: skip


@pytest.fixture(scope="module")
def cluster(module_lab):
    lab = module_lab(nodes=3, cloud={}, conf=GOOD)
    (ETC / "plugstack.conf").write_text("required spank_cohort.so profile=off\n")
    lab.run("scohort", "adopt")
    snapshot = ["test", "-e", "/var/lib/slurm/slurmctld-cohort/snapshot.json"]
    wait_until(lambda: lab.run(*snapshot, check=False).returncode == 0, 30, "the first snapshot")
    return lab


def examine(cluster) -> tuple[int, dict[str, tuple[str, str]]]:
    """Exit code and check -> (result, text); a check with several findings shows the worst."""
    done = cluster.run("scohort", "doctor", "--json", check=False, timeout=60)
    found: dict[str, tuple[str, str]] = {}
    for row in json.loads(done.stdout)["doctor"]:
        before = found.get(row["check"], ("PASS", ""))[0]
        if row["check"] not in found or (before, row["result"]) in (
            ("PASS", "WARN"), ("PASS", "FAIL"), ("WARN", "FAIL")):  # fmt: skip
            found[row["check"]] = (row["result"], row["text"])
    return done.returncode, found


def assert_named(found, check: str, result: str, words: str) -> None:
    assert found[check][0] == result and words in found[check][1], (check, found[check])


def write_conf(cluster, **values) -> None:
    text = slurmconf.slurm_conf(cluster.nodes, {"RebootProgram": "/usr/sbin/cohort-reboot",
                                                "JobSubmitPlugins": "cohort", **GOOD, **values})  # fmt: skip
    slurmconf.write(ETC, "slurm.conf", text)
    cluster.run("scontrol", "reconfigure")


def test_a_good_site_has_no_fail(cluster):
    code, found = examine(cluster)
    assert code == 0, found
    assert not [check for check, (result, _) in found.items() if result == "FAIL"], found
    warnings = {check for check, (result, _) in found.items() if result == "WARN"}
    # The lab's cloud speaks http, its machines have no systemd; 22.05 has its own trap.
    assert warnings <= {"clouds.yaml", "timer", "clock", "Slurm version", "PrologFlags"}, found
    assert len(found) >= 35
    done = cluster.run("scohort", "doctor")
    lines = done.stdout.splitlines()
    assert lines[-1].endswith(" 0 failed") and len(lines) == len(json_rows(cluster)) + 2, done.stdout
    assert all(line.startswith(("PASS", "WARN")) for line in lines[1:-1]), done.stdout
    denied = cluster.run("scohort", "doctor", user="alice", check=False)
    assert denied.returncode == 4 and "root and SlurmUser" in denied.stderr


def json_rows(cluster) -> list[dict]:
    return json.loads(cluster.out("scohort", "doctor", "--json"))["doctor"]


def test_what_is_wrong_in_slurm_conf_is_named(cluster):
    (ETC / "plugstack.conf").write_text("optional spank_cohort.so profile=off\n")
    write_conf(cluster, JobSubmitPlugins="cohort,all_partitions", RebootProgram="/usr/sbin/reboot",
               SlurmctldParameters="cloud_dns", ResumeTimeout=30, ReturnToService=0,
               PrologFlags=None, SchedulerParameters="bf_interval=2", ReconfigFlags=None, PrologSlurmctld=None,
               DisableRootJobs="YES", LaunchParameters="test_exec")  # fmt: skip
    code, found = examine(cluster)
    assert code == 1
    for check, result, words in (
        ("JobSubmitPlugins", "FAIL", "set JobSubmitPlugins=all_partitions,cohort"),
        ("RebootProgram", "FAIL", "/usr/sbin/reboot is not cohort-reboot"),
        ("reboot_from_controller", "FAIL", "SlurmctldParameters=reboot_from_controller"),
        ("ResumeTimeout", "WARN", "30 s"),
        ("ReturnToService", "WARN", "Set ReturnToService=2"),
        ("PrologFlags", "FAIL", "PrologFlags=Alloc"),
        ("nohold_on_prolog_fail", "WARN", "add nohold_on_prolog_fail"),
        ("PrologSlurmctld", "WARN", "Set PrologSlurmctld=/usr/sbin/cohort-gate"),
        ("KeepPartState", "WARN", "ReconfigFlags=KeepPartState"),
        ("DisableRootJobs", "FAIL", "set RebuildJobUser to another"),
        ("LaunchParameters", "WARN", "test_exec"),
        ("plugstack", "FAIL", "write `required`"),
    ):
        assert_named(found, check, result, words)
    write_conf(cluster)
    (ETC / "plugstack.conf").write_text("required spank_cohort.so profile=off\n")


def test_what_is_wrong_in_the_cloud_is_named(cluster):
    cluster.cloud.change_server("n1", locked=True, locked_reason="hands off")
    cluster.cloud.change_server("n2", volume_backed=True)
    cluster.set_desired("n3", "v2")
    cluster.cloud.change_image(cluster.image("v2").id, status="deactivated", properties={})
    desired = cluster.set_desired("n2", "v1")
    desired.write_text(desired.read_text().replace("image_id", "image_id: {{ x }}\n#"))
    _, found = examine(cluster)
    for check, words in (("locked servers", "n1"), ("images", "deactivated"),
                         ("desired files", "n2.yml")):  # fmt: skip
        assert_named(found, check, "FAIL", words)
    cluster.set_desired("n2", "v1")
    cluster.cloud.change_image(cluster.image("v2").id, status="active", min_disk=5)
    cluster.cloud.change_server("n1", name="n9")
    (ETC / "reboot_vars" / "n1.yml").write_text(f"image_id: {cluster.image('v1').id}\n")
    _, found = examine(cluster)
    assert_named(found, "volume-backed servers", "FAIL", "n2")
    assert_named(found, "servers", "FAIL", "n1: the cloud has no such server")
    assert_named(found, "images", "FAIL", "needs a disk of 5 GiB, n3 has 1")
    assert_named(found, "stamps", "WARN", "no property cohort_stamp on v2")
    cluster.cloud.revoke()
    _, found = examine(cluster)
    assert_named(found, "credential", "FAIL", "keystone refused to sign us in")
    assert_named(found, "servers", "WARN", "not looked at")
    cluster.cloud.mend()


def test_what_is_wrong_with_files_and_nodes_is_named(cluster):
    state = "/var/lib/slurm/slurmctld-cohort"
    (ETC / "cohort.conf").write_text("CloudsFile=/etc/openstack/more-clouds.yaml\nCloud=lab-reader\n"
                                     "RebuildQos=nosuch\nRebuildPartition=nosuch\nRebuildJobUser=nobody2\n"
                                     "RebuildTime=2min\n")  # fmt: skip
    cluster.run("scontrol", "update", "node=n3", "Extra=rack A3")
    cluster.run("chmod", "777", state)
    cluster.run("scohort", "guard", "off", "--for", "5min")
    code, found = examine(cluster)
    assert code == 1
    for check, result, words in (
        ("RebuildTime", "FAIL", "set RebuildTime above VerifyWait"),
        ("RebuildQos", "FAIL", "no QOS nosuch"),
        ("RebuildPartition", "FAIL", "no partition nosuch"),
        ("RebuildJobUser", "FAIL", "no user nobody2"),
        ("association", "FAIL", "sacctmgr add user nobody2"),
        ("node Extra", "FAIL", "not JSON on n3"),
        ("labels", "WARN", "n3"),
        ("StateDir", "FAIL", "chmod 700"),
        ("guard", "WARN", "scohort guard on"),
        ("credential", "FAIL", "it lacks member"),
    ):
        assert_named(found, check, result, words)
    (ETC / "cohort.conf").write_text("MaxConcurent=3\n")
    (OPENSTACK / "clouds.yaml").chmod(0o644)
    code, found = examine(cluster)
    assert code == 1
    assert_named(found, "cohort.conf", "FAIL", "did you mean MaxConcurrent?")
    assert_named(found, "clouds.yaml", "FAIL", "clouds.yaml")
    services.stop(cluster.controller, "slurmctld")
    code, found = examine(cluster)
    assert code == 3
    assert_named(found, "slurmctld", "FAIL", "start it")
