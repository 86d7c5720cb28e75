#!/usr/bin/env python3
"""Builds the package and tests it: `--packages`, `--module` or `--wheel`, `--tests [--bin PROGRAM]`, or all of it with the wheel.

Everything lies below target/python: one virtual environment with what the tests need, and the package, which both that environment
and the one with JAX and XProf (target/peers/xprof, where it is) import. `--wheel` unpacks it from the wheel as it is shipped;
`--module` lays the same files together from the module that is built with the workspace, where next to nothing is compiled twice.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / "target" / "python"
#: Changes where what is installed does.
PACKAGES = ["maturin>=1.9,<2", "mypy", "nbclient", "nbformat", "ipykernel", "numpy", "pandas", "polars", "pyarrow", "pytest"]
# TensorBoard still imports pkg_resources.
PACKAGES += ["tensorboard==2.21.0", "setuptools<81"]
PEERS = ROOT / "target" / "peers" / "xprof" / "bin" / "python"
#: Bytes of a wheel at most, as it is shipped.
LARGEST = 20_000_000


def run(*command: object, **env: str) -> None:
    print("+", *command, flush=True)
    subprocess.run([str(word) for word in command], check=True, cwd=ROOT, env={**os.environ, **env})


def packages() -> None:
    """The environment, made anew where what it holds has changed."""
    ready = PLACE / "ready"
    if ready.exists() and ready.read_text() == "\n".join(PACKAGES):
        return
    if sys.version_info < (3, 10):
        sys.exit(f"Python 3.10 or later is needed, this is {sys.version.split()[0]}")
    run(sys.executable, "-m", "venv", "--clear", PLACE / "venv")
    run(PLACE / "venv/bin/python", "-m", "pip", "install", "--quiet", *PACKAGES)
    ready.write_text("\n".join(PACKAGES))


def module() -> None:
    """The package of the module as the workspace's tests are built, with what a wheel says of itself."""
    package = PLACE / "package"
    shutil.rmtree(package, ignore_errors=True)
    # Named so, the dependencies have the features that they have in `cargo test --workspace`: they are built already.
    run("cargo", "build", "--workspace", "--lib", "--tests")
    shutil.copytree(ROOT / "python" / "haloscope", package / "haloscope", ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    shutil.copyfile(target / "debug" / "lib_native.so", package / "haloscope" / "_native.abi3.so")
    run(PLACE / "venv/bin/maturin", "pep517", "write-dist-info", "--metadata-directory", package, PATH=_path())


def wheel() -> None:
    """The wheel as it is shipped, held to its size, and the package that is in it."""
    shutil.rmtree(PLACE / "wheel", ignore_errors=True)
    run(PLACE / "venv/bin/maturin", "build", "--release", "--out", PLACE / "wheel", "--compatibility", "linux", PATH=_path())
    (made,) = (PLACE / "wheel").glob("*.whl")
    size = made.stat().st_size
    print(f"{made.name}: {size / 1e6:.1f} MB", flush=True)
    if size > LARGEST:
        sys.exit(f"the wheel has {size} bytes, over {LARGEST}")
    shutil.rmtree(PLACE / "package", ignore_errors=True)
    run(PLACE / "venv/bin/python", "-m", "pip", "install", "--quiet", "--no-deps", "--target", PLACE / "package", made)


def _path() -> str:
    return os.pathsep.join([str(PLACE / "venv" / "bin"), os.environ["PATH"]])


def tests(program: str | None) -> None:
    """The tests with the wheel; those of JAX and XProf beside these; and the types."""
    env = {"PYTHONPATH": str(PLACE / "package"), "HALOSCOPE_CACHE": "off"}
    if program:
        env["HALOSCOPE"] = str(Path(program).resolve())
    pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs"]
    run(PLACE / "venv/bin/python", *pytest, "python/tests", **env)
    if PEERS.exists():
        run(PEERS, "-m", "pip", "install", "--quiet", "pytest")
        beside = [f"python/tests/test_{name}.py" for name in ("profile_data", "xprof", "capture")]
        run(PEERS, *pytest, *beside, TF_CPP_MIN_LOG_LEVEL="3", **env)
    else:
        print(f"left out: {PEERS} is not there, so that nothing is held against JAX and XProf", flush=True)
    run(PLACE / "venv/bin/mypy", "--strict", "--python-version", "3.10", "-p", "haloscope", MYPYPATH=str(ROOT / "python"))
    run(PLACE / "venv/bin/stubtest", "haloscope._native", **env)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packages", action="store_true")
    parser.add_argument("--module", action="store_true", help="the package with the module of the workspace's own build")
    parser.add_argument("--wheel", action="store_true", help="the package that is in the wheel as it is shipped")
    parser.add_argument("--tests", action="store_true")
    parser.add_argument("--bin", help="the program that the package is held against")
    args = parser.parse_args()
    every = not (args.packages or args.module or args.wheel or args.tests)
    if every or args.packages:
        packages()
    if args.module:
        module()
    if every or args.wheel:
        wheel()
    if every or args.tests:
        tests(args.bin)


if __name__ == "__main__":
    main()
