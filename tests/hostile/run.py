#!/usr/bin/env python3
"""Files that stand for much more than they are: whatever one holds, an answer or a refusal comes soon, in memory that its size bounds.

    python3 tests/hostile/run.py --bin target/release/haloscope [--shared ../shared/hostile] [--whole] [--only WORD] [--limit 256MiB]

Some 200 files by bombs.py (protobuf, gzip, Riegeli, JSON, HLO), and those below --shared, where it exists. Of each a few questions are
asked, one after another (--whole: more questions, and files 8 times as large). Each must end by itself within 10 s, with at most
64 MiB of memory (and what a development build itself takes beyond 20) and 8 bytes for each byte on disk, where packed files and
HLO text count as 16 times their size, as they do for the program; with --memory-limit, within 10% of that. One served folder with all of them must live, and answer what is asked of a good run (--served:
with as many as are said, to several clients, and within 500 ms).

Exit status 0 where all that holds. Linux, Python 3.9 and no more.
"""
import argparse
import concurrent.futures
import functools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

MIB = 1 << 20
BESIDE, EACH, EACH_FILE = 64 * MIB, 8, 16 << 10
# Of that the program itself, which a development build is several times as large as: what it takes beyond this is no file's.
ITSELF = 20 * MIB
# Of a packed file, and of HLO as text, so many times its size counts: profiles pack to a tenth.
DENSE = 16
SECONDS = 10
QUESTIONS = [["overview"], ["diagnose"], ["critical-path"]]
MORE = [["inspect"], ["ops"], ["steps"], ["idle"], ["comm"], ["memory", "peak"], ["hlo", "modules"], ["kernels"], ["hosts"], ["timeline"]]
OF_PROGRAMS = [["inspect"], ["hlo", "modules"], ["memory", "peak"]]
# Answers, and refusals: usage, input, nothing to say, a gate.
EXITS = {0, 1, 2, 3, 4, 5}

failures = []


def fail(text):
    failures.append(text)
    print("FAILED", text, flush=True)


def allowed(path):
    """Bytes of memory that the program may take for a file."""
    files = [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
    sizes = [(p.stat().st_size, p.name) for p in files]
    # A text of a module says an instruction in as many bytes as its protobuf needs for the name alone.
    each = sum(size * EACH * (DENSE if name.endswith((".gz", ".riegeli", ".txt")) else 1) * (DENSE if name.endswith(".txt.gz") else 1) for size, name in sizes)
    return BESIDE + each + EACH_FILE * (len(files) - 1), sum(size for size, _ in sizes)


def ask(binary, question, path, env, limit=None):
    """Exit status, seconds, and the most memory that was resident."""
    command = [str(binary), *question, str(path)] + (["--memory-limit", limit] if limit else [])
    begun = time.monotonic()
    with tempfile.TemporaryFile() as told:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=told, env=env)
        ended = None
        while ended is None:
            if time.monotonic() - begun > 3 * SECONDS:
                os.kill(process.pid, signal.SIGKILL)
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                ended = os.waitstatus_to_exitcode(status)
            else:
                time.sleep(0.005)
        process.returncode = ended
        told.seek(0)
        words = told.read(2000).decode(errors="replace").strip()
    return ended, time.monotonic() - begun, usage.ru_maxrss * 1024, words


def questions_of(path, whole):
    if path.name.startswith("hlo-") or "hlo_proto" in path.name or path.name.endswith((".txt", ".txt.gz")):
        return OF_PROGRAMS
    return QUESTIONS + (MORE if whole else [])


def size_of(text):
    units = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
    return int(text[:-3]) * units[text[-3:]]


