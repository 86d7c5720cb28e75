#!/usr/bin/env python3
"""Asks for the LLO of kernels as XProf does, over HTTP and on the command line, and holds the answers against XProf's recorded ones.

    run.py CORPUS --bin target/release/haloscope [--traces FOLDER] [--only REGEX] [--out FOLDER]

CORPUS holds `<kernel>/oracle/index.json` with XProf's answers, the XSpace beside them (of `real-<name>` it is the profile
`real/<name>` below --traces), `facts.json`, and `compare_llo.py`, which compares leaf by leaf and knows where XProf is wrong. Every
answer must be there, and every leaf right. One op of each run is also asked on the command line, and must have the same bytes.
Needs Python 3.9 and nothing else.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "load"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from facts import facts_of  # noqa: E402
from server import Server  # noqa: E402


def profile_of(kernel, traces):
    """The XSpace of a folder of the corpus, or None."""
    own = kernel / "xspace.pb.gz"
    if own.exists():
        return own
    named = re.match(r"real-(.*)", kernel.name)
    found = sorted((traces / "real" / named[1]).rglob("*.xplane.pb*")) if named and traces else []
    return found[0] if found else None


class Asked:
    """Questions about one run, by HTTP."""

    def __init__(self, http, run):
        self.http, self.run = http, run

    def bytes(self, **params):
        query = urllib.parse.urlencode({"tag": "llo", "run": self.run, **params})
        status, body = self.http.bytes(f"/data?{query}")
        if status != 200:
            sys.exit(f"{self.run} {params}: status {status}: {body[:500]!r}")
        return body

    def json(self, **params):
        return json.loads(self.bytes(**params))

    def report(self, analysis, **params):
        query = urllib.parse.urlencode({"run": self.run, **params})
        status, body = self.http.bytes(f"/api/report/{analysis}?{query}")
        return json.loads(body) if status == 200 else None


def answers(asked, index):
    """What each file of the index is to hold."""
    for entry in index:
        mode, op = entry["mode"], entry.get("hlo_op", "")
        if mode == "debug_string" or entry.get("reached") is False:
            continue
        if mode == "source_for_bundle":
            yield entry["file"], {str(b): asked.json(mode=mode, hlo_op=op, bundle=b) for b in entry["bundles"]}
        else:
            yield entry["file"], asked.json(mode=mode, hlo_op=op)


def same_on_the_command_line(binary, profile, asked, index):
    """How many answers about the last op have other bytes on the command line."""
    ops = [entry for entry in index if entry.get("hlo_op")]
    differ = 0
    for entry in [e for e in ops if e["hlo_op"] == ops[-1]["hlo_op"]]:
        params = {"mode": entry["mode"], "hlo_op": entry["hlo_op"]}
        words = [word for key, value in params.items() for word in ("-p", f"{key}={value}")]
        done = subprocess.run([binary, "xprof", "llo", profile, *words], capture_output=True)
        if done.stdout != asked.bytes(**params):
            differ += 1
            print(f"{asked.run} {params}: the command line answers otherwise: {done.stdout[:200]!r} {done.stderr[:200]!r}")
    return differ


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", type=pathlib.Path)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--traces", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    compare = args.corpus / "compare_llo.py"
    if not compare.exists():
        print(f"skipped: {compare} is not here")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        logs, out = pathlib.Path(folder) / "logs", args.out or pathlib.Path(folder) / "answers"
        kernels = {}
        for kernel in sorted(args.corpus.iterdir()):
            if not (kernel / "oracle" / "index.json").exists() or not re.search(args.only, kernel.name):
                continue
            source = profile_of(kernel, args.traces)
            if source is None:
                print(f"skipped: {kernel.name}: its profile is not here")
                continue
            session = logs / kernel.name / "plugins" / "profile" / "run"
            session.mkdir(parents=True)
            profile = session / ("host.xplane.pb" + (".gz" if source.suffix == ".gz" else ""))
            shutil.copyfile(source, profile)
            kernels[kernel.name] = profile
        # What was written this very moment may still be growing: the server waits until it does not.
        time.sleep(3)
        differ, begun = 0, time.monotonic()
        with Server(args.bin, logs) as server:
            http = server.connect()
            status, body = http.bytes("/runs")
            by_kernel = {run.split("/")[0]: run for run in json.loads(body)}
            for name, profile in kernels.items():
                asked = Asked(http, by_kernel[name])
                index = json.loads((args.corpus / name / "oracle" / "index.json").read_text())
                (out / name).mkdir(parents=True, exist_ok=True)
                for file, answer in answers(asked, index):
                    (out / name / f"{file}.json").write_text(json.dumps(answer))
                (out / name / "facts.json").write_text(json.dumps(facts_of(asked)))
                differ += same_on_the_command_line(args.bin, profile, asked, index)
        print(f"asked in {time.monotonic() - begun:.1f} s")
        only = ["--only", args.only or ("" if args.traces else "^(?!real-)")]
        wrong = subprocess.run([sys.executable, compare, out, args.corpus, *only]).returncode
    failed = (wrong != 0) + (differ != 0)
    print(f"{2 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
