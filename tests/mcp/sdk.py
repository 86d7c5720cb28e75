"""A Python that has the protocol's official SDK."""

import contextlib
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEEDS = ["mcp<2", "jsonschema"]
FOLDER = ROOT / "target" / "peers" / "mcp"


def python():
    """This one, the one that HALOSCOPE_MCP_PYTHON names, or one that is made under target and kept."""
    given = os.environ.get("HALOSCOPE_MCP_PYTHON")
    if given:
        return given
    with contextlib.suppress(ImportError):
        import jsonschema, mcp  # noqa: F401, E401
        return sys.executable
    own = str(FOLDER / "bin" / "python")
    if not (FOLDER / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(FOLDER)], check=True)
        subprocess.run([own, "-m", "pip", "install", "--quiet", *NEEDS], check=True)
        (FOLDER / "ready").touch()
    return own


def again(program):
    """Runs a program of this folder under that Python where this one is another; its exit code, or None where it is not."""
    own = python()
    if own == sys.executable:
        return None
    return subprocess.run([own, program, *sys.argv[1:]], check=False).returncode
