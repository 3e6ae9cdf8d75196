# SPDX-License-Identifier: GPL-2.0-or-later
"""Cohorts whose machines belong to a site's own command: Backend=exec, and Backend=reboot. No cloud at all."""
from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

import power
from machines import wait_until
from namespace import LAB
from test_main_job import extra, submit_rebuild

ROOM = LAB / "shared" / "room"
# The room's desk, as the command meets it: files in, files out.
COMMAND = """#!/bin/sh
verb=$1 node=$2 image=$3 request=$4
cd /shared/room || exit 69
[ ! -e closed ] || { echo "the room is closed: token=hunter2" >&2; exit 69; }
case $verb in
probe) ;;
list) cat nodes/* ;;
state) cat "nodes/$node" 2>/dev/null || exit 66 ;;
image) cat "images/$image" 2>/dev/null || { echo "no such image: $image" >&2; exit 66; } ;;
result) cat "results/$request" 2>/dev/null || echo '{"finished": false}' ;;
create)
    [ ! -e "broken/$node" ] || { cat "broken/$node" >&2; exit 1; }
    echo "{\\"node\\": \\"$node\\", \\"image\\": \\"$image\\", \\"status\\": \\"BUILD\\"}" >"nodes/$node"
    echo "$verb $node $image" >"requests/.$request" && mv "requests/.$request" "requests/$request" ;;
delete)
    [ -e "nodes/$node" ] || exit 66
    echo "$verb $node" >"requests/.$request" && mv "requests/.$request" "requests/$request" ;;
*reboot|rebuild)
    [ ! -e "broken/$node" ] || { cat "broken/$node" >&2; exit 1; }
    echo "$verb $node $image" >"requests/.$request" && mv "requests/.$request" "requests/$request" ;;
*) exit 64 ;;
esac
"""


class Room(threading.Thread):
    """The people in the machine room: they do what lies in requests/."""

    def __init__(self, cluster, nodes: list[str], image) -> None:
        super().__init__(daemon=True)
        self.cluster = cluster
        self.over = threading.Event()
        self.done: list[list[str]] = []
        for name in ("requests", "results", "nodes", "images", "broken"):
            (ROOM / name).mkdir(parents=True)
        for folder in (ROOM, *ROOM.iterdir()):
            folder.chmod(0o777)
        script = ROOM / "machines"
        script.write_text(COMMAND)
        script.chmod(0o755)
        for node in nodes:
            self.show(node, image.id)
        for name in cluster.images:
            one = cluster.image(name)
            self.write(ROOM / "images" / one.id, {"id": one.id, "name": name, "stamp": one.stamp})

    @staticmethod
    def write(path: Path, content: dict) -> None:
        draft = path.with_name("." + path.name)
        draft.write_text(json.dumps(content) + "\n")
        draft.chmod(0o644)
        draft.rename(path)

    def show(self, node: str, image: str, task: str = "") -> None:
        self.write(ROOM / "nodes" / node, {"node": node, "image": image, "task": task})

    def run(self) -> None:
        while not self.over.wait(0.1):
            for request in sorted((ROOM / "requests").glob("[!.]*")):
                verb, node, *image = request.read_text().split()
                request.unlink()
                self.done.append([verb, node, *image])
                if verb == "delete":
                    power.send("destroy", node)
                    (ROOM / "nodes" / node).unlink(missing_ok=True)
                    continue
                if image:
                    if verb == "rebuild":
                        self.show(node, image[0], "rebuilding")
                    power.send("destroy", node)
                    self.over.wait(1)
                power.send("spawn" if image else "hard", node, image[0] if image else "")
                if image:
                    self.show(node, image[0])
                self.write(ROOM / "results" / request.name, {"finished": True, "ok": True})


@pytest.fixture(scope="module")
def site(module_lab):
    words = "/shared/room/machines {verb} {node} {image} {request}"
    cluster = module_lab(nodes=4, advance_every=2, cohort_conf={
        "VerifyWait": "40s", "Backend": "exec", "BackendCommand": words,
        "Cohort": f'bare Nodes=n[3-4] Backend=reboot BackendCommand="{words}"'})  # fmt: skip
    for node in ("n1", "n2"):
        cluster.set_desired(node, "v1")
    room = Room(cluster, ["n1", "n2"], cluster.image("v1"))
    room.start()
    cluster.room = room
    yield cluster
    room.over.set()
    room.join(10)


