# SPDX-License-Identifier: GPL-2.0-or-later
"""System tests: real daemons in namespaces of their own.

The whole pytest process goes into one set of namespaces (tests/lab/namespace.py) before the first
test, so that nothing outlives it and several runs can be side by side. The `lab` fixture makes labs
there, one at a time; what is installed in them is COHORT_STAGE (`make install DESTDIR=`), and the
base system is COHORT_ROOT (default /); COHORT_NODE_STAGE and COHORT_NODE_ROOT are the nodes' where their Slurm
is another one than the controller's. The logs of a failed test are kept in COHORT_LOGS.
"""
from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lab"))

import leaks  # noqa: E402
import namespace  # noqa: E402
from lab import Lab  # noqa: E402

STAGE = os.environ.get("COHORT_STAGE", "")
ROOT = os.environ.get("COHORT_ROOT", "/")
NODES = {"node_root": os.environ.get("COHORT_NODE_ROOT"), "node_stage": os.environ.get("COHORT_NODE_STAGE")}
KEPT = Path(os.environ.get("COHORT_LOGS", HERE.parent.parent / "build" / "system-logs"))


def pytest_configure(config: pytest.Config) -> None:
    if namespace.inside() or config.option.collectonly:
        return
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture:
        capture.suspend_global_capture(in_=True)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *config.invocation_params.args]
    namespace.reexecute(command, "system")


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    """Keeps the logs of the lab that a failed test used, and says where."""
    outcome = yield
    report = outcome.get_result()
    if report.failed and LabFactory.running:
        name = re.sub(r"[^\w.-]+", "_", item.nodeid.rsplit("/", 1)[-1])
        report.sections.append(("lab", f"logs kept in {LabFactory.running.keep_logs(KEPT / name)}"))


class LabFactory:
    """lab(nodes=3, conf={...}) starts a lab with the staged programs; plain=True leaves them out.
    A second call ends the first lab."""

    running: Lab | None = None  # the one of this process, also while it starts

    def __call__(self, plain: bool = False, **options) -> Lab:
        self.stop()
        if not plain and not STAGE:
            pytest.skip("COHORT_STAGE is not set: nothing installed to test (run tests/system/run)")
        lab = Lab(**{"stage": None if plain else STAGE, "root": ROOT, **NODES, **options})
        LabFactory.running = lab
        lab.start()
        return lab

    def stop(self) -> None:
        """Ends the lab; whatever a test was about, no secret of the cloud may stand in what was written."""
        lab, LabFactory.running = LabFactory.running, None
        if not lab:
            return
        try:
            found = leaks.find(lab)
        finally:
            lab.stop()
        assert not found, found


@pytest.fixture
def lab():
    """A factory; the lab ends with the test."""
    factory = LabFactory()
    yield factory
    factory.stop()


@pytest.fixture(scope="module")
def module_lab():
    """A factory whose lab lives as long as the file's tests: for tests that leave no traces."""
    factory = LabFactory()
    yield factory
    factory.stop()
