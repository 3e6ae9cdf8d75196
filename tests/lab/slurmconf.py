# SPDX-License-Identifier: GPL-2.0-or-later
"""slurm.conf and its companions for one lab: plain values in, files out."""
from __future__ import annotations

from pathlib import Path
from typing import Mapping

CONTROLLER_ADDRESS = "10.77.0.1"
DEFAULTS: dict[str, object] = {
    "ClusterName": "lab",
    "SlurmctldHost": f"ctl({CONTROLLER_ADDRESS})",
    "SlurmUser": "slurm",
    "AuthType": "auth/munge",
    "StateSaveLocation": "/var/lib/slurm/slurmctld",
    "SlurmdSpoolDir": "/var/spool/slurmd",
    "SlurmctldPidFile": "/run/slurm/slurmctld.pid",
    "SlurmdPidFile": "/run/slurm/slurmd.pid",
    "SlurmctldLogFile": "/var/log/slurm/slurmctld.log",
    "SlurmdLogFile": "/var/log/slurm/slurmd.%n.log",
    "SlurmctldDebug": "debug",
    "SlurmdDebug": "debug",
    "LogTimeFormat": "iso8601_ms",
    "MpiDefault": "none",
    "SwitchType": "switch/none",
    "ProctrackType": "proctrack/linuxproc",
    "TaskPlugin": "task/none",
    "JobAcctGatherType": "jobacct_gather/none",
    "SelectType": "select/cons_tres",
    "SelectTypeParameters": "CR_Core",
    "SchedulerType": "sched/backfill",
    "SchedulerParameters": "bf_interval=2,sched_min_interval=200000",
    "SlurmdParameters": "config_overrides",
    "ReturnToService": 2,
    "SlurmctldTimeout": 30,
    "SlurmdTimeout": 300,
    "InactiveLimit": 0,
    "MinJobAge": 300,
    "KillWait": 5,
    "Waittime": 0,
    "MessageTimeout": 10,
    "BatchStartTimeout": 10,
    "ResumeTimeout": 60,
    "PrologFlags": "Alloc",
    "SlurmctldParameters": "reboot_from_controller",
    "PriorityType": "priority/multifactor",
    "PriorityWeightQOS": 1000000,
    "PriorityWeightAge": 1000,
    "PriorityWeightPartition": 1000,
    "AccountingStorageType": "accounting_storage/slurmdbd",
    "AccountingStorageHost": "localhost",
    "AccountingStorageEnforce": "associations,limits,qos",
    "JobCompType": "jobcomp/none",
}
NODE = "CPUs=4 RealMemory=1000 State=UNKNOWN"
DYNAMIC_OPTIONS = "-Z\n--conf\nCPUs=4 RealMemory=1000\n"
CLOUD_NODE = "CPUs=4 RealMemory=1000 State=CLOUD"
PARTITION = "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP"


def slurm_conf(
    nodes: list[str],
    overrides: Mapping[str, object] | None = None,
    partitions: list[str] | None = None,
    node_options: str | Mapping[str, str] = NODE,
    cloud_nodes: list[str] | None = None,
) -> str:
    """OVERRIDES replace or add keys; a value of None leaves the key out, a list repeats it. NODE_OPTIONS: for all
    nodes, or by node."""
    values = {**DEFAULTS, **(overrides or {})}
    lines: list[str] = []
    for key, value in values.items():
        if value is None:
            continue
        lines += [f"{key}={v}" for v in (value if isinstance(value, list) else [value])]
    alike: dict[str, list[str]] = {}
    for node in nodes:
        alike.setdefault(node_options if isinstance(node_options, str) else node_options[node], []).append(node)
    lines += [f"NodeName={','.join(names)} {options}" for options, names in alike.items()]
    lines += [f"NodeName={','.join(cloud_nodes)} {CLOUD_NODE}"] if cloud_nodes else []
    lines += partitions if partitions is not None else [PARTITION]
    return "\n".join(lines) + "\n"


def cgroup_conf(version: tuple[int, int]) -> str:
    if version < (23, 0):
        return "CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\nCgroupAutomount=no\n"
    return "CgroupPlugin=disabled\n"


SLURMDBD_CONF = """AuthType=auth/munge
DbdHost=localhost
SlurmUser=slurm
LogFile=/var/log/slurm/slurmdbd.log
PidFile=/run/slurm/slurmdbd.pid
DebugLevel=info
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StorageLoc=slurm_acct_db
"""


def hosts(nodes: list[str]) -> str:
    lines = ["127.0.0.1 localhost", f"{CONTROLLER_ADDRESS} ctl"]
    return "\n".join(lines + [f"{address(i)} {n}" for i, n in enumerate(nodes)]) + "\n"


def address(index: int) -> str:
    return f"10.77.{1 + index // 200}.{1 + index % 200}"


def slurm_version(version_text: str) -> tuple[int, int]:
    """From `slurmctld -V`: "slurm-wlm 22.05.8" -> (22, 5)."""
    major, minor = version_text.split()[-1].split(".")[:2]
    return int(major), int(minor)


def write(folder: Path, name: str, text: str, mode: int = 0o644) -> Path:
    path = folder / name
    path.write_text(text)
    path.chmod(mode)
    return path
