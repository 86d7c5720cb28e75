"""Asks workers about a run of many hosts, and one process about the same: answers must be the same bytes. Prints what each took.

    python3 tests/query/cluster.py --query FOLDER/debug/haloscope-query [--hosts 64 256] [--workers 3]

The hosts are copies of those of fixtures. Workers are processes of this machine, so seconds of wall time say little: CPU seconds say what
work there is, and peaks of resident memory (`VmHWM`, mapped files counted) what a worker needs. A worker may take as much as two of the
largest files unpacked and 256 MiB.
"""

import argparse
import gzip
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNS = ROOT / "fixtures/runs"
TOKEN = "a-token-of-this-measurement"
ROOM = 256 << 20
QUESTIONS = {
    "GROUP BY": "SELECT host, kind, count(*), sum(dur_ps) FROM event GROUP BY 1, 2 ORDER BY 1, 2",
    "join": "SELECT d.host, d.type, count(*) FROM device d LEFT JOIN event e ON e.device = d.device AND e.kind = 'op' GROUP BY 1, 2 ORDER BY 1, 2",
    "part('hosts')": "SELECT host, part_bytes FROM part('hosts') ORDER BY host",
    **{f"analysis('{name}')": f"SELECT * FROM analysis('{name}')" for name in ("overview", "ops", "steps", "hosts", "comm", "idle", "diagnose")},
    "analysis('memory peak')": "SELECT * FROM analysis('memory peak')",
}


def made(folder: pathlib.Path, hosts: int) -> int:
    """Files of so many hosts; the size of the largest."""
    files = sorted((RUNS / "tpu-train").rglob("*.xplane.pb.gz")) + sorted((RUNS / "tpu-run-scan").rglob("*.xplane.pb*"))
    unpacked = [gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes() for path in files]
    session = folder / "logs/plugins/profile/2026_01_01_00_00_00"
    session.mkdir(parents=True)
    for host in range(hosts):
        (session / f"w-{host:03}.xplane.pb").write_bytes(unpacked[host % len(unpacked)])
    return max(len(data) for data in unpacked)


def memory(process: int) -> int:
    """The most that a process had resident, in bytes."""
    for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    return 0


def cpu(process: int) -> float:
    """CPU seconds of a process so far."""
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Worker:
    """A worker of this machine."""

    def __init__(self, program: str, root: pathlib.Path, token: pathlib.Path, cache: str):
        words = [program, "worker", "--listen", "127.0.0.1:0", "--roots", root, "--token-file", token]
        self.process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env={**os.environ, "HALOSCOPE_CACHE": cache})
        self.url = self.process.stderr.readline().split()[-1]


def asked(words: list) -> tuple:
    """Exit code, stdout, stderr, wall seconds, CPU seconds and peak bytes of a process."""
    begun = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(words, stdout=out, stderr=err, env={**os.environ, "HALOSCOPE_CACHE": "off"})
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - begun
        out.seek(0)
        err.seek(0)
        return process.returncode, out.read(), err.read().decode(), wall, used.ru_utime + used.ru_stime, used.ru_maxrss << 10


def measure(program: str, hosts: int, workers: int, questions: dict, is_kept: bool) -> list:
    """Asks all questions both ways; what is wrong. With `is_kept` workers have a cache, and others that have it too are asked again."""
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        largest = made(folder, hosts)
        token = folder / "token"
        token.write_text(TOKEN)
        run = folder / "logs"
        print(f"\n{hosts} files, {workers} workers; the largest file has {largest / 1e6:.1f} MB\n")
        print("| question | one process: wall s | CPU s | MiB | workers: wall s | CPU s of all | who asks, MiB | largest worker, MiB |")
        print("|---|---:|---:|---:|---:|---:|---:|---:|")
        most = 0
        if is_kept:
            # Of what was written a moment ago nothing is kept.
            time.sleep(2.5)
        asking = [(name, question, f"{number}") for number, (name, question) in enumerate(questions.items())]
        if is_kept:
            asking = [one for name, question, at in asking for one in ((name, question, at), (f"{name}, again", question, at))]
        for name, question, at in asking:
            # Anew for each question, so that peaks are its own.
            # One cache: with other addresses workers have other files.
            cache = str(folder / f"cache-{at}") if is_kept else "off"
            all_workers = [Worker(program, run, token, cache) for _ in range(workers)]
            try:
                words = [program, run, question, "--format", "csv"]
                code, own, said, wall, seconds, peak = asked(words)
                cluster = ["--cluster", ",".join(worker.url for worker in all_workers), "--token-file", token]
                spread = asked([*words, *cluster])
                peaks = [memory(worker.process.pid) for worker in all_workers]
                there = sum(cpu(worker.process.pid) for worker in all_workers)
            finally:
                for worker in all_workers:
                    worker.process.kill()
                    worker.process.wait()
            if (code, own) != spread[:2]:
                wrong.append(f"{hosts} files: {name}: {code} and {spread[0]}: {said} {spread[2]}")
            most = max(most, *peaks)
            nothing = "" if code == 0 else f" (exit code {code})"
            print(
                f"| {name}{nothing} | {wall:.1f} | {seconds:.1f} | {peak / 2**20:.0f} | {spread[3]:.1f} | {spread[4] + there:.1f} "
                f"| {spread[5] / 2**20:.0f} | {max(peaks) / 2**20:.0f} |",
                flush=True,
            )
        if most > 2 * largest + ROOM:
            wrong.append(f"{hosts} files: a worker had {most} bytes resident, and may have {2 * largest + ROOM}")
    return wrong


def main() -> None:
    """Exits with 1 where an answer differs, or a worker takes more than it may."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    arguments.add_argument("--query", required=True)
    arguments.add_argument("--hosts", type=int, nargs="+", default=[64])
    arguments.add_argument("--workers", type=int, default=3)
    arguments.add_argument("--canned", action="store_true", help="the canned questions too")
    arguments.add_argument("--kept", action="store_true", help="workers have a cache, and each question is put again, to new ones")
    arguments.add_argument("--only", nargs="+", default=[], help="questions whose names begin so")
    given = arguments.parse_args()
    program = str(pathlib.Path(given.query).resolve())
    listed = subprocess.run([program, "--questions"], check=True, capture_output=True, text=True).stdout
    canned = [line.split("`")[1] for line in listed.splitlines() if "`@" in line] if given.canned else []
    questions = {**QUESTIONS, **{f"`{name}`": name for name in canned}}
    if given.only:
        questions = {name: sql for name, sql in questions.items() if name.startswith(tuple(given.only))}
    wrong = [one for hosts in given.hosts for one in measure(program, hosts, given.workers, questions, given.kept)]
    print("\n".join(["", *wrong]) if wrong else "\nall answers are the same")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
