"""`haloscope capture` against real training loops in JAX, on CPU.

    python3 tests/capture/run.py --bin target/release/haloscope [--out target/capture] [--only NAME]

One, two and eight programs become one session each, which XProf reads too; programs that are absent, stopped or killed give an
error with their name, in time, and leave nothing. A capture that is itself killed leaves no session, or a whole one. Continuous
profiling, --every, --when, Ctrl-C. A JAX of 2024, which can only
write profiles itself. What is needed is installed from PyPI into OUT/venv and OUT/old; HALOSCOPE_CAPTURE_PYTHON and
HALOSCOPE_CAPTURE_OLD_PYTHON name Pythons that have it.
"""

import argparse
import contextlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
NEW = ["jax==0.10.2", "xprof==2.24.2"]
OLD = ["jax==0.4.30", "jaxlib==0.4.30", "numpy<2"]

# What XProf's overview says of steps, printed by the Python that has it.
XPROF = """
import glob, json, sys
from xprof.convert import raw_to_tool_data
files = sorted(glob.glob(sys.argv[1] + "/*.xplane.pb"))
data, _ = raw_to_tool_data.xspace_to_tool_data(files, "overview_page", {})
analysis = next(t for t in json.loads(data) if "steptime_ms_average" in t.get("p", {}))
print(json.dumps({"files": len(files), "steps": len(analysis["rows"]), "average_ms": analysis["p"]["steptime_ms_average"]}))
"""

failures = []


def check(holds, what):
    print(("ok      " if holds else "FAILED  ") + what, flush=True)
    if not holds:
        failures.append(what)


