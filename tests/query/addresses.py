#!/usr/bin/env python3
"""Asks workers about a run in each kind of object store, and one process about the same: answers must be the same bytes, and what a
worker has brought it does not bring again.

    python3 tests/query/addresses.py --query FOLDER/debug/haloscope-query [--out target/remote] [--only s3|gs|az]

The stores are the emulators of tests/remote, which says where they come from.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/remote"))

import links  # noqa: E402
import stores  # noqa: E402

RUN = ROOT / "fixtures/runs/tpu-train"
TOKEN = "a-token-of-this-test"
QUESTIONS = {
    "events": "SELECT host, kind, count(*), sum(dur_ps) FROM event GROUP BY 1, 2 ORDER BY 1, 2",
    "an analysis": "SELECT * FROM analysis('overview')",
}

failures = []


def check(holds, what, more=""):
    print(f"{'ok    ' if holds else 'FAILED'} {what}{'' if holds else f': {str(more)[:600]}'}", flush=True)
    if not holds:
        failures.append(what)


class Asked:
    """haloscope-query with an environment that knows nothing of this machine's stores."""

    def __init__(self, program, out):
        self.program, self.out = program, out
        self.clean = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "GOOGLE_", "AZURE_"))}

    def environment(self, env, cache):
        return {**self.clean, "HOME": str(self.out), "HALOSCOPE_CACHE": str(cache), **env}

    def __call__(self, *words, env, cache):
        command = [self.program, *words, "--format", "csv"]
        return subprocess.run(command, capture_output=True, env=self.environment(env, cache), timeout=300)

    def worker(self, root, token, env, cache):
        """A worker, and its address."""
        words = [self.program, "worker", "--listen", "127.0.0.1:0", "--roots", root, "--token-file", token]
        process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=self.environment(env, cache))
        return process, process.stderr.readline().split()[-1]


def store(name, ask, out, python):
    """One store: two workers, then others that have nothing to do with its folder."""
    files = sorted(RUN.rglob("*.xplane.pb*"))
    keys = [(f"logs/plugins/profile/a-run/{path.name}", str(path)) for path in files]
    server, port, url, env = stores.ALL[name](out, python, keys)
    workers = []
    try:
        link = links.Link(port)
        env = env(link.port)
        token = out / "token"
        token.write_text(TOKEN)
        fresh = lambda: tempfile.mkdtemp(dir=out)
        workers = [ask.worker(f"{url}/logs", token, env, fresh()) for _ in range(2)]
        cluster = ["--cluster", ",".join(address for _, address in workers), "--token-file", token]
        own = fresh()
        for what, sql in QUESTIONS.items():
            here = ask(f"{url}/logs", sql, env=env, cache=own)
            there = ask(f"{url}/logs", sql, *cluster, env=env, cache="off")
            same = here.returncode == there.returncode == 0 and here.stdout == there.stdout
            check(same and len(here.stdout.splitlines()) > 1, f"{name}: {what}: workers say what one process says", here.stderr + there.stderr)
        before = link.passed
        again = ask(f"{url}/logs", QUESTIONS["events"], *cluster, env=env, cache="off")
        passed = link.passed - before
        smallest = min(path.stat().st_size for path in files)
        check(again.returncode == 0 and passed < smallest, f"{name}: what a worker has it does not bring again", f"{passed} bytes {again.stderr}")
        outside, address = ask.worker(f"{url}/other", token, env, fresh())
        workers.append((outside, address))
        refused = ask(f"{url}/logs", QUESTIONS["events"], "--cluster", address, "--token-file", token, env=env, cache="off")
        check(refused.returncode == 3 and b"outside" in refused.stderr, f"{name}: an address outside of its roots is refused", refused.stderr)
    finally:
        for process, _ in workers:
            process.kill()
            process.wait()
        server.kill()
        server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--query", required=True, type=Path)
    parser.add_argument("--out", default=Path("target/remote"), type=Path)
    parser.add_argument("--only", choices=list(stores.ALL))
    asked = parser.parse_args()
    tools = asked.out.resolve()
    tools.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=tools) as folder:
        ask = Asked(asked.query.resolve(), Path(folder))
        for name in stores.ALL:
            if asked.only in (None, name):
                store(name, ask, Path(folder), stores.tools(tools))
    sys.exit(f"{len(failures)} checks failed" if failures else None)


if __name__ == "__main__":
    main()
