"""`haloscope run` with real JAX programs on CPU: what is captured, when, and that programs are left as they are.

    python3 tests/run/run.py --bin target/release/haloscope [--out target/run-tests] [--python PYTHON] [--only NAME]

PYTHON must have jax; without it a virtual environment is made in OUT.
"""

import argparse
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs.py"
JAX = "jax==0.10.2"


class Case:
    """What the cases share: the binary, an interpreter with JAX, a fresh folder for each."""

    def __init__(self, binary, python, out):
        self.binary, self.python, self.out = binary, python, out

    def logs(self, name):
        folder = self.out / name
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    def environment(self, **more):
        return {**os.environ, "JAX_PLATFORMS": "cpu", **more}

    def command(self, logs, options, program):
        return [self.binary, "run", "-o", str(logs), *options, "--", self.python, str(PROGRAMS), *program]

    def run(self, name, options, program, timeout=180, **more):
        logs = self.logs(name)
        began = time.time()
        done = subprocess.run(
            self.command(logs, options, program), env=self.environment(**more), capture_output=True, text=True, timeout=timeout
        )
        return logs, done, time.time() - began

    def report(self, analysis, session):
        asked = [self.binary, analysis, str(session), "--format", "json", "--no-cache"]
        return json.loads(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)


def sessions(logs):
    return sorted((logs / "plugins" / "profile").glob("*")) if logs.is_dir() else []


def only(logs):
    found = sessions(logs)
    assert len(found) == 1, f"expected one session, found {found}"
    assert not found[0].name.startswith("."), found
    return found[0]


def rows(report, table):
    found = next(each for each in report["tables"] if each["id"] == table)
    names = [column["id"] for column in found["columns"]]
    return [dict(zip(names, row)) for row in found["rows"]]


def steady_state(case):
    """Ten whole steps, none of the twelve that compile; the exit code and stdout are the program's."""
    logs, done, _ = case.run("steady", ["--steps", "10"], ["train", "14", "9"])
    assert done.returncode == 9, (done.returncode, done.stderr)
    assert done.stdout.startswith("steps ") and len(done.stdout.split()) == 2, done.stdout
    session = only(logs)
    steps = rows(case.report("steps", session), "steps")
    numbers = sorted(int(row["step"]) for row in steps)
    assert len(numbers) >= 10, numbers
    assert numbers[0] > 12, f"warm-up was captured: {numbers[:3]}"
    assert len(numbers) <= 60, f"far more than was asked for: {len(numbers)}"
    assert "captured" in done.stderr and "Step time" in done.stderr, done.stderr


def unmarked_steps(case):
    """Steps without markers are found by their launches."""
    logs, done, _ = case.run("unmarked", ["--steps", "5", "--no-overview"], ["unmarked", "12"])
    assert done.returncode == 0, done.stderr
    assert len(rows(case.report("steps", only(logs)), "steps")) >= 5
    assert "Step time" not in done.stderr, done.stderr


def warm_up(case):
    """--warm-up by time and by steps; --duration; --stop-after ends the program and the code is 0."""
    options = ["--warm-up", "1s", "--duration", "500ms", "--stop-after", "--no-overview"]
    logs, done, took = case.run("warm-up", options, ["train", "120"])
    assert done.returncode == 0 and took < 60, (done.returncode, took, done.stderr)
    only(logs)
    logs, done, took = case.run("warm-up-steps", ["--warm-up", "20 steps", "--stop-after"], ["unmarked", "120"])
    assert done.returncode == 0 and took < 60, (done.returncode, took, done.stderr)
    only(logs)


def processes(case):
    """Two processes that the program starts make one session of two files."""
    logs, done, _ = case.run("processes", ["--no-overview"], ["two", "20"])
    assert done.returncode == 0, done.stderr
    files = sorted(path.name for path in only(logs).glob("*.xplane.pb"))
    assert len(files) == 2, files


def own_server(case):
    """A program that starts its own server gets it, and is captured through it."""
    logs, done, _ = case.run("own-server", ["--no-overview"], ["own_server", "12", "9741"])
    assert done.returncode == 0, (done.returncode, done.stderr)
    only(logs)


