#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What our cloud client costs beside openstacksdk: the same rebuilds on the lab cloud, in turns.

bench_cloud.py --cloudcall PROGRAM [--servers N] [--rounds N] [--threads N]
Prints for one rebuild and for N at once the wall time, the processor time and the peak RSS (medians).
No target: openstacksdk is what a site's own script would be written with.
"""
from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lab"))
sys.dont_write_bytecode = True

from cloud_client import LabCloud  # noqa: E402

# The same as cloudcall's `batch`: the POST, then a question every 200 ms until the server is done.
SDK = """
import sys, time, warnings
from concurrent.futures import ThreadPoolExecutor
warnings.simplefilter("ignore")
import openstack
clouds, image, threads, *servers = sys.argv[1:]
cloud = openstack.connect(cloud="lab", load_yaml_config=True)
def rebuild(server):
    cloud.compute.rebuild_server(server, image=image)
    while True:
        now = cloud.compute.get_server(server)
        if now.status == "ACTIVE" and not now.task_state:
            return
        time.sleep(0.2)
with ThreadPoolExecutor(int(threads)) as pool:
    list(pool.map(rebuild, servers))
"""


def uuid_of(kind: str, number: int) -> str:
    return f"{kind * 8}-0000-4000-8000-{number:012d}"


def measure(command: list[str], environment: dict[str, str]) -> tuple[float, float, float]:
    """Seconds on the clock, seconds of processor, peak RSS in MiB."""
    begin = time.monotonic()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command[0]}: exit {process.returncode}: {process.stderr.read().decode()[-2000:]}")
    return time.monotonic() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cloudcall", default="tests/cloud/cloudcall")
    parser.add_argument("--servers", type=int, default=60)
    parser.add_argument("--threads", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


def main() -> int:
    chosen = options()
    python = "/usr/bin/python3"
    if subprocess.run([python, "-c", "import openstack"], capture_output=True, check=False).returncode:
        print("SKIP: python3-openstacksdk is not installed: nothing to compare with")
        return 0
    servers = [{"id": uuid_of("b", n), "name": f"n{n}", "image": uuid_of("a", 1)} for n in range(chosen.servers)]
    images = [{"id": uuid_of("a", n), "name": f"v{n}"} for n in (1, 2)]
    ids = [server["id"] for server in servers]
    with LabCloud(servers, images) as cloud:
        cloud.set(rebuild_delay=0.4, latency=0.02)
        base = {"PATH": os.environ["PATH"], "OS_CLIENT_CONFIG_FILE": str(cloud.clouds_yaml), "HOME": str(Path(cloud.clouds_yaml).parent)}
        ours = [chosen.cloudcall, "--clouds", str(cloud.clouds_yaml), "batch", images[1]["id"], str(chosen.threads)]
        sdk = [python, "-c", SDK, str(cloud.clouds_yaml), images[1]["id"], str(chosen.threads)]
        print(f"{'rebuilds':>8}  {'with':<12} {'seconds':>8} {'processor':>10} {'peak RSS':>10}  logins requests")
        for some in (ids[:1], ids):
            seen: dict[str, list] = {"cohort": [], "openstacksdk": []}
            for _ in range(chosen.rounds):  # in turns, so that both meet the same machine
                for name, command in (("cohort", ours), ("openstacksdk", sdk)):
                    before = cloud.counters()
                    figures = measure([*command, *some], base)
                    after = cloud.counters()
                    counted = [after.get(key, 0) - before.get(key, 0) for key in ("logins", "requests")]
                    seen[name].append((*figures, *counted))
            for name, rows in seen.items():
                wall, processor, rss, logins, requests = (statistics.median(column) for column in zip(*rows))
                print(f"{len(some):>8}  {name:<12} {wall:>8.2f} {processor:>8.2f} s {rss:>6.1f} MiB"
                      f"  {logins:>6.0f} {requests:>8.0f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
