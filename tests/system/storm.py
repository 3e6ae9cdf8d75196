# SPDX-License-Identifier: GPL-2.0-or-later
"""What test_guard_storm.py throws at a cluster: users, administrators and a controller at random.

Each actor is a thread that acts until told to stop and keeps what happened; nothing is judged here.
"""
from __future__ import annotations

import random
import re
import subprocess
import threading
import time
from dataclasses import dataclass, field

import services
import storm_judge
from judge import USERS
from lab import Lab
from queries import fields

# What a user may write: options for a number generator and how many nodes there are.
def some(r: random.Random, nodes: int, count: int = 1) -> str:
    return ",".join(f"n{i}" for i in r.sample(range(1, nodes + 1), count))


SHAPES = [
    lambda r, n: ["-N2"], lambda r, n: ["-N2"], lambda r, n: ["-N3"], lambda r, n: ["-N2-4"], lambda r, n: ["-N1"],
    lambda r, n: ["-n6"], lambda r, n: ["-n2", "-N2"], lambda r, n: ["-N2", "--exclusive"],
    lambda r, n: ["-N2", "-a", "1-3"], lambda r, n: ["-N1", "-n1"], lambda r, n: [f"-N{n // 2}"],
    lambda r, n: ["-N2", "-x", some(r, n)], lambda r, n: ["-N2", "-w", some(r, n)],
    lambda r, n: ["-N2", "-w", some(r, n, 2)], lambda r, n: ["-N1", ":", "-N1"], lambda r, n: ["-N1", ":", "-N2"],
    lambda r, n: ["-N2", "-p", "left"], lambda r, n: ["-N2", "-p", "left,right"],
    lambda r, n: ["-N2", "--begin=now+3"], lambda r, n: ["-N2", "-H"],
]  # fmt: skip
FEATURES = [[], [], [], ["-C", "gpu"], ["-C", "gpu&x"], ["-C", "gpu|x"], ["-C", "[gpu|x]"],
            ["-C", "(gpu|x)&x"], ["--prefer=gpu"], ["-C", "gpu*1"]]  # fmt: skip
CHANGES = [
    lambda r, n: ["NumNodes=2"], lambda r, n: ["Features=gpu"], lambda r, n: ["Features="],
    lambda r, n: [f"ExcNodeList={some(r, n)}"], lambda r, n: ["Partition=right"],
    lambda r, n: [f"ReqNodeList={some(r, n)}"], lambda r, n: [f"ReqNodeList={some(r, n, 2)}"], lambda r, n: ["Prefer=x"],
    lambda r, n: ["TimeLimit=7"], lambda r, n: ["Comment=mine"],
]  # fmt: skip
SAY = "srun sh -c 'echo $(cat /etc/lab-content) $(hostname) >>/shared/ran.$SLURM_JOB_ID'; sleep {}"


