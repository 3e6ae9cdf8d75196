# SPDX-License-Identifier: GPL-2.0-or-later
"""The true services: keystone, glance, placement and nova of the distribution, in a folder.

Runs in the lab's namespaces. What nova does to a server is real but for the hypervisor: its driver
(openstack_driver.py) powers the lab's machines. The schemas and accounts are made once and then
copied from a cache, as the lab's accounting database is.
"""
from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable

import openstack_conf as conf
import openstack_seed as seed
from openstack_conf import Place

HERE = Path(__file__).resolve().parent
PACKAGES = ("python3-keystone", "python3-glance", "python3-placement", "python3-nova", "uwsgi-core",
            "uwsgi-plugin-python3", "mariadb-server-core", "mariadb-client-core")  # fmt: skip
PYTHON = "/usr/bin/python3"
SAVED = ("db", "etc/keystone/fernet", "etc/keystone/credential", "clouds.json", "passwords.json")
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "PYTHONWARNINGS": "ignore",
               "PYTHONDONTWRITEBYTECODE": "1"}  # fmt: skip
ENVIRONMENT |= {key: value for key, value in os.environ.items() if key.startswith("COHORT_LAB_")}


def missing_packages() -> list[str]:
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *PACKAGES],
                          capture_output=True, text=True, check=False)  # fmt: skip
    there = {line.split()[0] for line in done.stdout.splitlines() if line.endswith(" installed")}
    return [package for package in PACKAGES if package not in there]


def _wait(what: str, condition: Callable[[], bool], seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {seconds:g} s: {what}")
        time.sleep(0.1)


def _serves(url: str) -> bool:
    try:
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=10).close()
    except urllib.error.HTTPError:
        return True  # 300 Multiple Choices, 401: it speaks
    except OSError:
        return False
    return True


def _program(module: str, *words: object) -> list[str]:
    """A console script of a package that ships only its module."""
    run = f"import sys; sys.argv[0] = 'lab'; from {module} import main; sys.exit(main())"
    return [PYTHON, "-c", run, *map(str, words)]


