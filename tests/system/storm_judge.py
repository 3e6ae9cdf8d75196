# SPDX-License-Identifier: GPL-2.0-or-later
"""What must hold of a storm, beside judge.py: no wrong refusal, and jobs start on each revision.

Pure: samples of the cluster, taken from outside twice a second, and what users were told. A refusal
is wrong when brute force finds nodes for the job that were of one revision, and left alone by
administrators, in every sample around it.
"""
from __future__ import annotations

import itertools
import json
import re
from dataclasses import dataclass, field, replace

import judge

CPUS = 4  # of each node


@dataclass(frozen=True)
class Node:
    """A node in one sample."""

    label: str  # "": none
    features: frozenset[str]  # the site's own
    under_way: bool  # an attempt is on it, or waits for it
    usable: bool  # jobs can start on it, or do when others end


@dataclass
class Sample:
    begin: float  # when the question was sent, and answered
    end: float
    nodes: dict[str, Node]
    # Jobs that any two nodes could take and that only wait for room: the revisions they are bound to, none: any.
    waiting: list[frozenset[str]]

    def has_work_for(self, label: str) -> bool:
        return any(not bound or label in bound for bound in self.waiting)


@dataclass
class Refusal:
    begin: float
    end: float
    options: list[str]
    text: str


@dataclass
class Request:
    """What SHAPES and FEATURES of storm.py say. low, high: nodes."""

    low: int = 1
    high: int = 1
    required: set[str] = field(default_factory=set)
    excluded: set[str] = field(default_factory=set)
    partitions: list[str] = field(default_factory=lambda: ["main"])
    features: str = ""
    prefer: str = ""


QUEUE_FORMAT = "%D;%r;%P;%n;%h;%f"
ROOM = ("Resources", "Priority", "None")
OUT = ("DOWN", "DRAIN", "FAIL", "REBOOT", "NOT_RESPONDING", "INVALID", "MAINT", "UNKNOWN", "POWER")


def plain_pairs(queue: str) -> list[frozenset[str]]:
    """Of squeue's QUEUE_FORMAT: jobs of two nodes without features, lists or a partition of their own. Only those say
    that a revision has work: one for eight nodes, or for a node that is busy, may wait for long."""
    found = []
    for line in queue.splitlines():
        nodes, reason, partition, listed, share, features = line.split(";", 5)
        own = [w for w in re.split(r"[\[\]|&()]", features) if w not in ("", "null") and not w.startswith("rev_")]
        if (nodes, partition, listed, share) == ("2", "main", "", "OK") and not own and reason in ROOM:
            found.append(frozenset(re.findall(r"rev_\w+", features)))
    return found


def node_of(record: dict[str, str]) -> Node:
    """From a line of `scontrol -o show nodes`."""
    text = record.get("Extra", "")
    extra = json.loads(text) if text.startswith("{") else {}
    want = extra.get("cohort_want")
    names = {f for f in record.get("ActiveFeatures", "").split(",") if f and not f.startswith("rev_")}
    label = extra.get("cohort_rev", "")
    return Node(label, frozenset(names - {"(null)"}), bool(want) and (not want.get("result") or not label),
                not any(word in record["State"] for word in OUT))  # fmt: skip


