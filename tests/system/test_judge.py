# SPDX-License-Identifier: GPL-2.0-or-later
"""The judge of demo and main job: each rule seen to hold and seen to be broken."""
from __future__ import annotations

import pytest

import judge
import storm_judge

OLD = judge.Boot(100.0, "b1", "m1", "lab/v1", "v1")
NEW = judge.Boot(200.4, "b2", "m2", "lab/v2", "v2")


def job(number: int, nodes: str, start: int, end: int, state="COMPLETED", user="alice") -> str:
    return f"{number}|{user}|stream|{state}|{nodes}|1|{start or 'Unknown'}|{end or 'Unknown'}|0:0"


def records(*lines: str, n1=(OLD, NEW), n2=(OLD, NEW)) -> judge.Records:
    jobs = judge.parse_jobs("\n".join(lines), judge.expand_nodes)
    return judge.Records(jobs, {"n1": list(n1), "n2": list(n2)})


GOOD = (job(1, "n[1-2]", 110, 120), job(2, "n[1-2]", 210, 220), job(3, "n1", 150, 190, user="root"))


@pytest.mark.parametrize(
    "text, names",
    [("n1", ["n1"]), ("n1,n2", ["n1", "n2"]), ("n[1-3,5]", ["n1", "n2", "n3", "n5"]),
     ("n[1,3],m2", ["n1", "n3", "m2"])],
)  # fmt: skip
def test_host_lists(text, names):
    assert judge.expand_nodes(text) == names


def test_a_good_rollout_has_nothing_against_it():
    good = records(*GOOD)
    assert judge.losses(good) == []
    assert judge.not_rebuilt(good, ["n1", "n2"], "v1", "v2") == []
    assert judge.idle_nodes(good, ["n1", "n2"], "v2") == []
    assert judge.straddlers(good, "v2") == []


@pytest.mark.parametrize("state", ["FAILED", "NODE_FAIL", "CANCELLED by 0", "TIMEOUT", "REQUEUED",
                                   "PENDING", "RUNNING"])  # fmt: skip
def test_a_user_job_that_did_not_complete_is_a_loss(state):
    assert len(judge.losses(records(job(1, "n1", 1, 2, state)))) == 1


def test_two_records_of_one_job_are_a_requeue():
    assert judge.losses(records(job(1, "n1", 1, 2), job(1, "n2", 3, 4))) == [
        "job 1 was requeued (2 records)"
    ]


def test_an_administrators_job_is_not_a_users():
    assert judge.losses(records(job(1, "n1", 1, 2, "FAILED", user="root"))) == []


@pytest.mark.parametrize(
    "boots, word",
    [
        ((), "never booted"),
        ((OLD,), "from v1 to v1"),
        ((OLD, judge.Boot(200, "b2", "m1", "lab/v1", "v1")), "from v1 to v1"),
        ((OLD, judge.Boot(200, "b2", "m1", "lab/v2", "v2")), "old boot id or machine id"),
        ((OLD, judge.Boot(200, "b1", "m2", "lab/v2", "v2")), "old boot id or machine id"),
        ((OLD, NEW, judge.Boot(300, "b3", "m3", "lab/v1", "v1")), "from v1 to v1"),
    ],
)  # fmt: skip
def test_a_node_that_is_not_really_on_the_new_image(boots, word):
    found = judge.not_rebuilt(records(n1=boots), ["n1"], "v1", "v2")
    assert len(found) == 1 and word in found[0]


def test_a_node_without_user_jobs_before_or_after_is_named():
    assert judge.idle_nodes(records(job(1, "n1", 110, 120)), ["n1"], "v2") == [
        "no user job ran on n1 after its rebuild"
    ]
    assert judge.idle_nodes(records(job(1, "n1", 210, 220)), ["n1"], "v2") == [
        "no user job ran on n1 before its rebuild"
    ]


def test_a_job_across_a_rebuild_of_its_node_is_found():
    assert judge.straddlers(records(job(1, "n1", 150, 250)), "v2") == [
        "job 1 ran on n1 across its rebuild"
    ]


def test_rebuilds_of_other_nodes_during_a_job():
    during = records(job(1, "n1", 150, 250), n1=(OLD,))
    assert judge.rebuilds_during(during.jobs[0], during, "v2") == ["n2"]
    own = records(job(1, "n[1-2]", 150, 250))
    assert judge.rebuilds_during(own.jobs[0], own, "v2") == []


def test_a_het_job_is_judged_as_one() -> None:
    apart = records(job(1, "n1", 110, 120), n2=(NEW,))
    assert judge.mixed_allocations(apart) == []
    lines = [job(0, "n1", 150, 160).replace("0|", "7+0|", 1), job(0, "n2", 150, 160).replace("0|", "7+1|", 1)]
    seen = records(*lines, n2=(judge.Boot(50.0, "b", "m", "lab/v2", "v2"),))
    assert len(judge.mixed_allocations(seen)) == 1


