# SPDX-License-Identifier: GPL-2.0-or-later
"""Rollouts in which something goes wrong: a bad image, failed nodes, canaries; and --via reboot."""
from __future__ import annotations

import pytest

import test_rollout as common
from machines import wait_until
from test_rollout import COHORT, NODE_TIME, Sampler, content, ended, extra, jobs, plan


@pytest.fixture(scope="module")
def cluster(module_lab):
    lab = module_lab(nodes=6, cloud={"rebuild_delay": 1.0, "reboot_delay": 0.2}, cohort_conf=COHORT,
                     advance_every=1.0)  # fmt: skip
    for node in lab.nodes:
        wait_until(lambda: "cohort_root" in extra(lab, node), 60, f"{node} has joined")
    lab.run("scohort", "adopt")
    return lab


def out(cluster) -> dict[str, str]:
    """Node -> reason, of those that are out of service."""
    states = {node: cluster.node(node) for node in cluster.nodes}
    return {n: s.get("Reason", "") for n, s in states.items() if "FAIL" in s["State"] or "DOWN" in s["State"]}


def said(cluster, words: str) -> bool:
    return words in cluster.log("ctl.syslog")


def test_a_bad_image_halts_after_the_budget_and_is_kept_in_quarantine(cluster) -> None:
    """v2 boots, and then says of itself something else than the cloud says of it."""
    image = cluster.image("v2").id
    cluster.cloud.change_image(image, properties={"cohort_stamp": "lab/other"})
    sampler = Sampler(cluster)
    sampler.start()
    cluster.run("scohort", "rebuild", "--to", "v2", "--max-unavailable", "3", "--failure-budget", "1")
    wait_until(lambda: said(cluster, "is halted:"), 3 * NODE_TIME, f"it halts: {out(cluster)}", 0.5)
    cluster.run("scohort", "advance", check=False)
    wait_until(lambda: not common.jobs(cluster) or common.held(cluster) == set(jobs(cluster)), 2 * NODE_TIME,
               "what had begun ends", 1)  # fmt: skip
    failed = set(out(cluster))
    assert 2 <= len(failed) <= 3 and all("cohort: " in reason for reason in out(cluster).values()), out(cluster)
    sampler.end()
    assert len(sampler.worst) <= 3, sampler.worst
    rest = set(cluster.nodes) - failed
    assert all(content(cluster, n) == "v1" and len(cluster.boots(n)) == 1 for n in rest)
    # The others serve on.
    for node in rest:
        cluster.wait_job(cluster.submit("-w", node), seconds=30)
    rows = plan(cluster, "--to", "v2", "-w", ",".join(rest))
    assert all(row["verdict"] == "blocked" for row in rows.values())
    cluster.run("scohort", "rollback")
    wait_until(lambda: not out(cluster), 2 * NODE_TIME, f"the failed ones are back: {out(cluster)}", 1)
    cluster.wait_nodes("idle")
    assert all(content(cluster, n) == "v1" for n in cluster.nodes)
    assert {len(cluster.boots(n)) for n in failed} == {3}
    refused = cluster.run("scohort", "rebuild", "--to", "v2", check=False)
    assert refused.returncode == 1 and "is in quarantine" in refused.stderr
    cluster.cloud.change_image(image, properties={"cohort_stamp": "lab/v2"})


def test_one_failed_canary_stops_the_others(cluster) -> None:
    cluster.cloud.next("n1", outcome="error", fault="No valid host was found")
    cluster.run("scohort", "rebuild", "--to", "v3", "--canary", "1", "--soak", "1s", "--max-unavailable", "3")
    wait_until(lambda: "n1" in out(cluster), NODE_TIME, "n1 fails")
    wait_until(lambda: common.held(cluster) == set(jobs(cluster)), 20, f"{jobs(cluster)}")
    assert set(out(cluster)) == {"n1"} and len(jobs(cluster)) == 5
    cluster.run("scohort", "abort")
    wait_until(lambda: not jobs(cluster), 10, "its jobs are cancelled")
    assert all(content(cluster, n) == "v1" for n in cluster.nodes)


def test_retry_rebuilds_a_failed_node_without_a_job(cluster) -> None:
    done = cluster.run("scohort", "retry", "n9", check=False)
    assert done.returncode == 2 and "n9 did not fail" in done.stderr
    cluster.run("scohort", "retry", "n1")
    assert not [n for n in jobs(cluster) if n == "n1"]
    wait_until(lambda: content(cluster, "n1") == "v3" and not out(cluster), NODE_TIME, "n1 is back")
    # A node with a stamp proves itself before the cloud's action has ended.
    wait_until(lambda: extra(cluster, "n1")["cohort_want"].get("result") == "ok", 20, "the result")


def test_canaries_then_the_others(cluster) -> None:
    """v2 leaves quarantine; n1 and n2 first."""
    cluster.run("scohort", "abort")
    done = cluster.run("scohort", "rebuild", "-w", "n[1-3]", "--to", "v2", "--allow-quarantined", "--canary", "1",
                       "--max-unavailable", "2")  # fmt: skip
    assert "leaves quarantine" in done.stderr
    wait_until(lambda: sum(content(cluster, n) == "v2" for n in ("n1", "n2", "n3")) == 1, NODE_TIME, "one")
    assert len(common.held(cluster)) == 2
    ended(cluster, 3 * NODE_TIME)
    assert all(content(cluster, n) == "v2" for n in ("n1", "n2", "n3"))


def test_via_reboot_drains_and_gives_back(cluster) -> None:
    user = cluster.submit("-w", "n4", "-t", "10", wrap="sleep 25")
    cluster.wait_job(user, "RUNNING")
    cluster.run("scontrol", "update", "node=n6", "state=drain", "reason=ECC")
    refused = cluster.run("scohort", "rebuild", "-w", "n[4-6]", "--to", "v2", "--via", "reboot", "--max-unavailable",
                          "3", check=False)  # fmt: skip
    assert refused.returncode == 1 and "n6: it is IDLE+DRAIN for 'ECC" in refused.stderr
    assert not jobs(cluster)
    cluster.run("scohort", "pause")
    cluster.run("scohort", "resume")
    wait_until(lambda: content(cluster, "n5") == "v2" and "n5" not in out(cluster), 2 * NODE_TIME, "n5 is back")
    cluster.wait_job(user, "COMPLETED", seconds=60)
    wait_until(lambda: content(cluster, "n4") == "v2", 2 * NODE_TIME, "n4 after its job")
    wait_until(lambda: "no rollout is under way" in cluster.out("scohort", "resume"), NODE_TIME, "it ends", 1)
    assert "DRAIN" not in cluster.node("n4")["State"] and "DOWN" not in cluster.node("n4")["State"]
    shown = cluster.node("n6")
    assert "DRAIN" in shown["State"] and shown["Reason"].startswith("ECC") and content(cluster, "n6") == "v1"
