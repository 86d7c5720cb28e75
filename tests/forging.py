"""Runs from the forge: a folder that compiles JAX programs for TPU topologies and simulates the timeline of a run.

The forge needs JAX and libtpu; where this Python has none, they are installed from PyPI into OUT/venv. What was made stays in
OUT and is used again, as long as its scenario is the same.
"""

import json
import os
import shutil
import subprocess
import sys

PACKAGES = ["jax==0.10.2", "libtpu==0.0.52", "numpy", "protobuf", "grpcio-tools"]


def python_of(out):
    """A Python that has what the forge needs."""
    given = os.environ.get("HALOSCOPE_FORGE_PYTHON")
    if given:
        return given
    folder = out / "venv"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin/python", "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        (folder / "ready").touch()
    return str(folder / "bin/python")


# The compiler names groups by axes of a mesh too, `replica_groups=mesh['data'=2,'model'=4] {'model'}`, which a forge that does not know
# this takes for all devices: they are written out before it reads the text.
LISTS = '''

import itertools


def _with_lists(text):
    """The text with groups that are named by axes of a mesh written out, devices in order."""
    def groups(found):
        axes = re.findall(r"'([^']*)'=(\\d+)", found[1])
        over = re.findall(r"'([^']*)'", found[2])
        lists = {}
        for device, at in enumerate(itertools.product(*(range(int(size)) for _, size in axes))):
            lists.setdefault(tuple(i for (name, _), i in zip(axes, at) if name not in over), []).append(str(device))
        return "replica_groups={%s}" % ",".join("{%s}" % ",".join(one) for one in lists.values())
    return re.sub(r"replica_groups=mesh\\[([^\\]]*)\\] \\{([^}]*)\\}", groups, text)
'''
READS = "class Module:\n    def __init__(self, text):\n"


def copy_of(forge, out, models, chips=None, builders=None):
    """A forge that may be written to, and that knows these models and chips too, by name, with what builds them in this file."""
    folder = out / "forge"
    if not folder.exists():
        shutil.copytree(forge, folder)
        subprocess.run(["chmod", "-R", "u+w", folder], check=True)
    hlo = (forge / "hlo.py").read_text()
    if READS not in hlo:
        raise SystemExit(f"{forge / 'hlo.py'} reads modules in another way than is known here: groups named by axes would be all devices")
    (folder / "hlo.py").write_text(hlo.replace(READS, READS + "        text = _with_lists(text)\n") + LISTS)
    own = (forge / "cfg.py").read_text()
    (folder / "cfg.py").write_text(f"{own}\nMODELS.update({models!r})\n")
    if builders:
        (folder / "models.py").write_text(f"{(forge / 'models.py').read_text()}\n\n{builders.read_text()}")
    for name in ("forge.py", "forge2.py") if chips else ():
        known = "".join(f"    {chip!r}: {facts!r},\n" for chip, facts in chips.items())
        (folder / name).write_text((forge / name).read_text().replace("\nCHIPS = {\n", f"\nCHIPS = {{\n{known}", 1))
    return folder


def make(python, forge, out, name, scenario, script="forge.py"):
    """The folder of a run and what is true of it."""
    folder = out / name
    truth = folder / f"{name}.truth.json"
    described = out / f"{name}.json"
    wanted = json.dumps({**scenario, "name": name, "session": name})
    if not truth.exists() or not described.exists() or described.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        described.write_text(wanted)
        if not (forge / "pb" / "xspace_pb2.py").exists():
            subprocess.run([python, "-m", "grpc_tools.protoc", "-Ipb", "--python_out=pb", "pb/xspace.proto"],
                           cwd=forge, check=True)
        made = subprocess.run([python, forge / script, described, folder], capture_output=True, text=True)
        if made.returncode != 0:
            sys.exit(f"{name}: the forge failed\n{made.stderr[-3000:]}")
    return folder, json.loads(truth.read_text())
