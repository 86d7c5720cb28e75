"""Makes parts of a run of many hosts on a Dask cluster of processes, one of which is killed meanwhile, and holds every answer from the
parts against that of the whole run.

    python3 tests/parts/run.py --bin target/release/haloscope [--hosts 24]

The hosts are copies of those of a fixture. What is needed is fetched once from PyPI (dask and distributed) into target/peers/parts.
"""

import argparse
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = ROOT / "target/peers/parts"
DASK = "distributed==2026.1.1"
FIXTURE = ROOT / "fixtures/runs/tpu-train/plugins/profile/2026_01_01_00_00_00"
QUESTIONS = ["overview", "diagnose", "idle", "steps", "hosts", "comm", "ops", "memory peak"]


def install():
    """Runs this file again in the environment that has Dask."""
    python = PEERS / "venv/bin/python"
    if not (PEERS / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", PEERS / "venv"], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", DASK], check=True)
        (PEERS / "ready").write_text("")
    if pathlib.Path(sys.prefix) != PEERS / "venv":
        os.execv(python, [str(python), *sys.argv])


def part(file, to, binary, killed):
    """What a worker does. The first that takes the file `killed` dies of it."""
    marker = pathlib.Path(to).with_name("killed")
    if file == killed and not marker.exists():
        marker.write_text("")
        os.kill(os.getpid(), 9)
    subprocess.run([binary, "part", file, "-o", to, "--format", "json"], check=True, capture_output=True)
    return file


def answer(binary, question, run):
    """An answer without the files that it was read from; 4 where the run has nothing to say on it."""
    words = [binary, *question.split(), run, "--no-cache", "--format", "json"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode == 4:
        return 4
    done.check_returncode()
    report = json.loads(done.stdout)
    report["provenance"].pop("files")
    return report


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--hosts", type=int, default=24)
    args = parser.parse_args()
    install()
    from dask.distributed import Client, LocalCluster

    binary = str(pathlib.Path(args.bin).resolve())
    hosts = [gzip.decompress(path.read_bytes()) for path in sorted(FIXTURE.glob("*.gz"))]
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        run, parts = pathlib.Path(folder, "run"), pathlib.Path(folder, "parts")
        run.mkdir()
        files = [run / f"w-{number}.xplane.pb" for number in range(args.hosts)]
        for number, file in enumerate(files):
            file.write_bytes(hosts[number % len(hosts)])
        names = [str(file) for file in files]
        with LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
            asked = client.map(part, names, to=str(parts), binary=binary, killed=names[len(names) // 2], retries=2)
            done = client.gather(asked)
        if not (pathlib.Path(folder, "killed").exists() and done == names):
            failed.append("a worker was killed and its file was done by another")
        if sorted(path.name for path in parts.iterdir()) != sorted(file.name for file in files):
            failed.append("one part a host, and nothing else in the folder")
        for question in QUESTIONS:
            same = answer(binary, question, str(run)) == answer(binary, question, str(parts))
            print(f"{'ok  ' if same else 'FAIL'}  {question}", flush=True)
            if not same:
                failed.append(question)
        sizes = [sum(path.stat().st_size for path in where.iterdir()) for where in (run, parts)]
        print(f"{args.hosts} hosts: {sizes[0]} bytes, parts {sizes[1]}")
    for name in failed:
        print(f"FAIL  {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