def python_of(folder, variable, packages):
    """A Python that has the packages."""
    given = os.environ.get(variable)
    if given:
        return given
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin/python", "-m", "pip", "install", "--quiet", *packages], check=True)
        (folder / "ready").touch()
    return str(folder / "bin/python")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def loops(python, count=1):
    """Training loops, once they train; their processes and addresses."""
    ports = [free_port() for _ in range(count)]
    own = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
    with tempfile.TemporaryDirectory() as folder:
        started = [
            subprocess.Popen([python, HERE / "loop.py", str(port)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=own,
                             cwd=folder, text=True)
            for port in ports
        ]
        try:
            for one in started:
                assert one.stdout.readline() == "ready\n", "the loop did not start"
            yield started, [f"localhost:{port}" for port in ports]
            left = sorted(path.name for path in Path(folder).iterdir())
            check(left == [], f"nothing is left in the folder of the programs: {left}")
        finally:
            for one in started:
                one.kill()
                one.wait()


class Haloscope:
    """The program under test, with a log folder of its own for each case."""

    def __init__(self, binary, kills=0):
        self.binary = str(Path(binary).resolve())
        self.kills = kills
        self.kept = tempfile.TemporaryDirectory()
        self.folder = None

    def fresh(self):
        self.folder = Path(tempfile.mkdtemp(dir=self.kept.name))
        return self.folder / "logs"

    def command(self, servers, *options):
        return [self.binary, "capture", ",".join(servers), "-o", str(self.folder / "logs"), *options]

    def capture(self, servers, *options, timeout=90):
        started = time.monotonic()
        done = subprocess.run(self.command(servers, *options), capture_output=True, text=True, timeout=timeout)
        done.took = time.monotonic() - started
        return done

    def report(self, analysis, run):
        asked = [self.binary, analysis, str(run), "--format", "json"]
        return json.loads(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)

    def sessions(self):
        """What others take for sessions: hidden folders are those that are not whole yet."""
        return sorted((self.folder / "logs/plugins/profile").glob("[!.]*"))

    def is_untouched(self):
        return not list(self.folder.rglob("*"))


def value(report, name):
    return report["values"][name]["value"]


def sessions_of(count):
    def case(haloscope, pythons):
        with loops(pythons["new"], count) as (_, servers):
            haloscope.fresh()
            done = haloscope.capture(servers, "--duration", "1s")
            check(done.returncode == 0, f"{count} programs are captured: {done.stderr.strip()[-300:]}")
            check("step" in done.stdout.lower(), "the overview of the session is printed, with its steps")
        found = haloscope.sessions()
        check(len(found) == 1, f"they make one session: {[path.name for path in found]}")
        files = sorted(path.name for path in found[0].iterdir())
        check(len(files) == count and all(name.endswith(".xplane.pb") for name in files), f"a file each: {files}")
        check(re.fullmatch(r"\d{4}(_\d\d){5}", found[0].name) is not None, f"named as JAX names sessions: {found[0].name}")
        steps = haloscope.report("steps", found[0])
        rows = next(table for table in steps["tables"] if table["id"] == "steps")["rows"]
        check(len(rows) > 10, f"annotated steps are there: {len(rows)}")
        asked = subprocess.run([pythons["new"], "-c", XPROF, str(found[0])], capture_output=True, text=True)
        check(asked.returncode == 0, f"XProf 2.24.2 reads the session {asked.stdout.strip()} {asked.stderr.strip()[-200:] if asked.returncode else ''}")
        if asked.returncode == 0 and count == 1:
            theirs = float(str(json.loads(asked.stdout)["average_ms"]).split()[0])
            ours = value(haloscope.report("overview", found[0]), "step_time_mean_ps") * 1e-9
            check(abs(theirs - ours) < 0.06 * ours, f"its mean step is ours: {theirs} ms, {ours:.2f} ms")

    return case


def failing(haloscope, pythons):
    haloscope.fresh()
    port = free_port()
    done = haloscope.capture([f"localhost:{port}"])
    check(done.returncode == 3 and f"localhost:{port}: expected a profiler service" in done.stderr, f"absent: {done.stderr.strip()}")
    check(haloscope.is_untouched(), "absent: nothing is left")

    with loops(pythons["new"], 2) as (programs, servers):
        haloscope.fresh()
        programs[1].send_signal(signal.SIGSTOP)
        done = haloscope.capture(servers, "--timeout", "3s")
        programs[1].send_signal(signal.SIGCONT)
        check(done.returncode == 3 and f"{servers[1]}: no answer in" in done.stderr, f"hanging: {done.stderr.strip()}")
        check(done.took < 8, f"hanging: told in time, {done.took:.1f} s")
        check(haloscope.is_untouched(), "hanging: nothing is left")

        haloscope.fresh()
        process = subprocess.Popen(haloscope.command(servers, "--duration", "20s"), stderr=subprocess.PIPE, text=True)
        time.sleep(2)
        programs[1].kill()
        started = time.monotonic()
        _, said = process.communicate(timeout=30)
        check(process.returncode == 3 and f"{servers[1]}: the connection ended" in said, f"killed: {said.strip()}")
        check(time.monotonic() - started < 5, "killed: told at once")
        check(haloscope.is_untouched(), "killed: nothing is left")

        haloscope.fresh()
        process = subprocess.Popen(haloscope.command(servers[:1], "--duration", "20s"), stderr=subprocess.PIPE, text=True)
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=10)
        check(process.returncode == 130 and "stopped" in said, f"Ctrl-C: {said.strip()}")
        check(haloscope.is_untouched(), "Ctrl-C: nothing is left")
        time.sleep(1)
        check(haloscope.capture(servers[:1], "--retries", "3").returncode == 0, "after that the program can be captured again")

        done = haloscope.capture(servers[:1], "--monitor")
        check(done.returncode == 3 and "does not offer monitoring" in done.stderr, f"monitor: {done.stderr.splitlines()[0]}")


def continuous(haloscope, pythons):
    with loops(pythons["new"]) as (_, servers):
        haloscope.fresh()
        done = haloscope.capture(servers, "--continuous", "snapshot")
        check(done.returncode == 3 and "not being profiled continuously" in done.stderr, f"too early: {done.stderr.splitlines()[0]}")
        check(haloscope.capture(servers, "--continuous", "start").returncode == 0, "it starts")
        time.sleep(2)
        again = haloscope.capture(servers, "--continuous", "start")
        check(again.returncode == 3, f"a second start is refused: {again.stderr.splitlines()[0]}")
        done = haloscope.capture(servers, "--continuous", "snapshot")
        check(done.returncode == 0, f"a snapshot is taken: {done.stderr.strip()[-200:]}")
        found = haloscope.sessions()
        check(len(found) == 1, f"it is one session: {[path.name for path in found]}")
        mean = value(haloscope.report("overview", found[0]), "step_time_mean_ps") if found else None
        check(bool(mean), f"it has steps: {mean}")
        check(haloscope.capture(servers, "--continuous", "stop").returncode == 0, "it ends")


