"""What the tests share: the fixtures of the repository, the program that answers beside the package."""

from __future__ import annotations

import atexit
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUNS = sorted(path for path in (ROOT / "fixtures" / "runs").iterdir() if path.is_dir())

os.environ.setdefault("HALOSCOPE_CACHE", "off")
# Paths in reports are those that were asked for: the same for the program and for the package.
os.chdir(ROOT)


def run_path(name: str) -> str:
    return f"fixtures/runs/{name}"


_UNPACKED = Path(tempfile.mkdtemp(prefix="haloscope-tests-"))
atexit.register(shutil.rmtree, _UNPACKED, ignore_errors=True)


def xspaces(name: str) -> list[Path]:
    """The files of a fixture, unpacked where they are packed."""
    found = []
    for path in sorted((ROOT / run_path(name)).glob("plugins/profile/*/*.xplane.pb*")):
        if path.suffix == ".gz":
            unpacked = _UNPACKED / path.relative_to(ROOT / "fixtures" / "runs").with_suffix("")
            if not unpacked.exists():
                unpacked.parent.mkdir(parents=True, exist_ok=True)
                unpacked.write_bytes(gzip.decompress(path.read_bytes()))
            path = unpacked
        found.append(path)
    return found


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
