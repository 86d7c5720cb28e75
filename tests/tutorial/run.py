"""The tutorial as it stands, by a reader who has JAX on a CPU; and every command of its cookbook.

    python3 tests/tutorial/run.py --bin target/release/haloscope --python PYTHON [--write]

PYTHON must have jax. `--write` puts what was said here into the tutorial.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = ROOT / "docs/tutorial.md"
# Where the cookbook begins in it, and what follows.
COOKBOOK = ("\n## Cookbook", "\n## Where to go from here")
# What stands for a reader's own in the cookbook.
RUN = "fixtures/runs/tpu-train"
OWN = {
    "RUN": RUN,
    "before": "fixtures/runs/tpu-gate",
    "after": "fixtures/runs/tpu-gate-slower",
    "error.txt": "fixtures/oom/decode_cache_v5e.txt",
    "A": "fixtures/runs/tpu-custom-call",
    "B": "fixtures/runs/tpu-custom-call",
    "DIR": "fixtures/runs/tpu-custom-call",
    "NAME": "blocked_matmul.1",
    "small.xplane.pb": None,
}
# Lines of an answer that the tutorial shows.
SHOWN = 16


class Failed(Exception):
    """The page does not hold."""


def ran(command, folder, expected=(0,)):
    environment = {**os.environ, "HALOSCOPE_CACHE": "off", "COLUMNS": "80", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    if done.returncode not in expected:
        raise Failed(f"{shlex.join(command)} ended with {done.returncode}: {done.stderr[-1500:]}{done.stdout[-500:]}")
    return done.stdout


def tutorial(binary, python, is_written):
    text = TUTORIAL.read_text()
    program, line = re.findall(r"```python\n(.*?)```", text, re.S)
    old = next(each for each in program.splitlines() if each.split("=")[0] == line.split("=")[0].rstrip("\n"))
    said = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for source, logs in ((program, "before"), (program.replace(old + "\n", line), "after")):
            (folder / "train.py").write_text(source)
            ran([python, "train.py", logs], folder)
        for command in re.findall(r"^\$ haloscope (.*)$", text, re.M):
            words = shlex.split(command)
            said[words[0]] = ran([binary, *words], folder)
        diagnosis = json.loads(ran([binary, "diagnose", "before", "--format", "json"], folder))
        first = diagnosis["values"]["first_cause"]["value"]
        if first != "one_hot_product":
            raise Failed(f"the first cause is {first}")
        if not said["compare"].startswith("info: Changed: a step takes less time"):
            raise Failed(f"compare says: {said['compare'][:300]}")
        after = json.loads(ran([binary, "diagnose", "after", "--format", "json"], folder))
        if after["values"]["first_cause"]["value"] == "one_hot_product":
            raise Failed("the cause is still there after the fix")
        ran([binary, "check", "after", "--baseline", "before"], folder)
        ran([binary, "check", "before", "--baseline", "after"], folder, expected=(1,))
    if is_written:
        for command, answer in said.items():
            lines = answer.rstrip().splitlines()
            shown = "\n".join(lines[:SHOWN] + (["…"] if len(lines) > SHOWN else []))
            text = re.sub(
                rf"(\$ haloscope {command} [^\n]*\n).*?(```)", lambda found: found[1] + shown + "\n" + found[2], text, flags=re.S
            )
        TUTORIAL.write_text(text)
    print("ok      tutorial: the cause, the fix, the proof", flush=True)


def cookbook(binary):
    begin, end = COOKBOOK
    text = TUTORIAL.read_text().split(begin)[1].split(end)[0]
    commands = re.findall(r"`haloscope ([^`]*)`", text)
    if len(commands) < 30:
        raise Failed(f"the cookbook has {len(commands)} commands")
    with tempfile.TemporaryDirectory() as name:
        for number, command in enumerate(commands):
            words = shlex.split(command)
            # A program of its own, a name without its arguments, and a Python that compiles for TPUs are tested elsewhere.
            if words[0] == "query" or len(words) == 1:
                continue
            # A part of one file is asked of a run of one.
            if words[0] == "slice":
                words[1] = "fixtures/runs/tpu-decode"
            own = [OWN.get(word, word) or str(Path(name) / f"{number}.xplane.pb") for word in words]
            # What the example lacks is said (4), a gate that does not hold fails (1): wrong words are 2.
            ran([binary, *own], ROOT, expected=(0, 1, 4))
    print(f"ok      cookbook: {len(commands)} commands", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    binary = str(Path(options.bin).resolve())
    # Not resolved: the Python of a virtual environment is a link.
    python = os.path.abspath(options.python)
    try:
        cookbook(binary)
        tutorial(binary, python, options.write)
    except Failed as error:
        print(f"FAILED  {error}", flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