def sample(when: float, labels: str, waiting: int = 1, features: str = "gpu") -> storm_judge.Sample:
    """LABELS: one letter per node; "-": none; "A": an attempt waits for a node of a."""
    nodes = {f"n{i}": storm_judge.Node(c.lower().strip("-"), frozenset(features.split(",")), c.isupper(), True)
             for i, c in enumerate(labels, 1)}  # fmt: skip
    return storm_judge.Sample(when, when, nodes, [frozenset()] * waiting)


@pytest.mark.parametrize("options, labels, wrong", [
    ("-N2", ["aab", "aab", "aab"], True),
    ("-N3", ["aab", "aab", "aab"], False),
    ("-N2", ["aab", "abb", "aab"], False),  # n2 changed for a moment
    ("-N2", ["aab", "aAb", "aab"], False),
    ("-N2", ["a-b", "a-b", "a-b"], False),
    ("-N2 -x n1", ["aab", "aab", "aab"], False),
    ("-N2 -x n3", ["aab", "aab", "aab"], True),
    ("-N2 -w n3", ["aab", "aab", "aab"], False),
    ("-N2 -w n2", ["aab", "aab", "aab"], True),
    ("-N2 -w n2,n3", ["aab", "aab", "aab"], False),
    ("-N2 -p left", ["aab", "aab", "aab"], True),
    ("-N2 -p right", ["aab", "aab", "aab"], False),
    ("-N2 -p right,left", ["aab", "aab", "aab"], True),
    ("-n6", ["aab", "aab", "aab"], True),
    ("-n9", ["aab", "aab", "aab"], False),
    ("-N2-3 -C gpu", ["aab", "aab", "aab"], True),
    ("-N2 -C gpu&x", ["aab", "aab", "aab"], False),
    ("-N2 -C [gpu|x]", ["aab", "aab", "aab"], True),
    ("-N2 -C gpu*1", ["aab", "aab", "aab"], False),  # by design
    ("-N2 --prefer=gpu", ["aab", "aab", "aab"], True),
    ("-N2 --prefer=gpu&x", ["aab", "aab", "aab"], False),  # Slurm's own
    ("-N2", ["aab"], False),  # too little is known
])  # fmt: skip
def test_a_wrong_refusal(options: str, labels: list[str], wrong: bool) -> None:
    samples = [sample(10 + i / 2, text) for i, text in enumerate(labels)]
    refusal = storm_judge.Refusal(10.2, 10.4, options.split(), "cohort: no")
    partitions = {"main": ["n1", "n2", "n3"], "left": ["n1", "n2"], "right": ["n2", "n3"]}
    assert bool(storm_judge.wrong_refusals([refusal], samples, partitions)) == wrong


@pytest.mark.parametrize("labels, waiting, starts, idle", [
    ("aaabbb", 1, [(5, "n1,n2"), (9, "n4,n5")], ""),
    ("aaabbb", 1, [(5, "n1,n2")], "(b)"),
    ("aaabbb", 0, [], ""),
    ("aaab--", 1, [(5, "n1,n2")], ""),
    ("aaaBbb", 1, [(5, "n1,n2")], ""),
])  # fmt: skip
def test_a_revision_without_starts(labels: str, waiting: int, starts: list, idle: str) -> None:
    samples = [sample(float(i), labels, waiting) for i in range(11)]
    found = storm_judge.idle_windows(samples, [(t, on.split(",")) for t, on in starts], 10)
    assert (idle in found[0]) if idle else not found


def test_a_job_that_is_bound_elsewhere_is_no_work() -> None:
    samples = [storm_judge.Sample(s.begin, s.end, s.nodes, [frozenset({"a"})])
               for s in (sample(float(i), "aaabbb") for i in range(11))]  # fmt: skip
    found = storm_judge.idle_windows(samples, [], 10)
    assert found and all("(a)" in f for f in found)


def test_which_jobs_any_two_nodes_could_take() -> None:
    queue = ("2;Resources;main;;OK;(null)\n2;Priority;main;;OK;[rev_a|rev_b]\n2;None;main;;OK;rev_a\n"
             "2;Priority;main;;OK;gpu&rev_a\n2;Priority;main;n1;OK;(null)\n2;Priority;left;;OK;(null)\n"
             "8;Priority;main;;OK;(null)\n2;Priority;main;;NO;(null)\n2;JobHeldUser;main;;OK;(null)\n")  # fmt: skip
    assert storm_judge.plain_pairs(queue) == [frozenset(), frozenset({"rev_a", "rev_b"}), frozenset({"rev_a"})]


def test_a_node_as_scontrol_shows_it() -> None:
    record = {"State": "IDLE+DRAIN", "ActiveFeatures": "gpu,rev_aa", "Extra": '{"cohort_rev":"rev_aa","cohort_want":{"result":"ok"}}'}
    assert storm_judge.node_of(record) == storm_judge.Node("rev_aa", frozenset({"gpu"}), False, False)
    record = {"State": "IDLE", "ActiveFeatures": "(null)", "Extra": '{"cohort_rev":"rev_aa","cohort_want":{"image":"x"}}'}
    assert storm_judge.node_of(record) == storm_judge.Node("rev_aa", frozenset(), True, True)
