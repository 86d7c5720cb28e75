"""What the tests share: the fixtures of the repository, the program that answers beside the package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUNS = sorted(path for path in (ROOT / "fixtures" / "runs").iterdir() if path.is_dir())

os.environ.setdefault("HALOSCOPE_CACHE", "off")
# Paths in reports are those that were asked for: the same for the program and for the package.
os.chdir(ROOT)


def run_path(name: str) -> str:
    return f"fixtures/runs/{name}"


def xspaces(name: str) -> list[Path]:
    """The files of a fixture, all of them unpacked."""
    return sorted((ROOT / run_path(name)).glob("plugins/profile/*/*.xplane.pb"))


@pytest.fixture(scope="session")
def program() -> list[str]:
    """The program: the one that HALOSCOPE names, else the package's own."""
    named = os.environ.get("HALOSCOPE")
    return [named] if named else [sys.executable, "-m", "haloscope"]


def _with_package() -> dict[str, str]:
    """The environment in which others find the package that is tested, from wherever they start."""
    import haloscope

    return {**os.environ, "PYTHONPATH": str(Path(haloscope.__file__).resolve().parents[1])}


def python(code: str, timeout: float = 60, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs code in a Python of its own, which may hang or die."""
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**_with_package(), **env},
        cwd=ROOT,
    )
