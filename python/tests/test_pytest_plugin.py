"""The fixture `haloscope_check`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from conftest import ROOT

import haloscope

TESTS = """
import haloscope
GATE, AGAIN, SLOWER = (f"{root}/fixtures/runs/{name}" for name in ("tpu-gate", "tpu-gate-again", "tpu-gate-slower"))

def test_holds(haloscope_check):
    assert haloscope_check(AGAIN, GATE).passed
    haloscope_check(haloscope.open(AGAIN), claim="step_time<=100s")

def test_is_slower(haloscope_check):
    haloscope_check(SLOWER, GATE)

def test_nobody_can_tell(haloscope_check):
    haloscope_check(AGAIN)
"""


def test_a_run_that_does_not_hold_fails_its_test(tmp_path: Path) -> None:
    (tmp_path / "test_speed.py").write_text(f"root = {str(ROOT)!r}\n" + TESTS)
    # Installed, the entry point names the plugin; in a checkout it is named here.
    is_installed = subprocess.run(
        [sys.executable, "-c", "import importlib.metadata as m; print(any(e.value == 'haloscope.pytest_plugin' for e in m.entry_points(group='pytest11')))"],
        capture_output=True,
        text=True,
    ).stdout.startswith("True")
    named = [] if is_installed else ["-p", "haloscope.pytest_plugin"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *named, "test_speed.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(haloscope.__file__).parents[1])},
    )
    assert "1 passed" in done.stdout and "2 failed" in done.stdout, done.stdout + done.stderr
    assert "haloscope check does not hold" in done.stdout and "haloscope check could not be decided" in done.stdout
    assert "step_time" in done.stdout