def plan(cluster, *options: str) -> dict[str, dict]:
    told = json.loads(cluster.out("scohort", "plan", "--json", *options))["plan"]
    return {row["node"]: row for row in told}


def verdicts(cluster, *options: str) -> dict[str, str]:
    return {node: row["verdict"] for node, row in plan(cluster, *options).items()}


def test_every_verb_copes_with_both(site):
    assert verdicts(site) == {"n1": "skip", "n2": "skip", "n3": "skip", "n4": "skip"}
    assert verdicts(site, "-w", "n[3-4]") == {"n3": "reboot", "n4": "reboot"}
    why = plan(site, "-w", "n3")["n3"]["why"]
    assert "no image is compared" in why, why
    assert "no such image: v9" in site.run("scohort", "plan", "--to", "v9", check=False).stderr
    site.run("scohort", "adopt", "-w", "n[1-2]")
    adopted = site.run("scohort", "adopt", check=False)
    assert adopted.returncode == 1 and "n3 is not adopted: with Backend=reboot" in adopted.stderr
    assert site.run("scohort", "status", check=False).returncode == 0
    doctor = site.run("scohort", "doctor", check=False).stdout
    assert "not needed: no node belongs to nova" in doctor
    assert doctor.count("/shared/room/machines (Backend=") == 1, doctor


def breaker(cluster) -> str:
    return cluster.out("sh", "-c", "cat /var/lib/slurm/*-cohort/breaker 2>/dev/null || true")


def test_nodes_are_rebuilt_or_rebooted_and_one_that_fails_is_out(site):
    for node in ("n1", "n2"):
        site.set_desired(node, "v2")
    (ROOM / "broken" / "n2").write_text("n2 has no disk, api_key=hunter2\n")
    jobs = {node: submit_rebuild(site, node) for node in site.nodes}
    for node in ("n1", "n3", "n4"):
        site.wait_job(jobs[node], seconds=90)
    assert site.boots("n1")[-1]["content"] == "v2"
    want = extra(site, "n1")["cohort_want"]
    assert want["result"] == "ok" and want["request"].startswith("cohort-"), want
    wait_until(lambda: "n2 has no disk" in site.node("n2").get("Reason", ""), 30, "n2 is out")
    (ROOM / "broken" / "n2").unlink()
    # As they were, and labelled by their own stamp.
    labels = {extra(site, node)["cohort_rev"] for node in ("n3", "n4")}
    assert len(labels) == 1 and labels.pop().startswith("rev_")
    for node in ("n3", "n4"):
        assert [boot["content"] for boot in site.boots(node)] == ["v1", "v1"]


def test_a_command_out_of_reach_opens_the_breaker_until_it_answers(site):
    """n2 is out of service by our doing: it is rebuilt without a job."""
    (ROOM / "closed").touch()
    try:
        assert site.run("scohort", "rebuild", "-w", "n2", check=False).returncode == 3, "plan asks it as well"
        site.controller.run(["cohort-reboot", "n2"], user="slurm")
        wait_until(lambda: "the room is closed" in breaker(site), 30, "the breaker is open", 0.5)
    finally:
        (ROOM / "closed").unlink()
    wait_until(lambda: site.boots("n2")[-1]["content"] == "v2", 60, "n2 is rebuilt", 0.5)
    wait_until(lambda: site.node_states()["n2"] == "idle", 60, f"n2 is back: {site.node('n2')}", 0.5)
    wait_until(lambda: not breaker(site), 30, "the breaker is closed", 0.5)
    said = site.log("ctl.syslog") + json.dumps([site.node(node) for node in site.nodes])
    assert "hunter2" not in said


def test_a_rolling_reboot(site):
    site.run("scohort", "rebuild", "bare", "--max-unavailable", "2")
    wait_until(lambda: [len(site.boots(n)) for n in ("n3", "n4")] == [3, 3], 90, "both were rebooted again", 0.5)
    wait_until(lambda: site.node_states() == dict.fromkeys(site.nodes, "idle"), 60, "all are back", 0.5)
