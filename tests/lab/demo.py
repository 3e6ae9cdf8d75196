# SPDX-License-Identifier: GPL-2.0-or-later
"""Rolls a Slurm cluster on this machine from image v1 to v2 under a stream of user jobs.

Everything is real but the hypervisor: slurmctld, slurmdbd, MariaDB, munge, nodes that boot, and with
--cloud=openstack also keystone, glance, placement and nova. It runs in private namespaces and ends
completely with this command (Ctrl-C does it too).
"""
from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

import judge
import leaks
import namespace
from demo_view import Phase, Screen, node_phases, print_table
from lab import Lab
from machines import node_names, wait_until
from workload import LONG, STREAM, Stream, prepare_homes

OLD, NEW = "v1", "v2"
USER_JOBS, PAIRS = 100, 20  # the least that the stream is to hold
LONG_SECONDS = 40  # through three rebuilds; twice that where all goes slowly
PAYLOAD = "cohort-node verify"
FAULT = "No valid host was found. The demo wanted this rebuild to fail."
CLOUDS = {"lab": "the lab cloud", "openstack": "keystone, glance, placement, nova"}
LAB_COMMAND = str(Path(__file__).resolve().parent / "lab")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="demo", description=__doc__)
    parser.add_argument("--nodes", type=int, default=6, help="compute nodes (default 6)")
    parser.add_argument("--cloud", choices=CLOUDS, default="lab",
                        help="a small stand-in for OpenStack (default), or Debian's true services")
    parser.add_argument("--fail", metavar="NODE", help="the cloud cannot rebuild this node, e.g. n3")
    parser.add_argument("--keep", action="store_true", help="leave the cluster up at the end")
    parser.add_argument("--records", type=Path, help="folder for what the demo is judged by")
    parser.add_argument("--slurm", choices=["22.05", "24.11", "26.05"],  # ./demo takes it, and gives --root
                        help="another Slurm than this machine's, with the Debian suite that has it")
    parser.add_argument("--stage", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--root", type=Path, default="/", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if not 2 <= chosen.nodes <= 64:
        parser.error("--nodes takes 2 to 64")
    if chosen.fail and chosen.fail not in node_names(chosen.nodes):
        parser.error(f"--fail takes one of {', '.join(node_names(chosen.nodes))}")
    return chosen


class Demo:
    def __init__(self, lab: Lab, long_seconds: int, failing: str | None) -> None:
        self.lab = lab
        self.long_seconds = long_seconds
        self.failing = failing
        self.rebuilt = [node for node in lab.nodes if node != failing]  # those that are to be
        self.stream = Stream(lab)
        self.began = time.monotonic()
        self.rebuild_jobs: dict[str, str] = {}  # node -> job
        self.out_of_service: dict[str, list[float]] = {}  # node -> [taken, back]

    def show_nodes(self) -> None:
        states = self.lab.node_states()
        rows = [
            [n, states[n], boots[-1]["content"], boots[-1]["stamp"], boots[-1]["boot_id"][:8]]
            for n in self.lab.nodes
            for boots in [self.lab.boots(n)]
        ]
        print_table(["NODE", "STATE", "IMAGE", "STAMP", "BOOT ID"], rows)

    def records(self) -> judge.Records:
        text = self.lab.out(*judge.SACCT, env=judge.SACCT_ENVIRONMENT)
        boots = {n: [judge.Boot(**b) for b in self.lab.boots(n)] for n in self.lab.nodes}
        return judge.Records(judge.parse_jobs(text, judge.expand_nodes), boots)

    # -- acts -----------------------------------------------------------------------------------
    def start_users(self) -> None:
        prepare_homes(self.lab)
        last = self.lab.nodes[-1]
        print(f"\nUsers: alice and bob submit jobs all the time, a fifth of them on two nodes;\n"
              f"one job computes on {last} for {self.long_seconds} s while other nodes are rebuilt.")  # fmt: skip
        self.stream.submit(LONG, "-w", last, "-c1", user="alice", wrap=f"sleep {self.long_seconds}")
        for node in self.lab.nodes[1:-1:2]:
            self.stream.submit(LONG, "-w", node, "-c1", user="bob", wrap="sleep 20")
        self.stream.start()
        wait_until(self._a_job_ended_everywhere, 90, "a user job has ended on every node", 0.5)

    def _a_job_ended_everywhere(self) -> bool:
        text = self.lab.out("squeue", "-h", "-a", "-t", "CD", "-n", f"{STREAM},{LONG}", "-o", "%N")
        seen = {n for line in text.split() for n in judge.expand_nodes(line)}
        return seen >= set(self.lab.nodes)

    def submit_rebuilds(self) -> None:
        new = self.lab.image(NEW)
        print(f"\nThe administrator wants image {NEW} everywhere ({new.id},\n"
              f"in /etc/slurm/reboot_vars/NODE.yml) and submits one job per node:")  # fmt: skip
        for node in self.lab.nodes:
            self.lab.set_desired(node, NEW)
        if self.failing:
            cloud = self.lab.true_cloud or self.lab.cloud
            cloud.next(self.failing, outcome="error", fault=FAULT)
        for node in self.lab.nodes:
            command = ["sbatch", "--reboot", "-w", node, "--wrap", PAYLOAD]
            print(f"  # sbatch --reboot -w {node} --wrap \"{PAYLOAD}\"")
            answer = self.lab.out(*command, "-o", f"/shared/verify.{node}")
            self.rebuild_jobs[node] = answer.split()[-1]
        print()

    def watch(self, seconds: float) -> bool:
        """Until every rebuild job has ended; true when all have completed."""
        screen = Screen(self.began)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            phases = node_phases(self.lab, self.rebuild_jobs, NEW)
            self._take_times(phases)
            screen.show(phases, self._counts())
            if all(p.ended for p in phases.values()):
                break
            time.sleep(0.5)
        screen.finish()
        return all(p.ended and p.good for p in phases.values())

    def _take_times(self, phases: dict[str, Phase]) -> None:
        for node, phase in phases.items():
            times = self.out_of_service.setdefault(node, [])
            if len(times) < (phase.taken + phase.ended):
                times.append(time.monotonic())

    def _counts(self) -> str:
        text = self.lab.out("squeue", "-h", "-u", "alice,bob", "-t", "R,PD", "-o", "%t")
        states = text.split()
        done = len(self.stream.submitted.jobs) - len(states)
        return (f"user jobs: {done} ended, {states.count('R')} running, "
                f"{states.count('PD')} waiting, {len(self.stream.submitted.refused)} refused")  # fmt: skip

    def end_users(self) -> None:
        """The stream goes on until it has shown what it is there for."""
        def enough() -> bool:
            records, done = self.records(), self.stream.submitted
            return (len(done.jobs) >= USER_JOBS and done.pairs >= PAIRS
                    and not judge.idle_nodes(records, self.rebuilt, NEW))  # fmt: skip

        try:
            wait_until(enough, 120, "enough user jobs", 1)
        except TimeoutError:
            pass  # the judge says what is missing
        self.stream.end()
        wait_until(self.stream.all_ended, 120, "the last user jobs end", 0.3)

    # -- the end --------------------------------------------------------------------------------
    def report(self) -> list[str]:
        """Prints the tables; returns what went wrong."""
        lab = self.lab
        wait_until(lambda: not [j for j in self.records().user_jobs() if not j.end], 20,
                   "slurmdbd has every job", 0.5)  # fmt: skip
        records = self.records()
        print()
        rows = []
        for node in lab.nodes:
            boots = records.boots[node]
            job = next(j for j in records.jobs if j.id == self.rebuild_jobs[node])
            times = self.out_of_service.get(node, [])
            taken = f"{times[1] - times[0]:.0f}" if len(times) == 2 else "-"
            rows.append([node, boots[0].content, boots[-1].content, boots[0].boot_id[:8],
                         boots[-1].boot_id[:8], self.rebuild_jobs[node], job.state, taken])  # fmt: skip
        print_table(["NODE", "BEFORE", "AFTER", "BOOT ID", "BOOT ID", "JOB", "STATE", "SECONDS"], rows)
        self._print_user_jobs(records)
        refused = [f"refused: {r}" for r in self.stream.submitted.refused]
        leaked = [f"a secret of the cloud in {line}" for line in leaks.find(lab)]
        return (refused + leaked + judge.losses(records) + judge.straddlers(records, NEW)
                + judge.not_rebuilt(records, self.rebuilt, OLD, NEW) + self._wrongly_kept())  # fmt: skip

    def _wrongly_kept(self) -> list[str]:
        """The node that the cloud could not rebuild must be out of service, and say why."""
        if not self.failing:
            return []
        shown = self.lab.node(self.failing)
        out = {"FAIL", "DOWN"} <= set(shown["State"].replace("*", "").split("+"))
        print(f"\n{self.failing} is {shown['State']}: {shown.get('Reason', 'no reason given')}")
        good = out and FAULT.split(".")[0] in shown.get("Reason", "")
        return [] if good else [f"{self.failing} is not out of service with the cloud's words: {shown}"]

    def _print_user_jobs(self, records: judge.Records) -> None:
        query = "sacct -aXD -u alice,bob -o jobid,user,nnodes,nodelist,state,elapsed"
        print(f"\nThe user jobs, as slurmdbd has them ({query}):")
        jobs = records.user_jobs()
        counts: dict[tuple[str, int], int] = {}
        for job in jobs:
            key = (job.state, len(job.nodes))
            counts[key] = counts.get(key, 0) + 1
        rows = [[state, str(n), str(count)] for (state, n), count in sorted(counts.items())]
        print_table(["STATE", "NODES", "JOBS"], rows)
        for job in jobs:
            during = judge.rebuilds_during(job, records, NEW)
            if job.name == LONG and job.completed and len(during) >= min(3, len(self.lab.nodes) - 1):
                print(f"Job {job.id} ran undisturbed on {','.join(job.nodes)} while "
                      f"{', '.join(during)} were rebuilt.")  # fmt: skip

    def keep_records(self, folder: Path) -> None:
        """For a judge outside: raw answers and the nodes' own files."""
        folder.mkdir(parents=True, exist_ok=True)
        text = self.lab.out(*judge.SACCT, env=judge.SACCT_ENVIRONMENT)
        (folder / "sacct.txt").write_text(text + "\n")
        boots = {n: self.lab.boots(n) for n in self.lab.nodes}
        (folder / "boots.json").write_text(json.dumps(boots, indent=1))
        (folder / "refused.txt").write_text("\n".join(self.stream.submitted.refused))
        self.lab.keep_logs(folder / "logs")


def stay(lab: Lab) -> None:
    print(f"\nThe cluster stays up until you end this command with Ctrl-C. In another terminal:\n"
          f"  {LAB_COMMAND} enter                   a root shell on the controller (sinfo, scohort ...)\n"
          f"  {LAB_COMMAND} enter --user alice      alice's shell (sbatch, srun ...)\n"
          f"  {LAB_COMMAND} enter --machine n1      a root shell on a node", flush=True)  # fmt: skip
    while True:
        time.sleep(3600)


def roll(lab: Lab, chosen: argparse.Namespace, long_seconds: int) -> int:
    demo = Demo(lab, long_seconds, chosen.fail)
    demo.show_nodes()
    demo.start_users()
    demo.submit_rebuilds()
    demo.watch(240 + 10 * chosen.nodes)
    demo.end_users()
    problems = demo.report()
    if chosen.records:
        demo.keep_records(chosen.records)
    if problems:
        kept = lab.keep_logs(Path(__file__).resolve().parents[2] / "build" / "demo-logs")
        print("\nNOT as it should be:", *problems, f"The logs are in {kept}.", sep="\n  ")
    else:
        count = f"All {len(lab.nodes)}" if not chosen.fail else f"The other {len(demo.rebuilt)}"
        print(f"\n{count} nodes run {NEW}; no user job was refused, lost or requeued.")
    if chosen.keep:
        stay(lab)
    return 1 if problems else 0


def main() -> int:
    chosen = options()
    here = os.path.abspath(__file__)
    namespace.reexecute([sys.executable, here, *sys.argv[1:]], "demo")
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    began = time.monotonic()
    with Lab(nodes=chosen.nodes, root=chosen.root, stage=chosen.stage, advance_every=10,
             openstack=chosen.cloud == "openstack", cloud={"rebuild_delay": 4},
             conf={"SlurmctldDebug": "info", "SlurmdDebug": "info"}) as lab:
        took = time.monotonic() - began
        usual = 15 if chosen.cloud == "lab" else 45
        print(f"slurmctld, slurmdbd, MariaDB, {CLOUDS[chosen.cloud]} and {chosen.nodes} nodes: up after "
              f"{took:.1f} s\n")  # fmt: skip
        return roll(lab, chosen, LONG_SECONDS * (1 if took < usual else 2))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