@dataclass
class Kept:
    """What the actors have seen; one lock for all."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    accepted: list[str] = field(default_factory=list)
    refused: list[storm_judge.Refusal] = field(default_factory=list)
    samples: list[storm_judge.Sample] = field(default_factory=list)
    options: dict[str, list[str]] = field(default_factory=dict)  # accepted job -> what its user asked for
    own: dict[str, str] = field(default_factory=dict)  # held job -> the features its user gave
    changed: list[str] = field(default_factory=list)  # jobs that a user has updated
    given_up: list[str] = field(default_factory=list)  # changed by its user into what never fits
    rebuilds: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)  # of an actor itself


class Actor(threading.Thread):
    """act() again and again, every PAUSE seconds or so."""

    def __init__(self, lab: Lab, kept: Kept, seed: int, pause: float) -> None:
        super().__init__(daemon=True)
        self.lab, self.kept, self.pause = lab, kept, pause
        self.random = random.Random(seed)
        self._enough = threading.Event()

    def run(self) -> None:
        while not self._enough.wait(self.random.uniform(0.5, 1.5) * self.pause):
            try:
                self.act()
            except (subprocess.TimeoutExpired, RuntimeError, OSError, ValueError) as error:
                with self.kept.lock:
                    self.kept.faults.append(f"{type(self).__name__}: {error}")

    def end(self) -> None:
        self._enough.set()

    def act(self) -> None:
        raise NotImplementedError


class Submitter(Actor):
    most_waiting = 30
    most_held = 300  # under "hold" that is nearly all of them

    def act(self) -> None:
        user = self.random.choice(USERS)
        reasons = self.lab.run("squeue", "-h", "-t", "PD", "-o", "%r", check=False).stdout.split()
        held = sum(reason.startswith("JobHeld") for reason in reasons)
        if len(reasons) - held > self.most_waiting or held > self.most_held:
            return
        options = self.random.choice(SHAPES)(self.random, len(self.lab.nodes))
        features = self.random.choice(FEATURES)
        said = SAY.format(self.random.choice((0, 1, 2)))
        begin = time.time()
        # With a limit, so that Slurm's backfill can let a small job past a large one.
        done = self.lab.run("sbatch", "--parsable", "-t", "10", "-o", "/dev/null", *options, *features, "--wrap", said,
                            user=user, check=False, timeout=60)  # fmt: skip
        refusal = storm_judge.Refusal(begin, time.time(), [*options, *features], done.stderr)
        with self.kept.lock:
            if done.returncode:
                self.kept.refused.append(refusal)
                return
            job = done.stdout.strip().split(";")[0]
            self.kept.accepted.append(job)
            self.kept.options[job] = refusal.options
            if "-H" in options:
                self.kept.own[job] = features[1] if features[:1] == ["-C"] else ""


class Watcher(Actor):
    """Looks at nodes and queue, for the judge."""

    def act(self) -> None:
        begin = time.time()
        shown = self.lab.run("scontrol", "-o", "show", "nodes", check=False)
        queue = self.lab.run("squeue", "-h", "-t", "PD", "-o", storm_judge.QUEUE_FORMAT, check=False)
        if shown.returncode or queue.returncode:
            return
        lines = [fields(line) for line in shown.stdout.splitlines()]
        nodes = {record["NodeName"]: storm_judge.node_of(record) for record in lines if "NodeName" in record}
        waiting = storm_judge.plain_pairs(queue.stdout)
        with self.kept.lock:
            self.kept.samples.append(storm_judge.Sample(begin, time.time(), nodes, waiting))


class Changer(Actor):
    """A user updates, holds or releases one of his waiting jobs; and gives some of those up: changed into what never
    fits they would fill the queue."""

    most_changed = 15

    def act(self) -> None:
        lines = self.lab.run("squeue", "-h", "-t", "PD", "-o", "%A %u %i", check=False).stdout.split("\n")
        mine = [line.split() for line in lines if line.split()[1:] and line.split()[1] in USERS]
        if not mine:
            return
        changed = [one for one in mine if one[0] in self.kept.changed]
        if len(changed) > self.most_changed:
            _, user, name = self.random.choice(changed)
            job = re.split("[_+]", name)[0]  # all of an array, or of a het job
            if self.lab.run("scancel", job, user=user, check=False).returncode == 0:
                with self.kept.lock:
                    self.kept.given_up.append(job)
            return
        job, user, _ = self.random.choice(mine)
        verb = self.random.choice(("update", "update", "hold", "release"))
        words = ["update", f"jobid={job}", *self.random.choice(CHANGES)(self.random, len(self.lab.nodes))] if verb == "update" else [verb, job]
        done = self.lab.run("scontrol", *words, user=user, check=False, timeout=60)
        with self.kept.lock:
            if done.returncode == 0:
                self.kept.changed.append(job)


class Roller(Actor):
    """An administrator who sends nodes to one of the images, by hand."""

    def __init__(self, lab: Lab, kept: Kept, seed: int, pause: float, images: list[str]) -> None:
        super().__init__(lab, kept, seed, pause)
        self.images = images

    def act(self) -> None:
        rebuild(self.lab, self.kept, self.random.choice(self.lab.nodes), self.random.choice(self.images))


class Controller(Actor):
    """slurmctld is reconfigured or restarted. Not killed: Slurm itself then forgets jobs of the last
    seconds and gives their ids away a second time ("Duplicate jobid" drains nodes)."""

    def act(self) -> None:
        what = self.random.choice(("reconfigure", "restart"))
        with self.kept.lock:
            self.kept.events.append(what)
        if what == "reconfigure":
            self.lab.run("scontrol", "reconfigure", check=False)
            return
        services.stop(self.lab.controller, "slurmctld")
        services.start_slurmctld(self.lab.controller)


def rebuild(lab: Lab, kept: Kept, node: str, image: str) -> str:
    lab.set_desired(node, image)
    done = lab.run("sbatch", "--parsable", "--reboot", "-w", node, "-o", "/dev/null", "--wrap",
                   "cohort-node verify", check=False, timeout=60)  # fmt: skip
    job = done.stdout.strip() if done.returncode == 0 else ""
    if job:
        with kept.lock:
            kept.rebuilds.append(job)
    return job


def for_a_while(actors: list[Actor], seconds: float, alive) -> None:
    """Runs ACTORS; ALIVE() is asked twice a second and may raise."""
    for actor in actors:
        actor.start()
    deadline = time.monotonic() + seconds
    try:
        while time.monotonic() < deadline:
            alive()
            time.sleep(0.5)
    finally:
        for actor in actors:
            actor.end()
        for actor in actors:
            actor.join(90)
