"""A server and agents' tools over runs that lie on a web server: listed, brought on demand, answered, confined.

    python3 tests/far/run.py --bin target/release/haloscope [RUNS]

RUNS is a folder of runs (fixtures/runs). It is served by a small server of our own with ranges, etags and index pages, which can
be stopped, slowed and asked what was read of it. What the far folder says must be what the near one says.
"""

import argparse
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path


class Files(http.server.SimpleHTTPRequestHandler):
    """Files with ranges and etags, and index pages."""

    protocol_version = "HTTP/1.1"
    asked = []
    pause_s = 0.0
    denies = False

    def log_message(self, *_):
        """Says nothing."""

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        """A file, a part of one, or an index page."""
        Files.asked.append((self.command, self.path))
        if Files.denies:
            return self.send_error(403)
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            return super().do_HEAD() if self.command == "HEAD" else super().do_GET()
        time.sleep(Files.pause_s)
        data = path.read_bytes()
        stat = path.stat()
        first, last = 0, len(data) - 1
        part = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if part:
            first, last = int(part[1]), min(int(part[2] or last), last)
        self.send_response(206 if part else 200)
        self.send_header("Content-Length", str(last - first + 1))
        if part:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", f'"{stat.st_mtime_ns:x}-{stat.st_size:x}"')
        self.send_header("Last-Modified", self.date_time_string(int(stat.st_mtime)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data[first : last + 1])


class Served:
    """`haloscope serve` over a place."""

    def __init__(self, binary, place, cache, *more):
        command = [binary, "serve", str(place), "--port", "0", "--no-token", *more]
        environment = {**os.environ, "HALOSCOPE_CACHE": str(cache)}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        line = self.process.stdout.readline()
        assert line.startswith("serving at "), line
        self.url = line.split()[-1].rstrip("/")

    def get(self, path):
        """Status and JSON, asked again while it is said that the run is not here yet."""
        until = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(self.url + path, timeout=60) as answer:
                    return answer.status, json.loads(answer.read() or b"null")
            except urllib.error.HTTPError as error:
                body = error.read().decode(errors="replace")
                if error.code != 503 or time.monotonic() > until:
                    return error.code, body
                time.sleep(0.5)

    def end(self):
        """Stops it."""
        self.process.terminate()
        self.process.wait()


def rows(report):
    """What a report says, without where its files lie."""
    return report["tables"]


def main():
    """Exits with 1 where something is not as expected."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("runs", nargs="?", default="fixtures/runs", type=Path)
    asked = parser.parse_args()
    failures = []

    def expect(what, holds, seen=""):
        print(f"{'ok    ' if holds else 'FAILED'} {what}" + ("" if holds else f": {str(seen)[:600]}"))
        if not holds:
            failures.append(what)

    work = Path(tempfile.mkdtemp(prefix="haloscope-far-"))
    cache = work / "cache"
    root = work / "www"
    logs = root / "logs"
    for name, below in (("cpu-train", "train"), ("tpu-run-scan", "step_00000100")):
        shutil.copytree(asked.runs / name, logs / below)
    (root / "secret").mkdir()
    shutil.copytree(asked.runs / "cpu-train", root / "secret/run")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *a: Files(*a, directory=str(root)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_address[1]}"

    near = Served(asked.bin, logs, work / "near")
    far = Served(asked.bin, base + "/logs/", cache)
    try:
        _, local = near.get("/api/runs")
        _, there = far.get("/api/runs")
        ids = lambda listing: sorted(run["id"] for run in listing["runs"])  # noqa: E731
        expect("the same runs are listed", ids(local) == ids(there) != [], (ids(local), ids(there)))
        paths = [run["path"] for run in there["runs"]]
        expect("their paths are addresses", all(path.startswith(base + "/logs/") for path in paths), paths)
        expect("nothing is brought before somebody asks", not any("xplane" in p and c == "GET" for c, p in Files.asked), Files.asked)
        for run in ids(there):
            query = urllib.parse.urlencode({"run": run})
            for analysis in ("overview", "ops"):
                one, two = near.get(f"/api/report/{analysis}?{query}"), far.get(f"/api/report/{analysis}?{query}")
                same = one[0] == two[0] == 200 and rows(one[1]) == rows(two[1])
                expect(f"{analysis} of {run} is the same", same, (one[0], two[0], str(two[1])[:300]))
                if two[0] == 200:
                    shown = json.dumps(two[1])
                    expect(f"{analysis} of {run} names the address, not the mirror", str(cache) not in shown and base in shown, shown[:400])

        # XProf's routes, confined.
        session = there["runs"][0]["path"]
        status, answer = far.get("/data/plugin/profile/runs?" + urllib.parse.urlencode({"session_path": session}))
        expect("session_path may be an address below the root", status == 200 and len(answer) == 1, (status, answer))
        parent = session.rstrip("/").rsplit("/", 1)[0]
        status, answer = far.get("/data/plugin/profile/runs?" + urllib.parse.urlencode({"run_path": parent}))
        expect("run_path may be one too", status == 200 and len(answer) >= 1, (status, answer))
        before = len(Files.asked)
        for outside in (f"{base}/secret/run", f"{base}/logs/../secret/run", f"{base}/logs/%2e%2e/secret/run", "http://127.0.0.1:1/x", "gs://b/x"):
            status, answer = far.get("/data/plugin/profile/runs?" + urllib.parse.urlencode({"session_path": outside}))
            expect(f"{outside.replace(base, '')} is refused", status == 403, (status, answer))
        expect("nothing was asked for there", not any("secret" in path for _, path in Files.asked[before:]), Files.asked[before:])

        # The server goes away, and comes again.
        Files.denies = True
        time.sleep(20)
        status, stale = far.get("/api/runs")
        expect("a listing that cannot be had stays, with the reason", status == 200 and ids(stale) == ids(there) and "denied" in (stale["stale"] or {}).get("why", ""), stale.get("stale"))
        Files.denies = False
        time.sleep(20)
        _, again = far.get("/api/runs")
        expect("the reason goes when the place is back", again["stale"] is None, again["stale"])
    finally:
        near.end()
        far.end()

    # Another process finds what was brought.
    before = sum(c == "GET" and "xplane" in p for c, p in Files.asked)
    again = Served(asked.bin, base + "/logs/", cache)
    try:
        run = urllib.parse.urlencode({"run": ids(there)[0]})
        status, _ = again.get(f"/api/report/overview?{run}")
        after = sum(c == "GET" and "xplane" in p for c, p in Files.asked)
        expect("what was brought is not brought again", status == 200 and after == before, (status, before, after))
    finally:
        again.end()

    # `--root URL` beside a near folder.
    rooted = Served(asked.bin, logs, work / "near", "--root", base + "/secret")
    try:
        status, answer = rooted.get("/data/plugin/profile/runs?" + urllib.parse.urlencode({"run_path": f"{base}/secret/run/plugins/profile"}))
        expect("--root URL lets requests name what lies below it", status == 200 and len(answer) >= 1, (status, answer))
        status, _ = rooted.get("/data/plugin/profile/runs?" + urllib.parse.urlencode({"run_path": f"{base}/logs"}))
        expect("and nothing else", status == 403, status)
    finally:
        rooted.end()
    shutil.rmtree(work)
    print(f"{len(failures)} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