class Services:
    """The processes. FOLDER holds all their data and logs."""

    def __init__(self, folder: Path, address: str) -> None:
        self.place = Place(folder, address)
        self._running: dict[str, subprocess.Popen] = {}

    # -- processes ----------------------------------------------------------------------------
    def _spawn(self, name: str, command: list[str], **environment: str) -> None:
        with open(self.place.folder / "log" / f"{name}.log", "ab") as log:
            self._running[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
                env=ENVIRONMENT | environment, start_new_session=True)  # fmt: skip

    def _end(self, *names: str) -> None:
        ending = [self._running.pop(name) for name in names if name in self._running]
        for process in ending:
            process.terminate()
        for process in ending:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def end(self, *names: str) -> None:
        """Without these services, until begin()."""
        self._end(*names)

    def begin(self, name: str, **how: bool) -> None:
        """keystone, glance or nova once more, after end(). compute=False: a nova whose host is dead."""
        getattr(self, f"_start_{name}")(**how)
        _wait(f"{name} serves", lambda: _serves(self.place.url(name) + "/"))

    def freeze(self, name: str, frozen: bool = True) -> None:
        """All processes of a service stand still, or go on."""
        os.killpg(self._running[name].pid, signal.SIGSTOP if frozen else signal.SIGCONT)

    def stop(self) -> None:
        """nova's workers go before what they speak to."""
        self._end("nova")
        self._end(*[name for name in self._running if name != "mariadb"])
        self._end("mariadb")

    def _run(self, name: str, *commands: list[str], **environment: str) -> None:
        with open(self.place.folder / "log" / f"{name}.log", "ab") as log:
            for command in commands:
                done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
                                      env=ENVIRONMENT | environment, timeout=300, check=False)  # fmt: skip
                if done.returncode:
                    end = (self.place.folder / "log" / f"{name}.log").read_text()[-3000:]
                    raise RuntimeError(f"{name}: exit {done.returncode}: {command}\n{end}")

    # -- the database -------------------------------------------------------------------------
    def sql(self, text: str) -> str:
        done = subprocess.run(["mariadb", "--no-defaults", "-S", str(self.place.socket), "-u", "root", "-NB"],
                              input=text, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout

    def _start_database(self) -> None:
        data = self.place.folder / "db"
        if not data.exists():
            self._run("database", ["mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={data}",
                                   "--auth-root-authentication-method=normal", "--skip-test-db",
                                   "--innodb-log-file-size=16M"])
        self._spawn("mariadb", [
            "mariadbd", "--no-defaults", "--user=root", f"--datadir={data}", f"--socket={self.place.socket}",
            "--skip-networking", f"--pid-file={self.place.folder}/db.pid", "--max-connections=300",
            "--innodb-flush-log-at-trx-commit=0", "--innodb-use-native-aio=0", "--innodb-log-file-size=16M",
            "--innodb-buffer-pool-size=128M"])

        def answers() -> bool:
            try:
                return bool(self.sql("select 1"))
            except RuntimeError:
                return False

        _wait("MariaDB answers", answers)

    def _make_schemas(self) -> None:
        self.sql("".join(f"CREATE DATABASE {name} CHARACTER SET utf8mb4;" for name in conf.DATABASES))
        place = self.place
        keystone = ["keystone-manage", "--config-file", str(place.etc("keystone/keystone.conf"))]
        nova = _program("nova.cmd.manage", "--config-file", place.etc("nova.conf"))
        for name in ("fernet", "credential"):
            place.etc(f"keystone/{name}").mkdir(0o700)
        as_root = ["--keystone-user", "root", "--keystone-group", "root"]
        schemas = [
            ("schema-keystone", [
                [*keystone, "db_sync"], [*keystone, "fernet_setup", *as_root],
                [*keystone, "credential_setup", *as_root],
                [*keystone, "bootstrap", "--bootstrap-password", conf.ADMIN, "--bootstrap-region-id", conf.REGION,
                 *[f"--bootstrap-{i}-url={place.url('keystone')}/v3" for i in ("public", "internal", "admin")]]]),
            ("schema-glance", [
                _program("glance.cmd.manage", "--config-file", place.etc("glance.conf"), "db", "sync"),
                ["placement-manage", "--config-file", str(place.etc("placement/placement.conf")), "db", "sync"]]),
            ("schema-nova", [
                [*nova, "api_db", "sync"],
                [*nova, "cell_v2", "map_cell0", "--database_connection", place.database("nova_cell0")],
                [*nova, "cell_v2", "create_cell", "--name", "cell1"], [*nova, "db", "sync"]]),
        ]  # fmt: skip
        with ThreadPoolExecutor(len(schemas)) as pool:
            list(pool.map(lambda item: self._run(item[0], *item[1]), schemas))

    # -- services -----------------------------------------------------------------------------
    def _start_uwsgi(self, name: str, script: str, processes: int, **environment: str) -> None:
        # Its connections do not stay open whatever the answer says: it must say so.
        self._spawn(name, [
            "uwsgi", "--plugin", "python3", "--master", "--die-on-term", "--enable-threads", "--need-app",
            "--lazy-apps", "--buffer-size", "65535", "--threads", "4", "--post-buffering", "65536",
            "--log-format", "%(method) %(uri) %(status) %(uagent)", "--add-header", "Connection: close", "--processes", str(processes),
            "--http-socket", self.place.url(name).removeprefix("http://"), "--wsgi-file", script],
            **environment)  # fmt: skip

    def _start_keystone(self) -> None:
        self._start_uwsgi("keystone", "/usr/bin/keystone-wsgi-public", 2,
                          OS_KEYSTONE_CONFIG_DIR=str(self.place.etc("keystone")))
        _wait("keystone serves", lambda: _serves(self.place.url("keystone") + "/v3"))

    def _start_glance(self) -> None:
        self._spawn("glance", _program("glance.cmd.api", "--config-file", self.place.etc("glance.conf")))

    def _start_nova(self, compute: bool = True) -> None:
        self._spawn("nova", [PYTHON, str(HERE / "openstack_nova.py"), "--config-file",
                             str(self.place.etc("nova.conf"))],
                    LAB_DRIVER=str(self.place.folder / "driver"), LAB_COMPUTE="yes" if compute else "")  # fmt: skip

    def _start_rest(self) -> None:
        place = self.place
        self._start_uwsgi("placement", "/usr/bin/placement-api", 1,
                          OS_PLACEMENT_CONFIG_DIR=str(place.etc("placement")))
        self._spawn("neutron", [PYTHON, str(HERE / "openstack_neutron.py"), place.address,
                                str(conf.PORTS["neutron"])])
        self._start_glance()
        self._start_nova()
        for name in ("placement", "neutron", "glance", "nova"):
            _wait(f"{name} serves", lambda: _serves(place.url(name) + "/"))

    def start(self, cache: Path | None = None) -> None:
        conf.write_all(self.place)
        saved = cache / f"openstack-{self._key()}" if cache else None
        if saved and saved.is_dir():
            _copy(saved, self.place.folder)
            self._start_database()
        else:
            self._start_database()
            self._make_schemas()
            self._start_keystone()
            seed.seed_keystone(self.place)
            if saved:
                self._end("keystone")
                self._end("mariadb")
                partial = saved.with_suffix(f".{os.getpid()}")
                _copy(self.place.folder, partial)
                shutil.rmtree(saved, ignore_errors=True)
                partial.rename(saved)
                self._start_database()
        if "keystone" not in self._running:
            self._start_keystone()
        self._start_rest()

    def _key(self) -> str:
        """Changes with the packages, the place and our own ways of making the database."""
        versions = subprocess.run(["dpkg-query", "-W", *PACKAGES], capture_output=True, text=True,
                                  check=False).stdout  # fmt: skip
        ours = "".join((HERE / f"openstack_{part}.py").read_text() for part in ("services", "conf", "seed"))
        return hashlib.sha256(repr((versions, str(self.place), ours)).encode()).hexdigest()[:16]

    def memory_mb(self) -> dict[str, int]:
        """Proportional set size per service, its children included."""
        sizes = {}
        for name, process in self._running.items():
            session = subprocess.run(["ps", "-o", "pid=", "-s", str(process.pid)], capture_output=True,
                                     text=True, check=False).stdout.split()  # fmt: skip
            sizes[name] = sum(_pss_kb(pid) for pid in session) // 1024
        return sizes


def _pss_kb(pid: str) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def _copy(source: Path, target: Path) -> None:
    for name in SAVED:
        if (source / name).is_dir():
            shutil.copytree(source / name, target / name, dirs_exist_ok=True)
        else:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, target / name)
