# SPDX-License-Identifier: GPL-2.0-or-later
"""MariaDB and the accounts in it, made once per Slurm version and then copied from a cache."""
from __future__ import annotations

import contextlib
import fcntl
import hashlib
import shutil
import subprocess
from pathlib import Path
from typing import Iterator

from machines import Machine, wait_until
from namespace import LAB

DATA = LAB / "mysql"
SERVER = ["mariadbd", "--no-defaults", "--user=mysql", "--datadir=/var/lib/mysql",
          "--socket=/run/mysqld/mysqld.sock", "--pid-file=/run/mysqld/mysqld.pid",
          "--skip-networking", "--skip-name-resolve", "--innodb-log-file-size=16M",
          "--innodb-buffer-pool-size=64M", "--innodb-lock-wait-timeout=900",
          "--innodb-flush-log-at-trx-commit=0", "--innodb-use-native-aio=0"]  # fmt: skip
GRANTS = """
CREATE USER slurm@localhost IDENTIFIED VIA unix_socket;
GRANT ALL ON slurm_acct_db.* TO slurm@localhost;
"""
# AdminLevel of root, and who may charge what; `rebuild` is for rebuild jobs.
ACCOUNTS = [
    "add cluster lab",
    "add account research Description=research Organization=lab",
    "add account teaching Description=teaching Organization=lab",
    "add qos rebuild Priority=1000",
    "modify user root set AdminLevel=Administrator",
    "add user root Account=research QOS=normal,rebuild",
    "add user alice,bob,dave,erin,frank Account=research",
    "add user carol,grace,heidi Account=teaching",
]


def cache_key(controller: Machine) -> str:
    versions = controller.run(["sh", "-c", "mariadbd --version; slurmdbd -V"]).stdout
    return hashlib.sha256(repr((versions, SERVER, GRANTS, ACCOUNTS)).encode()).hexdigest()[:16]


@contextlib.contextmanager
def template(cache: Path, key: str) -> Iterator[Path]:
    """The cached data folder; locked, so that of two labs only one makes it."""
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield cache / f"mysql-{key}"


def restore(saved: Path) -> bool:
    """Puts the cached data in place; False when there is none yet."""
    if not saved.is_dir():
        return False
    shutil.copytree(saved, DATA, dirs_exist_ok=True)
    return True


def own(controller: Machine) -> None:
    controller.run(["chown", "-R", "mysql:mysql", "/var/lib/mysql"])


def save(saved: Path) -> None:
    partial = saved.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(DATA, partial)
    partial.rename(saved)


def install(controller: Machine) -> None:
    controller.run(
        ["mariadb-install-db", "--no-defaults", "--user=mysql", "--datadir=/var/lib/mysql",
         "--skip-test-db", "--innodb-log-file-size=16M"], timeout=120,
    )  # fmt: skip


def start(controller: Machine) -> subprocess.Popen:
    server = controller.spawn(SERVER, "mariadb.log")
    wait_until(lambda: answers(controller), 60, "MariaDB answers", 0.05)
    return server


def answers(controller: Machine) -> bool:
    return controller.run(["mariadb", "--no-defaults", "-e", "select 1"], check=False).returncode == 0


def query(controller: Machine, sql: str) -> str:
    return controller.run(["mariadb", "--no-defaults", "-NB"], stdin=sql).stdout


def stop(controller: Machine, server: subprocess.Popen) -> None:
    """Its files are complete only when the process has ended: SHUTDOWN answers before."""
    controller.run(["mariadb", "--no-defaults", "-e", "shutdown"], timeout=60)
    server.wait(60)


def add_accounts(controller: Machine) -> None:
    for line in ACCOUNTS:
        controller.run(["sacctmgr", "-i", *line.split()])
