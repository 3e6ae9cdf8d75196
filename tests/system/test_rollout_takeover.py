# SPDX-License-Identifier: GPL-2.0-or-later
"""A rollout on a cluster with two controllers: only the active one acts, and when it dies the
backup goes on with the same journal. Nothing is rebuilt twice."""
from __future__ import annotations

import pytest

import services
from machines import wait_until
from test_rollout import COHORT, NODE_TIME, content, extra
from test_rollout_faults import begin, rebuilds

NODES = ["n1", "n2"]


@pytest.fixture(scope="module")
def cluster(module_lab):
    lab = module_lab(nodes=2, cloud={"rebuild_delay": 3.0, "reboot_delay": 0.2}, advance_every=2, backup=True,
                     cohort_conf={**COHORT, "MaxUnavailable": 1})  # fmt: skip
    lab.wait_joined()
    lab.run("scohort", "adopt")
    return lab


def advance(cluster, machine):
    done = machine.run(["scohort", "advance"], check=False, timeout=60)
    return done.returncode, done.stdout + done.stderr


def test_a_standby_leaves_it_to_the_active_controller(cluster):
    begin(cluster, "n1", "v2", "--window", "00:00-00:00")
    acts = cluster.out("scohort", "history", "--json")
    code, said = advance(cluster, cluster.backup)
    assert (code, "the active controller is ctl: nothing to do here" in said) == (0, True), said
    assert cluster.out("scohort", "history", "--json") == acts
    wait_until(lambda: "the active controller" not in advance(cluster, cluster.controller)[1], 10, "ctl acts")
    cluster.run("scohort", "abort")


def test_a_backup_that_takes_over_goes_on_with_the_rollout(cluster):
    before = {node: rebuilds(cluster, node) for node in NODES}
    begin(cluster, "n[1-2]", "v2")
    wait_until(lambda: sum(rebuilds(cluster, node) for node in NODES) > sum(before.values()), 60, "a first POST")
    services.stop(cluster.controller, "slurmctld", "KILL")
    wait_until(lambda: "the active controller" not in advance(cluster, cluster.backup)[1], 60, "ctl2 acts")
    code, said = advance(cluster, cluster.controller)
    assert (code, "the active controller is ctl2" in said) == (0, True), said

    def rebuilt() -> int:
        return sum(content(cluster, node) == "v2" for node in NODES)

    wait_until(lambda: rebuilt() >= 1, 6 * NODE_TIME, "ctl2 goes on", 0.5)
    services.start_slurmctld(cluster.controller)  # takes control back in the middle
    wait_until(lambda: "no rollout is under way" in cluster.run("scohort", "resume", check=False).stdout,
               8 * NODE_TIME, "it ends", 1)  # fmt: skip
    cluster.wait_nodes("idle", seconds=60)
    for node in NODES:
        assert content(cluster, node) == "v2", node
        assert rebuilds(cluster, node) == before[node] + 1, node
        assert extra(cluster, node)["cohort_want"]["result"] == "ok"
        assert extra(cluster, node)["cohort_rev"] in cluster.node(node)["ActiveFeatures"]
