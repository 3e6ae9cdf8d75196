# SPDX-License-Identifier: GPL-2.0-or-later
"""The outside judge of a rollout: reads what slurmdbd and the nodes themselves have recorded.

Pure: text and values in, sentences out; nothing that the suite under test says is asked.
"""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

USERS = ("alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi")
# -D: every record of a job, so that a requeue shows; times as seconds since the epoch.
SACCT = ("sacct", "-a", "-n", "-P", "-X", "-D", "-S", "now-1days",
         "-o", "jobid,user,jobname,state,nodelist,nnodes,start,end,exitcode")  # fmt: skip
SACCT_ENVIRONMENT = {"SLURM_TIME_FORMAT": "%s"}


@dataclass
class Job:
    id: str
    user: str
    name: str
    state: str
    nodes: list[str]
    start: int  # 0: never
    end: int

    @property
    def completed(self) -> bool:
        return self.state == "COMPLETED"


@dataclass
class Boot:
    time: float
    boot_id: str
    machine_id: str
    stamp: str
    content: str


@dataclass
class Records:
    """One rollout: the jobs of users and administrators, and per node its boots, oldest first."""

    jobs: list[Job]
    boots: dict[str, list[Boot]]
    users: set[str] = field(default_factory=lambda: set(USERS))

    def user_jobs(self) -> list[Job]:
        return [j for j in self.jobs if j.user in self.users]


def parse_jobs(sacct: str, expand) -> list[Job]:
    """EXPAND turns a host list expression into names."""
    jobs = []
    for line in sacct.splitlines():
        job_id, user, name, state, nodes, _count, start, end, _code = line.split("|")
        names = [] if nodes == "None assigned" else expand(nodes)
        jobs.append(Job(job_id, user, name, state.split()[0], names, _time(start), _time(end)))
    return jobs


def _time(text: str) -> int:
    return int(text) if text.isdigit() else 0


def expand_nodes(expression: str) -> list[str]:
    """The lab's own names: "n1", "n[1-3,5]", "n1,n2"."""
    names: list[str] = []
    for part in expression.replace("],", "]|").split("|"):
        if "[" not in part:
            names += part.split(",")
            continue
        prefix, _, ranges = part.rstrip("]").partition("[")
        for item in ranges.split(","):
            low, _, high = item.partition("-")
            names += [f"{prefix}{i}" for i in range(int(low), int(high or low) + 1)]
    return names


def losses(records: Records) -> list[str]:
    """User jobs that did not simply run to their end, one sentence each."""
    ids = Counter(j.id for j in records.user_jobs())
    found = [f"job {i} was requeued ({n} records)" for i, n in ids.items() if n > 1]
    found += [
        f"job {j.id} of {j.user} ended {j.state} on {','.join(j.nodes) or 'no node'}"
        for j in records.user_jobs()
        if not j.completed
    ]
    return found


def not_rebuilt(records: Records, nodes: list[str], old: str, new: str) -> list[str]:
    """Nodes that, by their own records, did not go from content OLD to content NEW."""
    found = []
    for node in nodes:
        boots = records.boots.get(node, [])
        if not boots:
            found.append(f"{node} never booted")
            continue
        first, last = boots[0], boots[-1]
        if (first.content, last.content) != (old, new):
            found.append(f"{node} went from {first.content} to {last.content}, not {old} to {new}")
        elif first.boot_id == last.boot_id or first.machine_id == last.machine_id:
            found.append(f"{node} has its old boot id or machine id")
    return found


def rebuilt_at(boots: list[Boot], new: str) -> float:
    """When the node first booted content NEW; 0: never."""
    return next((b.time for b in boots if b.content == new), 0.0)


def idle_nodes(records: Records, nodes: list[str], new: str) -> list[str]:
    """Nodes on which no user job completed before, or none after, the rebuild."""
    found = []
    for node in nodes:
        when = rebuilt_at(records.boots.get(node, []), new)
        mine = [j for j in records.user_jobs() if node in j.nodes and j.completed]
        if not any(0 < j.end <= when for j in mine):
            found.append(f"no user job ran on {node} before its rebuild")
        if not any(j.start >= int(when) for j in mine):
            found.append(f"no user job ran on {node} after its rebuild")
    return found


def rebuilds_during(job: Job, records: Records, new: str) -> list[str]:
    """Nodes that were rebuilt while JOB ran on others, from its start to its end."""
    return [
        node
        for node, boots in records.boots.items()
        if node not in job.nodes and job.start < rebuilt_at(boots, new) < job.end
    ]


def straddlers(records: Records, new: str) -> list[str]:
    """User jobs that ran on a node while it was rebuilt: there must be none."""
    return [
        f"job {job.id} ran on {node} across its rebuild"
        for job in records.user_jobs()
        for node in job.nodes
        if job.start < int(rebuilt_at(records.boots.get(node, []), new)) < job.end
    ]


def content_at(boots: list[Boot], when: int) -> str:
    """What the node ran in that second, by its own record."""
    before = [b for b in boots if int(b.time) <= when]
    return before[-1].content if before else ""


def whole(jobs: list[Job]) -> list[Job]:
    """JOBS with the components of a het job ("7+0", "7+1") put together: they start as one."""
    found: list[Job] = []
    parts: dict[tuple[str, int], Job] = {}
    for job in jobs:
        leader, plus, _ = job.id.partition("+")
        known = parts.get((leader, job.start))
        if plus and known:
            known.nodes += job.nodes
        else:
            found.append(replace(job, nodes=list(job.nodes)))
            if plus:
                parts[leader, job.start] = found[-1]
    return found


def mixed_allocations(records: Records) -> list[str]:
    """Allocations of users that began on nodes of more than one content: there must be none."""
    found = []
    for job in whole(records.user_jobs()):
        if not job.start or len(job.nodes) < 2:
            continue
        contents = {n: content_at(records.boots.get(n, []), job.start) for n in job.nodes}
        if len(set(contents.values())) > 1:
            found.append(f"job {job.id} ({job.state}) began on {contents}")
    return found
