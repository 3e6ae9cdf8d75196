# SPDX-License-Identifier: GPL-2.0-or-later
"""scohort status, watch, history and metrics beside a rollout in which one node fails."""
from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
import time
from html.parser import HTMLParser

import pytest

from machines import wait_until

FAULT = "No valid host was found"


class Looks(threading.Thread):
    """`scohort status --json`, twice a second, until the end."""

    def __init__(self, cluster) -> None:
        super().__init__(daemon=True)
        self._cluster = cluster
        self._enough = threading.Event()
        self.seen: list[dict] = []

    def run(self) -> None:
        while not self._enough.wait(0.5):
            done = self._cluster.run("scohort", "status", "--json", check=False)
            if done.returncode == 0:
                self.seen.append(json.loads(done.stdout))

    def end(self) -> None:
        self._enough.set()
        self.join()

    def of(self, node: str) -> list[dict]:
        return [row for look in self.seen for row in look["status"] if row["node"] == node]


class Site:
    def __init__(self, cluster) -> None:
        self.cluster = cluster
        self.before = {verb: cluster.out("scohort", verb) for verb in ("status", "history", "metrics")}
        cluster.run("scohort", "adopt")
        self.job = cluster.submit("-w", "n2", "--exclusive", "--time=5", wrap="sleep 25")
        cluster.wait_job(self.job, "RUNNING")
        cluster.set_desired("n6", "v2")
        cluster.run("sbatch", "--reboot", "-w", "n6", "--wrap", "cohort-node verify")
        cluster.cloud.next("n3", outcome="error", fault=FAULT)
        cluster.run("scohort", "rebuild", "-w", "n[1-5]", "--to", "v2", "--max-unavailable", "3",
                    "--failure-budget", "3", "--order", "name", "--reason", "kernel update")  # fmt: skip
        self.looks = Looks(cluster)
        self.looks.start()
        terminal = self._later("script", "-qec", "stty cols 100 rows 30; TERM=xterm scohort watch -n 0.5",
                               "/dev/null")  # fmt: skip
        pipe = self._later("scohort", "watch", "-n", "0.5")
        self.terminal, self.pipe = terminal(), pipe()
        self.looks.end()
        self.end = json.loads(cluster.out("scohort", "status", "--json"))

    def _later(self, *command: str):
        done: list = []
        thread = threading.Thread(
            target=lambda: done.append(self.cluster.run(*command, check=False, timeout=200)))
        thread.start()

        def result():
            thread.join()
            return done[0]

        return result


@pytest.fixture(scope="module")
def site(module_lab):
    return Site(module_lab(nodes=6, cloud={"rebuild_delay": 3.0}, cohort_conf={"VerifyWait": "40s"}))


def test_before_the_first_rollout_they_say_so(site):
    assert "There was no rollout yet" in site.before["status"]
    assert "cohort_rollout_id 0" in site.before["metrics"]


def test_status_tells_what_is_waited_for_and_why_a_node_failed(site):
    n2 = [row for row in site.looks.of("n2") if row["step"] in ("held", "waits") and row["jobs"]]
    assert any(row["jobs"][0] == {"job": int(site.job), "user": "alice", "end": row["jobs"][0]["end"]}
               and f"job {site.job} of alice until" in row["what"] for row in n2), n2[:2]  # fmt: skip
    n1 = site.looks.of("n1")
    assert any(row["step"] == "rebuilding" and "req-" in row["what"] for row in n1)
    assert any(row["step"] == "booting" for row in n1)
    assert n1[-1]["step"] == "done" and n1[-1]["label"].startswith("rev_")
    n3 = site.looks.of("n3")[-1]
    assert n3["step"] == "failed" and FAULT in n3["what"] and n3["request"].startswith("req-")
    assert any(row["rollout"] == 0 and row["step"] in ("rebuilding", "booting") for row in site.looks.of("n6"))
    progress = site.end["progress"]
    assert (progress["total"], progress["done"], progress["failed"]) == (5, 4, 1)
    assert site.end["rollout"]["state"] == "done" and 5 <= progress["node_seconds"] <= 90
    limits = [look["progress"]["out_of_service_limit"] for look in site.looks.seen]
    assert set(limits) == {3}
    ends = [look["progress"]["end"] for look in site.looks.seen if look["progress"]["end"]]
    assert ends, "an end was estimated"
    text = site.cluster.out("scohort", "status")
    assert "4 of 5 nodes done, 1 failed" in text and re.search(rf"^n3 +failed .*{FAULT}", text, re.M)
    wrong = site.cluster.run("scohort", "status", "77", check=False)
    assert wrong.returncode != 0 and "there is no rollout 77" in wrong.stderr


def test_watch_prints_lines_in_a_pipe(site):
    assert site.pipe.returncode == 1, "a node failed"
    lines = site.pipe.stdout.splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d ", line) for line in lines), lines
    assert "\033" not in site.pipe.stdout
    for node in ("n1", "n2", "n4", "n5"):
        assert any(re.search(rf" {node} done: in \d+ s$", line) for line in lines), lines
    assert any(f" n3 failed: " in line and FAULT in line for line in lines)
    assert "4 of 5 nodes done, 1 failed" in "\n".join(lines[-6:])


