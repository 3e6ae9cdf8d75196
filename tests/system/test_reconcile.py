# SPDX-License-Identifier: GPL-2.0-or-later
"""scohort reconcile on real dynamic nodes (slurmd -Z): which records go, and which stay.

n1 and n2 stand in slurm.conf; n3 to n6 have registered by themselves.
"""
from __future__ import annotations

import json
import threading

import pytest

import slurmconf
from machines import wait_until
from namespace import LAB

SETTINGS = {"Inventory": "file", "InventoryFile": "/shared/machines", "ReconcileAge": "0s",
            "ReconcileGrace": "0s"}  # fmt: skip


@pytest.fixture(scope="module")
def cluster(module_lab):
    return module_lab(nodes=6, dynamic=4, cloud={}, cohort_conf=SETTINGS)


def settings(cluster, **changes: str) -> None:
    lines = "".join(f"{k}={v}\n" for k, v in {**SETTINGS, **changes}.items())
    slurmconf.write(LAB / "etc-slurm", "cohort.conf", lines)


def inventory(text: str) -> None:
    slurmconf.write(LAB / "shared", "machines", text)


def reconcile(cluster, *options: str, code: int = 0) -> dict[str, str]:
    """Node -> act, as the pass tells it."""
    done = cluster.run("scohort", "reconcile", "--json", *options, check=False)
    assert done.returncode == code, done
    rows = json.loads(done.stdout)["reconcile"] if done.stdout else []
    return {row["node"]: row["act"] for row in rows}


def known(cluster) -> set[str]:
    return set(cluster.out("sinfo", "-h", "-N", "-o", "%N").split())


def end_machine(cluster, *nodes: str) -> None:
    """DOWN now, as slurmctld finds out by itself after SlurmdTimeout."""
    for node in nodes:
        cluster.machines[node].power_off()
        cluster.run("scontrol", "update", f"node={node}", "state=down", "reason=Not responding")


def test_an_inventory_that_is_not_whole_changes_nothing(cluster) -> None:
    end_machine(cluster, "n6")
    for text, words in [("", "is empty"), ("# none\n", "is empty"), ("n[1-\n", "line 1"),
                        ('{"name": "n1"}\n{"name": "n2", "error": "time-out"}\n', "n2 could not be told: time-out"),
                        ('{"name": "n1", "state": "gone"}\n', "is empty")]:  # fmt: skip
        inventory(text)
        done = cluster.run("scohort", "reconcile", check=False)
        assert done.returncode == 3 and words in done.stderr, (text, done)
    (LAB / "shared" / "machines").unlink()
    assert reconcile(cluster, code=3) == {}
    settings(cluster, Inventory="none")
    done = cluster.run("scohort", "reconcile", check=False)
    assert done.returncode == 2 and "Inventory= is not set" in done.stderr, done
    settings(cluster)
    assert known(cluster) == set(cluster.nodes) and "DRAIN" not in cluster.node("n6")["State"]


def test_only_what_is_dynamic_gone_and_down_is_deleted(cluster) -> None:
    """n1: of slurm.conf, off. n3: not in the inventory, but alive. n4: off, but in the inventory."""
    end_machine(cluster, "n1", "n4")
    inventory("n[2,4-5]\n")
    assert reconcile(cluster, "--min-age", "1h") == {"n6": "wait"}
    assert reconcile(cluster, "--dry-run") == {"n6": "delete"}
    assert known(cluster) == set(cluster.nodes)
    assert reconcile(cluster) == {"n6": "delete"}
    assert known(cluster) == set(cluster.nodes) - {"n6"}
    assert reconcile(cluster) == {}
    # It comes back as it came: by itself.
    cluster.machines["n6"].power_on()
    inventory("n[1-6]\n")
    wait_until(lambda: "n6" in known(cluster), 60, "n6 has registered again", 0.5)
    for node in ("n1", "n4"):
        cluster.machines[node].power_on()
    cluster.wait_nodes("idle", seconds=60)
    assert reconcile(cluster) == {}


def test_a_busy_node_is_drained_and_deleted_when_it_is_free(cluster) -> None:
    """Slurm takes a node with a job for DOWN only after SlurmdTimeout: not responding is enough."""
    job = cluster.submit("-w", "n5", "-t", "10", wrap="sleep 600")
    cluster.wait_job(job, "RUNNING")
    cluster.run("scontrol", "update", "node=n5", "state=noresp")
    inventory("n[1-4,6]\n")
    acts: dict[str, str] = {}
    # A ping's answer takes the mark away again: until the pass has met it.
    wait_until(lambda: cluster.run("scontrol", "update", "node=n5", "state=noresp") and
               acts.update(reconcile(cluster)) is None and acts.get("n5") == "drain", 20, f"n5 is drained: {acts}")  # fmt: skip
    shown = cluster.node("n5")
    assert "DRAIN" in shown["State"] and shown["Reason"].startswith("cohort: its machine is not in the inventory")
    assert cluster.job(job)["JobState"] == "RUNNING"
    # The machine is in the inventory again and answers: our drain goes, and nobody else's.
    wait_until(lambda: "*" not in cluster.node_states()["n5"], 120, "n5 answers", 0.5)
    cluster.run("scontrol", "update", "node=n2", "state=drain", "reason=disk")
    inventory("n[1-6]\n")
    assert reconcile(cluster) == {"n5": "resume"}
    assert "DRAIN" not in cluster.node("n5")["State"] and "DRAIN" in cluster.node("n2")["State"]
    cluster.run("scontrol", "update", "node=n2", "state=resume")
    cluster.run("scancel", job)
    cluster.wait_job(job, "CANCELLED")