@functools.cache
def beyond_itself(binary):
    """What the program takes before it reads anything, beyond what one that is shipped does."""
    process = subprocess.Popen([binary, "--version"], stdout=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    return max(0, usage.ru_maxrss * 1024 - ITSELF)


def check(binary, path, env, whole, limit, slowest):
    may, size = allowed(path)
    may += beyond_itself(binary)
    if limit:
        may = size_of(limit) * 1.1
    for question in questions_of(path, whole):
        status, seconds, resident, words = ask(binary, question, path, env, limit)
        label = f"{path.name} ({size} bytes): {' '.join(question)}"
        slowest.append((resident - may, resident, seconds, label, status))
        if status not in EXITS or "bug" in words:
            fail(f"{label}: exit status {status}: {words[:300]}")
        if seconds > SECONDS:
            fail(f"{label}: {seconds:.1f} s")
        if resident > may:
            fail(f"{label}: {resident / MIB:.0f} MiB, where {may / MIB:.0f} MiB may be")


def repeat(folder, count):
    """Gives the folder as many runs, each again under other names; what they hold is on the disk once."""
    runs = sorted(path for path in folder.iterdir() if path.name != "good")
    for at in range(len(runs), count):
        run = runs[at % len(runs)]
        shutil.copytree(run, folder / f"{run.name}-{at}", copy_function=os.link)


def serve(binary, folder, env, clients):
    """A folder of all of them, and one good run, behind the server: so many clients ask of all, and one meanwhile of the good."""
    command = [str(binary), "serve", str(folder), "--port", "0", "--no-token", "--deadline", str(SECONDS)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, text=True)
    try:
        address = process.stdout.readline().split()[-1].rstrip("/")

        def get(path):
            begun = time.monotonic()
            try:
                with urllib.request.urlopen(address + path, timeout=60) as answer:
                    status, body = answer.status, answer.read()
            except urllib.error.HTTPError as error:
                status, body = error.code, error.read()
            return status, body, time.monotonic() - begun

        # What was written this very moment may still be growing.
        time.sleep(4)
        runs = json.loads(get("/api/runs")[1])["runs"]
        good = next(urllib.request.quote(run["id"], safe="") for run in runs if "good" in run["path"] + run["id"])
        expected = get(f"/api/report/overview?run={good}")
        if expected[0] != 200:
            fail(f"serve: {good}: {expected[0]} {expected[1][:200]}")
        good_seconds = []

        def ask_hostile(run):
            """What a run is refused with, if it is."""
            if process.poll() is not None:
                return fail(f"serve: died with {process.returncode} before {run['id']}")
            status, body, seconds = get(f"/api/report/overview?run={urllib.request.quote(run['id'], safe='')}")
            if status >= 500 and status != 504:
                fail(f"serve: {run['id']}: {status} {body[:200]}")
            if seconds > SECONDS + 2:
                fail(f"serve: {run['id']}: {seconds:.1f} s")
            return status

        with concurrent.futures.ThreadPoolExecutor(clients) as pool:
            asked = [pool.submit(ask_hostile, run) for run in runs]
            while process.poll() is None and (not good_seconds or not all(one.done() for one in asked)):
                status, body, seconds = get(f"/api/report/overview?run={good}")
                good_seconds.append(seconds)
                if (status, body) != expected[:2]:
                    fail(f"serve: {good}: {status}")
                time.sleep(0.02)
        refused = sum(one.result() != 200 for one in asked)
        if process.poll() is not None:
            return fail(f"serve: died with {process.returncode}")
        good_seconds.sort()
        rank = good_seconds[len(good_seconds) * 99 // 100]
        if clients > 1 and rank > 0.5:
            fail(f"serve: {good} takes {rank * 1000:.0f} ms (99 of 100), where 500 ms may be")
        peak = next(line for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
        print(
            f"served {len(runs)} runs to {clients} clients, {refused} of them refused; {good} meanwhile {len(good_seconds)} times, "
            f"in {rank * 1000:.0f} ms (99 of 100), {good_seconds[-1] * 1000:.0f} ms at most; {peak}"
        )
    finally:
        process.terminate()
        process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--shared", type=pathlib.Path, help="more such files: ../shared/hostile")
    parser.add_argument("--whole", action="store_true", help="more questions, and files 8 times as large")
    parser.add_argument("--only", default="", help="files with this word in their names")
    parser.add_argument("--limit", help="ask with this --memory-limit, such as 256MiB, and hold the program to it")
    parser.add_argument("--served", type=int, default=0, metavar="N", help="serve N folders of them to four clients at once, and time what a fifth gets")
    parser.add_argument("--no-serve", action="store_true", help="without the served folder")
    given = parser.parse_args()
    binary = given.bin.resolve()
    begun = time.monotonic()
    env = {**os.environ, "HALOSCOPE_CACHE": "off"}
    slowest, count = [], 0
    with tempfile.TemporaryDirectory(prefix="haloscope-hostile-") as folder:
        folder = pathlib.Path(folder)
        # In a process of its own: what this one has resident counts for those that it starts, until they are what they are.
        made = [sys.executable, pathlib.Path(__file__).with_name("bombs.py"), folder, "8" if given.whole else "1", given.only]
        subprocess.run([str(part) for part in made], check=True)
        sessions = sorted(folder.glob("session-*"))
        files = [path for path in sorted(folder.glob("*/plugins/profile/run/*")) if path.parents[3] not in sessions]
        for path in files + sessions:
            count += 1
            check(binary, path, env, given.whole, given.limit, slowest)
        shared = sorted(given.shared.iterdir()) if given.shared and given.shared.is_dir() else []
        if given.shared and not shared:
            print(f"skipped: no {given.shared} here")
        for path in shared:
            if given.only in path.name and not path.name.endswith((".py", ".md")):
                for one in [path] if path.is_file() else [p for p in path.iterdir() if p.is_dir()] if path.name == "multimember" else [path]:
                    count += 1
                    check(binary, one, env, given.whole, given.limit, slowest)
        if not given.no_serve and not given.limit:
            root = pathlib.Path(__file__).resolve().parents[2]
            shutil.copytree(root / "fixtures" / "runs" / "tpu-train" / "plugins", folder / "good" / "plugins", copy_function=shutil.copyfile)
            repeat(folder, given.served)
            serve(binary, folder, env, 4 if given.served else 1)
    slowest.sort(reverse=True)
    print("nearest to their bounds:")
    for over, resident, seconds, label, status in slowest[:5]:
        print(f"  {resident / MIB:.0f} MiB, {-over / MIB:.0f} MiB below, {seconds:.1f} s, exit {status}: {label}")
    slowest.sort(key=lambda row: -row[2])
    for over, resident, seconds, label, status in slowest[:3]:
        print(f"  {seconds:.1f} s, {resident / MIB:.0f} MiB, exit {status}: {label}")
    print(f"{count} files, {len(slowest)} questions, {time.monotonic() - begun:.0f} s, {len(failures)} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