def test_watch_redraws_on_a_terminal(site):
    assert site.terminal.returncode == 1
    text = site.terminal.stdout
    assert text.count("\033[?1049h") == 1 and text.count("\033[?1049l") == 1
    assert text.count("\033[H") >= 10, "redrawn in place"
    last = re.sub(r"\033\[[0-9;]*m", "", text[text.index("\033[?1049l"):])
    for number in range(1, 6):
        assert re.search(rf"^n{number} +(done|failed)", last, re.M), last
    assert "100 %" in last


def test_history_tells_rollouts_events_and_a_nodes_rebuilds(site):
    rollouts = json.loads(site.cluster.out("scohort", "history", "--json"))["history"]
    assert [(r["rollout"], r["state"], r["done"], r["failed"], r["who"], r["why"]) for r in rollouts] == [
        ("1", "done", "4", "1", "root", "kernel update")]  # fmt: skip
    events = site.cluster.out("scohort", "history", "1")
    assert FAULT in events and re.search(r"n1 +\S+ +runs the image now", events)
    assert FAULT in site.cluster.out("scohort", "history", "--node", "n3")
    assert site.cluster.run("scohort", "history", "9", check=False).returncode != 0


def test_metrics_are_prometheus_text_in_a_file_that_is_replaced(site):
    folder = site.cluster.out("mktemp", "-d")
    site.cluster.run("chown", "slurm", folder)
    site.cluster.run("chmod", "755", folder)
    path = f"{folder}/cohort.prom"
    site.cluster.run("scohort", "metrics", "--output", path)
    assert site.cluster.out("stat", "-c", "%a", path) == "644"
    assert site.cluster.out("ls", folder) == "cohort.prom", "no temporary file is left"
    names = set()
    for line in site.cluster.out("cat", path).splitlines():
        match = re.fullmatch(r"# (?:HELP|TYPE) .+|([a-z_]+)(?:\{[a-z]+=\"[^\"]*\"\})? -?[0-9.]+", line)
        assert match, line
        names.add(match[1])
    assert {"cohort_rollout_nodes", "cohort_breaker_open", "cohort_nodes_out_of_service"} <= names
    text = site.cluster.out("scohort", "metrics")
    assert 'cohort_rollout_nodes{step="failed"} 1' in text
    assert 'cohort_rollout_state{state="done"} 1' in text
    bad = site.cluster.run("scohort", "metrics", "--output", "/nowhere/x", check=False)
    assert bad.returncode != 0 and "/nowhere" in bad.stderr


class Page(HTMLParser):
    """What a browser would find: every node's row, its boxes, tags that do not match."""

    VOID = {"meta", "link", "br", "path"}
    LOOSE = {"tr", "td", "th"}  # their ends may be left out

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: dict[str, list[str]] = {}
        self.titles: list[str] = []
        self.faults: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        self.faults += [f"<{tag}> is never closed" for tag in self._open]

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if "data-node" in values:
            self.rows[values["data-node"]] = []
        elif tag == "i" and "left:" in values.get("style", "") and self.rows and "title" in values:
            self.rows[list(self.rows)[-1]].append(values["class"])
            self.titles.append(values["title"])
        for key in ("src", "href"):
            if key in values and not values[key].startswith("data:"):
                self.faults.append(f"<{tag} {key}={values[key]}> is loaded")
        if tag == "script":
            self.faults.append("a script")
        if tag not in self.VOID | self.LOOSE:
            self._open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.VOID | self.LOOSE:
            return
        if not self._open or self._open.pop() != tag:
            self.faults.append(f"</{tag}> closes nothing")


def test_the_report_shows_every_node_and_every_users_job(site):
    text = site.cluster.out("scohort", "report")
    page = Page(text)
    assert not page.faults, page.faults
    assert list(page.rows) == ["n1", "n2", "n3", "n4", "n5"]
    for node, boxes in page.rows.items():
        kinds = [box for box in boxes if box != "job"]
        wanted = ["old", "build", "fail"] if node == "n3" else ["old", "build", "boot", "new"]
        assert [kind for kind in kinds if kind != "wait"] == wanted, (node, kinds)
    assert any(title.startswith(f"job {site.job} of alice on 1 nodes") for title in page.titles)
    assert "job" in page.rows["n2"] and FAULT in text and "kernel update" in text


@pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not installed")
def test_a_browser_loads_the_report_without_a_complaint(site, tmp_path):
    page = tmp_path / "report.html"
    page.write_text(site.cluster.out("scohort", "report") + "\n")
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
               f"--user-data-dir={tmp_path}/profile", "--dump-dom", f"file://{page}"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert not re.search(r"CONSOLE|Refused to|Uncaught", done.stderr), done.stderr
    assert len(re.findall(r'data-node="n[1-5]"', done.stdout)) == 5


def test_watch_ends_at_once_when_nothing_is_under_way(site):
    wait_until(lambda: "n6" not in site.cluster.out("scohort", "status"), 60, "n6 is done", 1)
    began = time.monotonic()
    done = site.cluster.run("scohort", "watch", check=False)
    assert done.returncode == 1 and time.monotonic() - began < 5
