# SPDX-License-Identifier: GPL-2.0-or-later
"""A Slurm cluster of real daemons on one machine; every part of it can be ended, broken and read.

Runs inside the lab's namespaces only (namespace.py). One lab at a time in a set of namespaces; any
number of sets side by side.
"""
from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Mapping, Sequence

import cloudlink
import images as imagelist
import network
import power
import services
import slurmconf
from machines import BACKUP, CONTROLLER, HERE, LOGS, MACHINES, Machine, node_names, wait_until
from namespace import LAB, inside
from queries import Queries

USERS = {"alice": 5001, "bob": 5002, "carol": 5003, "dave": 5004, "erin": 5005, "frank": 5006, "grace": 5007,
         "heidi": 5008}  # fmt: skip
SOURCE = HERE.parent.parent
DEFAULT_CACHE = SOURCE / "build" / "lab-cache"
SITE_SCRIPTS = ("node-boot", "slurmd-unit", "controller-boot")


class Lab(Queries):
    """nodes: how many, n1..nN. root: root file system that all machines run (its Slurm is used).
    stage: what `make install DESTDIR=` left, laid over root; /: root has the packages; None: plain Slurm. node_root,
    node_stage: the nodes' own, of another Slurm than the controllers' (default: the same). conf: slurm.conf
    keys over the lab's (None removes one). partitions: PartitionName= lines. cohort_conf: keys of
    cohort.conf. images: name -> whether it carries a stamp (default v1, v2, v3, all with). image:
    the one that all nodes begin with. node_options: of all NodeName= lines, or by node. boot_delay: seconds of firmware and kernel at each boot. cloud:
    knobs of the lab cloud (cloud_state.py; None: no cloud). openstack: the true services instead,
    whose only knob is rebuild_delay. more_servers: names of servers that are no machines. advance_every: seconds between two steps
    of `scohort advance`, as its timer makes them (0: none), on every controller. dynamic: so many of the nodes,
    the last ones, register by themselves (slurmd -Z) and stand on no NodeName= line. cloud_nodes: those that are
    State=CLOUD: off, without a server and a desired file. configless: nodes without an
    /etc/slurm; /shared/slurmd-options is to print --conf-server ctl for them. backup: a second controller, ctl2,
    with the state of both on /shared. cache: where the prepared database is kept."""

    def __init__(
        self,
        nodes: int = 2,
        root: Path | str = "/",
        stage: Path | str | None = None,
        node_root: Path | str | None = None,
        node_stage: Path | str | None = None,
        conf: Mapping[str, object] | None = None,
        partitions: list[str] | None = None,
        node_options: str | Mapping[str, str] = slurmconf.NODE,
        cohort_conf: Mapping[str, object] | None = None,
        images: Mapping[str, bool] | None = None,
        image: str = "v1",
        boot_delay: float = 0,
        cloud: Mapping[str, object] | None = None,
        openstack: bool = False,
        more_servers: list[str] | None = None,
        advance_every: float = 0,
        dynamic: int = 0,
        cloud_nodes: Sequence[str] = (),
        configless: Sequence[str] = (),
        backup: bool = False,
        cache: Path | str | None = None,
    ) -> None:
        if not inside():
            raise RuntimeError("a Lab runs in its own namespaces: see namespace.reexecute()")
        self.nodes = node_names(nodes)
        self.root = Path(root)
        packages = str(stage) == "/"
        self.stage = Path(stage) if stage and not packages else None
        self.installed = self.root if packages else LAB / "stage"  # where our programs are, if anywhere
        self.node_root = Path(node_root) if node_root else self.root
        self.node_stage = Path(node_stage) if node_stage else None
        self.conf = dict(conf or {})
        self.partitions = partitions
        self.node_options = node_options
        self.cohort_conf = dict(cohort_conf or {})
        self.images = dict(images or {"v1": True, "v2": True, "v3": True})
        self.first_image = image
        self.boot_delay = boot_delay
        self.cloud_knobs = cloud
        self.cloud: cloudlink.Control | None = None  # plans and reads what the cloud does
        self.openstack = openstack
        self.more_servers = more_servers or []
        self.true_cloud: cloudlink.TrueCloud | None = None
        self.server_ids = {n: cloudlink.server_id(n) for n in [*self.nodes, *self.more_servers]}
        self.advance_every = advance_every
        self.dynamic = self.nodes[nodes - dynamic :] if dynamic else []
        self.cloud_nodes = list(cloud_nodes)
        self.configless = list(configless)
        self.cache = Path(cache) if cache else DEFAULT_CACHE
        self.controller = Machine(CONTROLLER)
        self.backup = Machine(BACKUP) if backup else None
        self.controllers = [self.controller] + ([self.backup] if self.backup else [])
        if backup:
            address = slurmconf.address(len(self.nodes))
            self.conf = {"SlurmctldHost": [slurmconf.DEFAULTS["SlurmctldHost"], f"{BACKUP}({address})"],
                         "StateSaveLocation": "/shared/slurmctld", "SlurmctldTimeout": 10,
                         "AccountingStorageHost": CONTROLLER, **self.conf}  # fmt: skip
        self.machines = {name: Machine(name) for name in self.nodes}
        self._children: list[subprocess.Popen] = []

    # -- life -----------------------------------------------------------------------------------
    def __enter__(self) -> "Lab":
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_) -> None:
        self.stop()

    def start(self) -> "Lab":
        if MACHINES.exists():
            raise RuntimeError("another lab runs in these namespaces: stop it first")
        self._make_folders()
        self._make_site()
        for name, stamp in self.images.items():
            imagelist.create(name, self.node_root, stamp)
        network.up(self._networked())
        self._start_syslog()
        self._make_machines()
        for controller in self.controllers:
            controller.power_on()
            wait_until(controller.is_on, 10, "the controller is on")
            self._wait_booted(controller)
        self.write_slurm_conf()
        self._start_cloud()
        services.start_munged(self.controller)
        services.start_database(self.controller, self.cache)
        services.start_slurmctld(self.controller)
        if self.backup:
            services.start_slurmctld(self.backup, wait=False)
        static = [node for node in self.nodes if node not in self.cloud_nodes]
        for machine in (self.machines[node] for node in static):
            machine.wipe(self.image(self.first_image).id)
            machine.power_on()
        self.wait_nodes("idle", static, seconds=60)
        self._start_timer()
        return self

    def stop(self) -> None:
        """Ends everything that the lab started; its files are gone afterwards."""
        if self.true_cloud:
            self.true_cloud.stop()
        for child in self._children:
            child.kill()
            child.wait()
        for machine in [*self.machines.values(), *self.controllers]:
            if machine.folder.exists():
                machine.power_off()
        network.down(self._networked())
        shutil.rmtree(LAB, ignore_errors=True)

    def keep_logs(self, folder: Path) -> Path:
        """Copies logs and configuration to FOLDER, for people."""
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(LOGS, folder)
        shutil.copytree(LAB / "etc-slurm", folder / "etc-slurm")
        shutil.copytree(LAB / "shared" / "boots", folder / "boots")
        return folder

    def _networked(self) -> list[str]:
        """Machines with a network of their own; the controller has the lab's."""
        return [*self.nodes, *(machine.name for machine in self.controllers[1:])]

    # -- parts of start() -------------------------------------------------------------------------
    def _make_folders(self) -> None:
        for name in ("log", "machines", "images", "devlog", "etc-slurm", "no-etc-slurm", "mysql", "munge",
                     "site", "openstack", "shared/boots", "shared/home"):  # fmt: skip
            (LAB / name).mkdir(parents=True, exist_ok=True)
        LOGS.chmod(0o777)
        (LAB / "shared").chmod(0o1777)
        for user, uid in USERS.items():
            home = LAB / "shared" / "home" / user
            home.mkdir()
            shutil.chown(home, uid, uid)

    def _make_site(self) -> None:
        """What an administrator put on every machine: accounts, host names, boot scripts."""
        etc = LAB / "site" / "etc"
        etc.mkdir(parents=True)
        passwd = (self.root / "etc/passwd").read_text()
        group = (self.root / "etc/group").read_text()
        people = dict(USERS)
        if "\nmysql:" not in passwd:
            people["mysql"] = 5099
        for user, uid in people.items():
            # Not "x": su of newer PAM wants a line in shadow then, and Slurm runs su for --export=NONE.
            passwd += f"{user}:*:{uid}:{uid}::/shared/home/{user}:/bin/bash\n"
            group += f"{user}:x:{uid}:\n"
        slurmconf.write(etc, "passwd", passwd)
        slurmconf.write(etc, "group", group)
        slurmconf.write(etc, "hosts", slurmconf.hosts(self._networked()))
        slurmconf.write(etc, "nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n")
        slurmconf.write(etc, "lab-content", "none\n")
        scripts = LAB / "site" / "usr" / "lib" / "lab"
        scripts.mkdir(parents=True)
        for script in SITE_SCRIPTS:
            shutil.copy(HERE / script, scripts)
        host = LAB / "site" / services.HOST_LIBRARIES.lstrip("/")
        if self.root != Path("/"):
            host.mkdir()
            for library in Path("/usr/lib").glob("*-linux-gnu/libmariadb.so.3"):
                shutil.copy(library, host)
        munge = etc / "munge"
        munge.mkdir()
        slurmconf.write(munge, "munge.key", "0123456789abcdef" * 8, 0o400)
        if self.stage:  # in the lab's tmpfs: overlayfs refuses a layer that lies within another
            shutil.copytree(self.stage, LAB / "stage", symlinks=True)
        if self.node_stage:
            shutil.copytree(self.node_stage, LAB / "node-stage", symlinks=True)

    def _start_syslog(self) -> None:
        collector = subprocess.Popen(
            [sys.executable, HERE / "syslogd.py", LAB / "devlog", LOGS, CONTROLLER, *self._networked()],
            stdout=subprocess.PIPE,
        )
        self._children.append(collector)
        assert collector.stdout and collector.stdout.read(1) == b"."

    def _start_cloud(self) -> None:
        if self.cloud_knobs is None:
            return
        first = self.image(self.first_image)
        nodes = [node for node in self.nodes if node not in self.cloud_nodes]
        if self.openstack:
            self.true_cloud = cloudlink.start_true(
                nodes, self.more_servers, imagelist.all_images(), first, self.cloud_knobs, self.cache
            )
            self.server_ids = self.true_cloud.servers
        else:
            process, self.cloud = cloudlink.start(
                nodes, self.more_servers, imagelist.all_images(), first, self.cloud_knobs
            )
            self._children.append(process)
        self.controller.run(["sh", "-c", "chown slurm:slurm /etc/openstack/*.yaml"])
        for node in nodes:
            self.set_desired(node, self.first_image)

    def _start_timer(self) -> None:
        """cohort-advance.timer on the controller."""
        if self.advance_every and self.program("/usr/sbin/scohort"):
            step = f"while sleep {self.advance_every}; do scohort advance --quiet; done"
            self._children += [controller.spawn(["bash", "-c", step], f"advance{controller.name[3:]}.log")
                               for controller in self.controllers]

    def _make_machines(self) -> None:
        layers = [str(LAB / "site")] + ([str(LAB / "stage")] if self.stage else [])
        layers.append(str(self.root))
        node_layers = layers
        if self.node_root != self.root:
            node_layers = [str(LAB / "site")] + ([str(LAB / "node-stage")] if self.node_stage else [])
            node_layers.append(str(self.node_root))
        shared = [f"{LAB}/shared|/shared|", f"{LOGS}|/var/log/slurm|"]
        for controller in self.controllers:
            controller.create(
                layers=layers,
                boot="/usr/lib/lab/controller-boot",
                network=controller is not self.controller,
                binds=shared + [f"{LAB}/etc-slurm|/etc/slurm|", f"{LAB}/mysql|/var/lib/mysql|",
                                f"{LAB}/munge|/run/munge|", f"{LAB}/openstack|/etc/openstack|"],
            )  # fmt: skip
        if self.backup:
            state = LAB / "shared" / "slurmctld"
            state.mkdir()
            shutil.chown(state, *self.controller.account("slurm")[:2])
        for machine in self.machines.values():
            machine.create(
                layers=node_layers,
                boot="/usr/lib/lab/node-boot",
                network=True,
                delay=self.boot_delay,
                binds=shared + [f"{LAB}/{self._etc_slurm(machine.name)}|/etc/slurm|ro",
                                f"{LAB}/munge|/run/munge|ro"],
            )  # fmt: skip

    def _etc_slurm(self, node: str) -> str:
        return "no-etc-slurm" if node in self.configless else "etc-slurm"

    def _wait_booted(self, machine: Machine) -> None:
        wait_until(
            lambda: machine.run(["test", "-d", "/run/slurm"], check=False).returncode == 0,
            20,
            f"{machine.name} has booted\n{services.tail([machine.name + '.console'])}",
        )
        machine.run(["chown", "-R", "munge:munge", "/run/munge", "/etc/munge"])

    # -- configuration --------------------------------------------------------------------------
    def program(self, path: str) -> bool:
        """True when PATH is part of what was installed."""
        return (self.installed / path.lstrip("/")).exists()

    def write_slurm_conf(self) -> None:
        """From self.conf and self.partitions; takes effect at start or reconfigure."""
        etc = LAB / "etc-slurm"
        version = slurmconf.slurm_version(self.controller.run(["slurmctld", "-V"]).stdout)
        values: dict[str, object] = {}
        if list(self.installed.glob("usr/lib*/**/job_submit_cohort.so")):
            values["JobSubmitPlugins"] = "cohort"
        if self.program("/usr/sbin/cohort-reboot"):
            values["RebootProgram"] = "/usr/sbin/cohort-reboot"
        values.update(self.conf)
        for node in self.dynamic:
            slurmconf.write(etc, f"slurmd-options.{node}", slurmconf.DYNAMIC_OPTIONS)
        if self.dynamic:
            values.setdefault("MaxNodeCount", 2 * len(self.nodes))
        static = [n for n in self.nodes if n not in self.dynamic + self.cloud_nodes]
        text = slurmconf.slurm_conf(static, values, self.partitions, self.node_options, self.cloud_nodes)
        slurmconf.write(etc, "slurm.conf", text)
        slurmconf.write(etc, "cgroup.conf", slurmconf.cgroup_conf(version))
        slurmconf.write(etc, "slurmdbd.conf", slurmconf.SLURMDBD_CONF, 0o600)
        lines = "".join(f"{k}={v}\n" for k, v in self.cohort_conf.items())
        slurmconf.write(etc, "cohort.conf", lines)
        self.controller.run(["chown", "slurm:slurm", "/etc/slurm/slurmdbd.conf"])

    # -- acts -----------------------------------------------------------------------------------
    def set_desired(self, node: str, image: str) -> Path:
        """The image (by name) that NODE is to run, where the site keeps it."""
        return cloudlink.set_desired(node, self.server_ids[node], self.image(image))

    def power(self, event: str, node: str, image: str = "") -> None:
        """By hand what the cloud does: power.EVENTS; IMAGE is a name."""
        power.send(event, node, self.image(image).id if image else "")

    def image(self, name: str) -> imagelist.Image:
        return imagelist.by_name(name)
