#!/usr/bin/env python3
"""XProf's recorded answers to profiles that are not ours, asked of the program and of its server in one run.

    compare_both.py SHARED --bin target/release/haloscope [--jobs N] [--only REGEX]

SHARED holds `parity/compare.py`, which compares leaf by leaf, and `traces`, whose sessions have the recorded answers. Every
answer of the server must be the program's, byte for byte once parsed; it is held against XProf's once. Sessions run side by
side, each with its output in one block. Needs Python 3.9 and nothing else.
"""
import argparse
import concurrent.futures
import contextlib
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
KNOWN = ROOT / "fixtures" / "parity" / "known.json"


def sessions(traces):
    """Names of the sessions that have recorded answers, those with most to compare first."""
    found = {path.parent.name[: -len(".oracle")]: path for path in traces.rglob("*.oracle/index.json")}
    size = lambda path: sum(one.stat().st_size for one in path.parent.iterdir())  # noqa: E731
    return sorted(found, key=lambda name: (-size(found[name]), name))


@contextlib.contextmanager
def served(binary, folder):
    """The address of a server over a folder."""
    command = [binary, "serve", str(folder), "--port", "0", "--no-token"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            address = None
            for line in server.stdout:
                address = re.search(r"http://[^/]*", line)
                if address:
                    break
            if not address:
                raise SystemExit(f"compare_both.py: {binary} does not serve")
            yield address.group()
        finally:
            server.kill()


def one_session(shared, binary, url, name, report):
    """Compares one session in this process, as compare.py does; its exit status."""
    spec = importlib.util.spec_from_file_location("compare", shared / "parity" / "compare.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    traces = shared / "traces"
    over_http = module.ask_url

    def both(url, run, tool, params, route="data"):
        theirs = over_http(url, run, tool, params, route)
        if not tool:
            return theirs
        folder, session = os.path.split(run)
        ours = module.ask_bin(binary, tool, params, str(traces / folder / "plugins" / "profile" / session))
        if ours != theirs:
            raise RuntimeError("the server answers otherwise than the program")
        return ours

    module.ask_url = both
    sys.argv = ["compare.py", str(traces), "--url", url, "--only", f"^{re.escape(name)}$", "--known", str(KNOWN), "--json", str(report)]
    return module.main()


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("shared", type=pathlib.Path)
    options.add_argument("--bin", required=True)
    options.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 1) // 2), help="sessions at a time")
    options.add_argument("--only", default="", help="regular expression on the name of the session")
    options.add_argument("--session", help=argparse.SUPPRESS)
    options.add_argument("--url", help=argparse.SUPPRESS)
    options.add_argument("--report", help=argparse.SUPPRESS)
    a = options.parse_args()
    if a.session:
        return one_session(a.shared, a.bin, a.url, a.session, a.report)
    names = [name for name in sessions(a.shared / "traces") if re.search(a.only, name)]
    if not names:
        raise SystemExit(f"compare_both.py: no session with recorded answers below {a.shared}/traces")
    good, rows = [], []
    with tempfile.TemporaryDirectory(prefix="haloscope-recorded-") as scratch, served(a.bin, a.shared / "traces") as url:

        def compare(name):
            report = pathlib.Path(scratch) / f"{name}.json"
            command = [sys.executable, __file__, str(a.shared), "--bin", a.bin, "--session", name, "--url", url, "--report", str(report)]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            return name, done, json.loads(report.read_text()) if report.exists() else None

        with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
            for name, done, report in pool.map(compare, names):
                # The last lines of compare.py are sums, which stand once below for all.
                print(done.stdout.split("\nper tool\n")[0].rstrip() if report else done.stdout, flush=True)
                good.append(done.returncode == 0 and report is not None)
                rows += report or []
    leaves, right = sum(row["total"] for row in rows), sum(row["good"] for row in rows)
    print(f"\n{len(rows)} recorded answers of {len(names)} sessions, from the program and over HTTP: {right} of {leaves} leaves")
    print("sessions that differ: " + (", ".join(name for name, is_good in zip(names, good) if not is_good) or "none"))
    print(f"{sum(good)} passed, {len(good) - sum(good)} failed")
    return 0 if all(good) and rows else 1


if __name__ == "__main__":
    sys.exit(main())
