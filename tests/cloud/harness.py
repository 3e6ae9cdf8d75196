# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of the cloud client share: cloudcall, a target cloud, one line of counts.

The tests run from the build folder (make check) with Python's unittest and nothing else.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("srcdir") or Path(__file__).resolve().parents[2]).resolve()
sys.path.insert(0, str(SOURCE / "tests" / "lab"))
sys.dont_write_bytecode = True

CLOUDCALL = Path(os.environ.get("CLOUDCALL", "tests/cloud/cloudcall")).resolve()
UNSURE = 9  # exit code: a POST that may have been taken
SPOKEN: list[str] = []  # all that cloudcall and its log ever said


class Result:
    def __init__(self, code: int, out: str, seconds: float) -> None:
        self.code = code
        self.seconds = seconds
        self.value = json.loads(out.strip().splitlines()[-1]) if out.strip() else {}

    @property
    def error(self) -> str:
        return self.value.get("error", "") if isinstance(self.value, dict) else ""

    @property
    def message(self) -> str:
        return self.value.get("message", "") if isinstance(self.value, dict) else ""


def cloudcall(clouds: Path | str, *words: str, cloud: str = "", seconds: int = 20,
              timeout_ms: int = 5000, cache: str = "", environment: dict | None = None) -> Result:
    command = [str(CLOUDCALL), "--clouds", str(clouds), "--seconds", str(seconds),
               "--timeout-ms", str(timeout_ms)]
    command += ["--cloud", cloud] if cloud else []
    command += ["--cache", cache] if cache else []
    start = time.monotonic()
    done = subprocess.run([*command, *words], capture_output=True, text=True, timeout=120,
                          env={"PATH": os.environ["PATH"], "CLOUDCALL_LOG": "1", **(environment or {})})
    SPOKEN.extend((done.stdout, done.stderr))
    if done.returncode < 0:
        raise AssertionError(f"cloudcall {words} died of signal {-done.returncode}: {done.stderr[-2000:]}")
    return Result(done.returncode, done.stdout, time.monotonic() - start)


def uuid_of(kind: str, number: int) -> str:
    return f"{kind * 8}-0000-4000-8000-{number:012d}"


def lab_images(count: int = 2) -> list[dict]:
    return [{"id": uuid_of("a", n), "name": f"v{n}", "properties": {"cohort_stamp": f"lab/v{n}"}}
            for n in range(1, count + 1)]


def lab_servers(count: int) -> list[dict]:
    return [{"id": uuid_of("b", n), "name": f"n{n}", "image": uuid_of("a", 1)} for n in range(1, count + 1)]


def run() -> None:
    """Runs the calling program's tests; the last line is counted by ./check."""
    if not CLOUDCALL.exists():
        print(f"SKIP: {CLOUDCALL} is not built")
        sys.exit(77)
    result = unittest.main(exit=False, verbosity=1).result
    broken = min(len(result.failures) + len(result.errors), result.testsRun)  # a subTest is no test
    for test, reason in result.skipped:
        print(f"SKIP: {test}: {reason}")
    if result.testsRun and len(result.skipped) == result.testsRun:
        sys.exit(77)
    print(f"{100 * (result.testsRun - broken) // max(1, result.testsRun)}%: "
          f"Checks: {result.testsRun - len(result.skipped)}, Failures: {broken}, Errors: 0")
    sys.exit(1 if broken else 0)