def repeated(haloscope, pythons):
    with loops(pythons["new"]) as (programs, servers):
        haloscope.fresh()
        done = haloscope.capture(servers, "--every", "2s", "--count", "3", "--duration", "300ms")
        check(done.returncode == 0 and len(haloscope.sessions()) == 3, f"--every: three sessions: {done.stderr.strip()}")
        check(done.stdout.splitlines() == [str(path) for path in haloscope.sessions()], "their paths are what is printed")

        haloscope.fresh()
        options = ["--when", "step_time>1.5x", "--every", "1s", "--probe", "400ms", "--duration", "700ms"]
        process = subprocess.Popen(haloscope.command(servers, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(9)
        check(process.poll() is None and haloscope.sessions() == [], "--when: nothing while steps are as usual")
        programs[0].send_signal(signal.SIGUSR1)
        out, said = process.communicate(timeout=60)
        check(process.returncode == 0 and "step_time>1.5x holds" in said, f"--when: {said.strip()}")
        check(len(haloscope.sessions()) == 1 and "step" in out.lower(), "--when: one session, and its overview")


def old(haloscope, pythons):
    with loops(pythons["old"]) as (_, servers):
        logs = haloscope.fresh()
        done = haloscope.capture(servers)
        check(done.returncode == 0, f"an old JAX on this machine is captured: {done.stderr.strip()[-300:]}")
        found = haloscope.sessions()
        check(len(found) == 1 and len(list(found[0].iterdir())) == 1, f"its session: {[str(p) for p in logs.rglob('*')]}")
        done = haloscope.capture(servers, "--continuous", "start")
        check(done.returncode == 3 and "does not offer continuous profiling" in done.stderr, f"{done.stderr.splitlines()[0]}")
        haloscope.fresh()
        asked = [haloscope.binary, "capture", servers[0], "--on-server", str(haloscope.folder / "theirs"), "--no-overview"]
        done = subprocess.run(asked, capture_output=True, text=True)
        written = list((haloscope.folder / "theirs/plugins/profile").glob("*/*.xplane.pb"))
        check(done.returncode == 0 and len(written) == 1, f"--on-server: {done.stdout.strip()} {done.stderr.strip()}")


def killed(haloscope, pythons):
    """A capture that is killed at any moment leaves no session, or a whole one, and the program can be captured again."""
    with loops(pythons["new"]) as (_, servers):
        haloscope.fresh()
        options = ["--duration", "200ms", "--retries", "3", "--no-overview"]
        done = haloscope.capture(servers, *options)
        check(done.returncode == 0, f"a capture of 200 ms, {done.took:.1f} s: {done.stderr.strip()[-300:]}")
        longest, landed, whole, seen = done.took * 1.2, 0, 0, set(haloscope.sessions())
        wrong = []
        for _ in range(haloscope.kills):
            process = subprocess.Popen(haloscope.command(servers, *options), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(random.uniform(0, longest))
            process.kill()
            landed += process.wait() == -signal.SIGKILL
            new = set(haloscope.sessions()) - seen
            seen |= new
            for session in new:
                asked = subprocess.run([haloscope.binary, "overview", str(session), "--format", "json"], capture_output=True, text=True)
                known = json.loads(asked.stdout)["values"].get("step_time_mean_ps") if asked.returncode == 0 else None
                whole += bool(known)
                if not known:
                    wrong.append(f"{sorted(path.name for path in session.iterdir())}: {asked.stderr.strip()[-300:]}")
        check(not wrong, f"no session is there in part {wrong or str()}".rstrip())
        check(landed > haloscope.kills // 3, f"{landed} of {haloscope.kills} were killed before they were done, {whole} sessions are whole")
        check(haloscope.capture(servers, *options).returncode == 0, "after all that the program is captured")


CASES = {"one": sessions_of(1), "two": sessions_of(2), "eight": sessions_of(8), "failing": failing, "killed": killed,
         "continuous": continuous, "repeated": repeated, "old": old}


def main():
    """Exits with 1 where something does not hold."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--out", default=Path("target/capture"), type=Path)
    parser.add_argument("--only", choices=CASES)
    parser.add_argument("--kills", type=int, default=20, help="how often a capture is killed [20]")
    asked = parser.parse_args()
    out = asked.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    pythons = {"new": python_of(out / "venv", "HALOSCOPE_CAPTURE_PYTHON", NEW)}
    if asked.only in (None, "old"):
        pythons["old"] = python_of(out / "old", "HALOSCOPE_CAPTURE_OLD_PYTHON", OLD)
    haloscope = Haloscope(asked.bin, asked.kills)
    for name, case in CASES.items():
        if asked.only in (None, name):
            print(f"-- {name}", flush=True)
            case(haloscope, pythons)
    print(f"{len(failures)} failures")
    for failure in failures:
        print(f"  {failure}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
