# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab itself, with plain Slurm: what the other tests and the demo rely on."""
from __future__ import annotations

import pytest

from machines import wait_until
from power import send


@pytest.fixture(scope="module")
def cluster(module_lab):
    return module_lab(plain=True, nodes=3)


def reboots(cluster, node: str, event: str, image: str = "") -> tuple[dict, dict]:
    """The node's own records of the boots before and after EVENT."""
    count = len(cluster.boots(node))
    cluster.power(event, node, image)
    wait_until(lambda: len(cluster.boots(node)) > count, 20, f"{node} boots")
    before, after = cluster.boots(node)[-2:]
    return before, after


def test_jobs_run_on_every_node_and_are_accounted(cluster):
    jobs = [cluster.submit("-w", node, "-o", "out.%j", wrap="hostname") for node in cluster.nodes]
    for job, node in zip(jobs, cluster.nodes):
        cluster.wait_job(job, seconds=20)
        assert cluster.out("cat", f"/shared/home/alice/out.{job}") == node
    pair = cluster.submit("-N2", user="bob", wrap="srun hostname")
    cluster.wait_job(pair, seconds=20)
    listed = f"sacct -nXP -a -j {','.join([*jobs, pair])} -o state,user,account,nnodes"

    def rows() -> list[str]:
        return sorted(cluster.out(*listed.split()).splitlines())

    wanted = ["COMPLETED|alice|research|1"] * 3 + ["COMPLETED|bob|research|2"]
    wait_until(lambda: rows() == wanted, 15, f"slurmdbd has {wanted}, not {rows()}", 0.5)


def test_a_reboot_is_a_true_one_for_slurm_and_keeps_the_disk(cluster):
    cluster.machines["n1"].run(["touch", "/etc/left-by-test"])
    old_boot_time = cluster.node("n1")["BootTime"]
    before, after = reboots(cluster, "n1", "hard")
    assert before["boot_id"] != after["boot_id"]
    assert before["machine_id"] == after["machine_id"]
    assert before["content"] == after["content"] == "v1"
    cluster.machines["n1"].run(["test", "-e", "/etc/left-by-test"])
    assert cluster.machines["n1"].run(["cat", "/proc/sys/kernel/random/boot_id"]).stdout.strip() \
        == after["boot_id"]  # fmt: skip
    wait_until(lambda: cluster.node("n1")["BootTime"] > old_boot_time, 20, "Slurm sees the boot")
    cluster.wait_nodes("idle", ["n1"])


def test_a_rebuild_changes_content_and_identity(cluster):
    cluster.machines["n2"].run(["touch", "/etc/left-by-test"])
    before, after = reboots(cluster, "n2", "spawn", "v2")
    assert (before["content"], before["stamp"]) == ("v1", "lab/v1")
    assert (after["content"], after["stamp"]) == ("v2", "lab/v2")
    assert before["machine_id"] != after["machine_id"]
    assert before["boot_id"] != after["boot_id"]
    gone = cluster.machines["n2"].run(["test", "-e", "/etc/left-by-test"], check=False)
    assert gone.returncode == 1


def test_a_soft_reboot_lets_the_programs_end(cluster):
    machine = cluster.machines["n3"]
    machine.spawn(["bash", "-c", "trap 'echo ended > /etc/goodbye; exit' TERM; while :; do sleep .1; done"], "x")
    wait_until(lambda: machine.processes().count("bash") > 0, 5, "the program runs")
    reboots(cluster, "n3", "soft")
    wait_until(lambda: machine.run(["cat", "/etc/goodbye"], check=False).stdout == "ended\n", 5, "farewell")


def test_a_stopped_node_is_off_until_it_is_started(cluster):
    cluster.power("stop", "n3")
    assert not cluster.machines["n3"].is_on()
    count = len(cluster.boots("n3"))
    cluster.power("start", "n3")
    wait_until(lambda: len(cluster.boots("n3")) == count + 1, 20, "n3 boots")


def test_power_refuses_what_it_does_not_know(cluster):
    with pytest.raises(ValueError, match="unknown event explode"):
        send("explode", "n1")
    with pytest.raises(ValueError, match="no machine n99"):
        send("stop", "n99")
    with pytest.raises(KeyError, match="no image nonsense"):
        send("spawn", "n1", "nonsense")


def test_syslog_of_a_machine_is_collected(cluster):
    cluster.machines["n1"].run(["logger", "-t", "probe", "-p", "daemon.err", "one line"])
    wait_until(lambda: "err probe: one line\n" in cluster.log("n1.syslog"), 5, "the line is there")