def nothing(case):
    """Programs that give nothing to capture keep their code; what was missing is said; no session is left."""
    for program, code, words in [
        (["early"], 7, "before its steps were steady"),
        (["no_jax"], 3, "without importing JAX"),
        (["no_device"], 0, "ran nothing on a device"),
    ]:
        logs, done, _ = case.run("nothing-" + program[0], [], program)
        assert done.returncode == code, (program, done.returncode, done.stderr)
        assert "nothing was captured" in done.stderr and words in done.stderr, done.stderr
        assert not sessions(logs), sessions(logs)
    _, done, _ = case.run("nothing-must", ["--must-capture"], ["no_device"])
    assert done.returncode == 4, done.returncode
    missing = subprocess.run([case.binary, "run", "--", "/no/such/program"], capture_output=True, text=True)
    assert missing.returncode == 2 and "cannot start the program" in missing.stderr, missing


def stepless(case):
    """A program that never steps is captured when the wait is over, and that is said."""
    logs, done, _ = case.run("stepless", ["--max-wait", "3s", "--no-overview"], ["stepless", "14"])
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert "no steps" in done.stderr or "empty" in done.stderr, done.stderr
    assert "not steady after" in done.stderr, done.stderr
    assert len(sessions(logs)) <= 1


def interrupts(case):
    """Ctrl-C in a terminal reaches the program once, as does a signal to us alone; its code is kept, nothing is written."""
    logs = case.logs("terminal")
    command = case.command(logs, ["--max-wait", "1h"], ["interrupted"])
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe(command[0], command, case.environment())
    text, end = b"", time.time() + 90
    while time.time() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                part = os.read(terminal, 4096)
            except OSError:
                break
            text += part
            if b"ready" in part:
                os.write(terminal, b"\x03")
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 5, (status, text)
    assert b"interrupts 1" in text, text
    assert not sessions(logs)

    logs = case.logs("signal")
    command = case.command(logs, ["--max-wait", "1h"], ["interrupted"])
    process = subprocess.Popen(
        command, env=case.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout.readline().strip() == "ready"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 5 and "interrupts 1" in out, (process.returncode, out, err)
    assert not sessions(logs)


def surroundings(case):
    """Another's sitecustomize still runs, our folder is not on the path, and nothing of ours is left in the temporary folder."""
    place = case.out / "theirs"
    place.mkdir(parents=True, exist_ok=True)
    (place / "sitecustomize.py").write_text("MARK = 'kept'\n")
    temporary = case.out / "tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    logs, done, _ = case.run("surroundings", [], ["surroundings"], PYTHONPATH=str(place), TMPDIR=str(temporary))
    assert done.returncode == 0, done.stderr
    assert f"theirs kept {logs.resolve()}" in done.stdout and "paths []" in done.stdout, done.stdout
    assert list(temporary.iterdir()) == [], list(temporary.iterdir())


CASES = [steady_state, unmarked_steps, warm_up, processes, own_server, nothing, stepless, interrupts, surroundings]


def python_of(out):
    """An interpreter with JAX, in a virtual environment below `out`."""
    python = out / "venv" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(out / "venv")], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", JAX], check=True)
    return str(python)


def main():
    """Exits with 1 where a case fails."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--out", default=Path("target/run-tests"), type=Path)
    parser.add_argument("--python")
    parser.add_argument("--only")
    asked = parser.parse_args()
    out = asked.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    case = Case(str(Path(asked.bin).resolve()), asked.python or python_of(out), out)
    failed = 0
    for check in CASES:
        if asked.only and asked.only != check.__name__:
            continue
        # How long to capture is taken from steps that were just timed: where the machine stood still for a moment they say nothing.
        for is_last in (False, True):
            began = time.time()
            try:
                check(case)
                print(f"ok    {check.__name__} ({time.time() - began:.1f} s)", flush=True)
                break
            except (AssertionError, subprocess.SubprocessError, OSError, LookupError, StopIteration) as error:
                failed += is_last
                print(f"{'FAIL ' if is_last else 'AGAIN'} {check.__name__}: {type(error).__name__}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