def test_what_somebody_else_holds_is_left_alone(cluster) -> None:
    """n4: an administrator's drain. n5: a waiting job names it. n6: it has just booted."""
    cluster.wait_nodes("idle", seconds=30)
    end_machine(cluster, "n4", "n5", "n6")
    cluster.run("scontrol", "update", "node=n4", "state=drain", "reason=disk")
    job = cluster.submit("-w", "n5", "-t", "10", wrap="true")
    inventory("n[1-3]\n")
    settings(cluster, ReconcileGrace="1h")
    assert set(reconcile(cluster).values()) == {"keep"}
    settings(cluster)
    assert reconcile(cluster) == {"n4": "keep", "n5": "keep", "n6": "delete"}
    cluster.run("scancel", job)
    cluster.run("scontrol", "update", "node=n4", "state=undrain")
    both: dict[str, str] = {}
    wait_until(lambda: both.update(reconcile(cluster)) is None and not {"n4", "n5"} & known(cluster), 120,
               f"n4 and n5 are deleted: {both}", 0.5)  # fmt: skip
    assert known(cluster) == {"n1", "n2", "n3"}


def test_a_command_tells_the_machines_and_two_passes_never_overlap(cluster) -> None:
    program = LAB / "shared" / "list-machines"
    program.write_text('#!/bin/sh\nsleep 2\nfor n in "$@"; do echo "{\\"name\\": \\"$n\\"}"; done\n')
    program.chmod(0o755)
    settings(cluster, Inventory="command", InventoryCommand="/shared/list-machines n1 n2 n3")
    codes: list[int] = []
    passes = [threading.Thread(target=lambda: codes.append(cluster.run("scohort", "reconcile", check=False).returncode))
              for _ in range(2)]  # fmt: skip
    for one in passes:
        one.start()
    for one in passes:
        one.join()
    assert sorted(codes) == [0, 75]
    program.write_text("#!/bin/sh\necho '{\"name\": \"n1\"}'\necho no token >&2\nexit 1\n")
    done = cluster.run("scohort", "reconcile", check=False)
    assert done.returncode == 3 and "no token" in done.stderr, done
    settings(cluster, Inventory="nova")
    assert reconcile(cluster) == {}
    log = cluster.log("ctl.syslog")
    assert "n6 its record is deleted: its machine is not in the inventory any more" in log


def test_the_eight_rows_of_the_three_conditions(lab) -> None:
    """Registered x in the inventory x its machine is off, one node a row: one of the eight goes."""
    rows = [f"{registered} {listed} {power}" for registered in ("registered", "unknown")
            for listed in ("listed", "gone") for power in ("up", "off")]  # fmt: skip
    node = dict(zip(rows, (f"n{i}" for i in range(2, 10))))
    cluster = lab(nodes=9, dynamic=8, cohort_conf=SETTINGS)
    cluster.wait_nodes("idle")
    before = set(cluster.nodes)
    for row, name in node.items():
        if row.startswith("unknown"):
            cluster.run("scontrol", "delete", f"nodename={name}")
            before.discard(name)
            if row.endswith("off"):
                cluster.machines[name].power_off()
        elif row.endswith("off"):
            end_machine(cluster, name)
    inventory("".join(f"{name}\n" for row, name in [("listed", "n1"), *node.items()] if "listed" in row))
    assert known(cluster) == before
    goner = node["registered gone off"]
    assert reconcile(cluster) == {goner: "delete"}
    assert known(cluster) == before - {goner}
    assert reconcile(cluster) == {} and known(cluster) == before - {goner}
    assert not [n for n in known(cluster) if "DRAIN" in cluster.node(n)["State"]]


def test_a_refused_registration_is_repaired(lab) -> None:
    """n3's pod has other CPU limits now: slurmctld refuses it until its old record is gone."""
    cluster = lab(nodes=3, dynamic=2, cohort_conf=SETTINGS)
    version = slurmconf.slurm_version(cluster.out("slurmctld", "-V"))
    if version < (23, 2):
        pytest.skip(f"Slurm {version[0]}.{version[1]:02} takes every registration: no CoreSpec differ")
    inventory("n[1-3]\n")
    options = slurmconf.DYNAMIC_OPTIONS.replace("CPUs=4", "CPUs=4 CoreSpecCount=1")
    slurmconf.write(LAB / "etc-slurm", "slurmd-options.n3", options)
    machine = cluster.machines["n3"]
    machine.power_off()
    machine.power_on()
    wait_until(lambda: "INVALID_REG" in cluster.node("n3")["State"], 30, "n3 is refused", 0.2)
    assert cluster.node("n3")["Reason"].startswith("CoreSpec differ")
    # No inventory is asked for this; n2, which is well, is not touched.
    settings(cluster, Inventory="none")
    assert reconcile(cluster, "--invalid-reg", "--dry-run") == {"n3": "repair"}
    assert reconcile(cluster, "--invalid-reg") == {"n3": "repair"} and known(cluster) == {"n1", "n2"}
    assert reconcile(cluster, "--invalid-reg") == {}
    # slurmd does not register anew by itself.
    machine.power_off()
    machine.power_on()
    cluster.wait_nodes("idle", seconds=30)
    assert cluster.node("n3")["CoreSpecCount"] == "1"