def parse(options: list[str]) -> Request:
    request = Request()
    tasks = 0
    words = iter(options)
    for word in words:
        if word.startswith("-N"):
            low, _, high = word[2:].partition("-")
            request.low, request.high = int(low), int(high or low)
        elif word.startswith("-n"):
            tasks = int(word[2:])
        elif word in ("-x", "-w"):
            names = set(judge.expand_nodes(next(words)))
            (request.excluded if word == "-x" else request.required).update(names)
        elif word == "-p":
            request.partitions = next(words).split(",")
        elif word == "-C":
            request.features = next(words)
        elif word.startswith("--prefer="):
            request.prefer = word.partition("=")[2]
    request.low = max(request.low, len(request.required), -(-tasks // CPUS))
    request.high = max(request.high, request.low)
    return request


def meets(constraint: str, nodes: list[frozenset[str]]) -> bool:
    """The few forms of storm.py, by what Slurm's manual says they mean."""
    if constraint == "[gpu|x]":
        return any(all(name in own for own in nodes) for name in ("gpu", "x"))
    one = {"": lambda own: True, "gpu": lambda own: "gpu" in own, "gpu&x": lambda own: {"gpu", "x"} <= own,
           "gpu|x": lambda own: bool(own & {"gpu", "x"}), "(gpu|x)&x": lambda own: "x" in own}  # fmt: skip
    return all(one[constraint](own) for own in nodes)


def steady(samples: list[Sample]) -> dict[str, Node]:
    """Nodes with the same label in all SAMPLES and no attempt in any."""
    first = samples[0].nodes
    return {name: node for name, node in first.items()
            if node.label and all(s.nodes[name].label == node.label and not s.nodes[name].under_way
                                  and s.nodes[name].features == node.features for s in samples)}  # fmt: skip


def placement(request: Request, nodes: dict[str, Node], partitions: dict[str, list[str]]) -> list[str]:
    """Brute force: nodes of one revision on which REQUEST could run; none: []."""
    for partition in request.partitions:
        free = [n for n in partitions[partition] if n in nodes and n not in request.excluded]
        for label in sorted({nodes[n].label for n in free}):
            mine = [n for n in free if nodes[n].label == label]
            if not request.required <= set(mine):
                continue
            rest = [n for n in mine if n not in request.required]
            for size in range(request.low, request.high + 1):
                for more in itertools.combinations(rest, size - len(request.required)):
                    chosen = [*request.required, *more]
                    if meets(request.features, [nodes[n].features for n in chosen]):
                        return chosen
    return []


def around(samples: list[Sample], begin: float, end: float, before: float, after: float) -> list[Sample]:
    return [s for s in samples if s.end >= begin - before and s.begin <= end + after]


def refused_by_slurm(request: Request, nodes: dict[str, Node], partitions: dict[str, list[str]]) -> bool:
    """22.05 takes no job whose preference can never be met, whatever else would do [measured without the plugin]."""
    if not request.prefer:
        return False
    alike = {name: replace(node, label="") for name, node in nodes.items()}
    return not placement(replace(request, features=request.prefer), alike, partitions)


def wrong_refusals(refusals: list[Refusal], samples: list[Sample], partitions: dict[str, list[str]],
                   before: float = 12.0) -> list[str]:  # fmt: skip
    """BEFORE: how old the picture may be by which a hook judges: on a busy machine a third of StaleAfter."""
    found = []
    for refusal in refusals:
        if "*" in " ".join(refusal.options) or ":" in refusal.options:
            continue  # counts are refused by design, het jobs judged by their components
        near = around(samples, refusal.begin, refusal.end, before, 1.0)
        if len(near) < 3:
            continue
        request, nodes = parse(refusal.options), steady(near)
        chosen = placement(request, nodes, partitions)
        if chosen and not refused_by_slurm(request, nodes, partitions):
            found.append(f"{' '.join(refusal.options)} fits on {','.join(chosen)}: {refusal.text.strip()}")
    return found


def idle_windows(samples: list[Sample], starts: list[tuple[float, list[str]]], seconds: float, least: int = 3) -> list[str]:
    """Windows in which a revision had LEAST steady usable nodes and jobs waited all the time, and no
    job of several nodes started there. STARTS: when, on which nodes."""
    found = []
    begin, end = samples[0].begin, samples[-1].end
    while begin + seconds <= end:
        inside = around(samples, begin, begin + seconds, 0, 0)
        nodes = {n: node for n, node in steady(inside).items() if all(s.nodes[n].usable for s in inside)} if inside else {}
        by_label: dict[str, set[str]] = {}
        for name, node in nodes.items():
            by_label.setdefault(node.label, set()).add(name)
        for label, names in by_label.items():
            if len(names) < least or not all(s.has_work_for(label) for s in inside):
                continue
            if not any(begin - 1 <= when <= begin + seconds and set(on) & names for when, on in starts):
                found.append(f"from second {begin - samples[0].begin:.0f}: nothing on {','.join(sorted(names))} ({label})")
        begin += seconds / 2
    return found
