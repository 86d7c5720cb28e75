#!/usr/bin/env python3
"""Asks XProf's own server and ours the same questions about the runs under fixtures/runs, over HTTP, as a page would.

    live.py --bin target/release/haloscope [--only REGEX] [--tools T1,T2] [--wrong N] [--known FILE] [--live] [--record]

What XProf said is recorded (tests/conformance/recorded.py), and XProf is asked only about runs that are new or otherwise than they were.
With --live it is asked everything, and what is recorded must come out again; --record writes it. XProf is the one of PyPI,
installed as tests/conformance/run.py does (HALOSCOPE_XPROF_PYTHON names another Python that has it).
The lists of runs, tools, hosts and modules must be the same bytes; the answers of every tool that both offer are compared leaf
by leaf. Exit status 0 where everything agrees, or is excused by the list of known differences. Needs Python 3.9 and no more.
"""
import argparse
import collections
import contextlib
import gzip
import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "conformance"))
import recorded  # noqa: E402
from answers import Result, compare, equal_rows, lose, read  # noqa: E402
from run import python_with_xprof  # noqa: E402

# What each tool is asked beside the host; MODULE stands for each HLO module of the run.
MODULE = object()
VARIANTS = {
    "op_profile": [{"group_by": by} for by in ("program", "category", "provenance")],
    "memory_viewer": [{"module_name": MODULE, "memory_space": space} for space in "01"],
    "graph_viewer": [{"module_name": MODULE, "type": kind} for kind in ("short_txt", "long_txt")],
    "trace_viewer@": [{"resolution": "8000"}, {"resolution": "50"}],
}
# Tools that answer though no list has them.
UNLISTED = ("pod_viewer", "smart_suggestion")
# XProf breaks ties by hash order: asked twice, it repeats this share of its own leaves.
REPEATS = {"memory_profile": 0.985, "op_profile": 0.998, "input_pipeline_analyzer": 0.994}

# Asked first, and about one host before all: from the second question about a run on, XProf gives what it kept of the first
# under each host's name, so that only the first answer is about the host that was named.
BY_HOST = "input_pipeline_analyzer"


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


# Answers of generated runs that differ in a few leaves: run, tools, the share that must still agree, and why.
OPEN = [
    (
        "tpu-memory|tpu-run-scan",
        ("framework_op_stats", "hlo_stats", "op_profile", "roofline_model"),
        0.9,
        "XProf's span of a core begins 312 ps earlier: at the first op on the profiler's clock, where elsewhere it takes the device's",
    ),
    ("tpu-memory", ("memory_profile",), 0.95, "of equal allocations XProf shows any one, by the order of a hash map"),
]


class Server:
    """A server that has been started, and what it answers."""

    def __init__(self, command, port):
        self.url = f"http://127.0.0.1:{port}/data/plugin/profile"
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(300):
            with contextlib.suppress(OSError):
                self.get("version")
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.2)
        self.stop()
        raise SystemExit(f"live.py: {command[0]} does not serve")

    def get(self, route, **query):
        """Status and body; a server that hangs up has the status 0."""
        request = urllib.request.Request(f"{self.url}/{route}?{urllib.parse.urlencode(query)}", headers={"Accept-Encoding": "gzip"})
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                body = answer.read()
                return answer.status, gzip.decompress(body) if answer.headers.get("Content-Encoding") == "gzip" else body
        except urllib.error.HTTPError as error:
            body = error.read()
            return error.code, gzip.decompress(body) if error.headers.get("Content-Encoding") == "gzip" else body
        except urllib.error.URLError as error:
            if isinstance(error.reason, ConnectionRefusedError):
                raise
            return 0, str(error).encode()
        except OSError as error:
            return 0, str(error).encode()

    def stop(self):
        self.process.kill()
        self.process.wait()


def xprof(logs, port, grpc_port):
    """XProf's own server over a log folder."""
    start = "import sys; from xprof import server; sys.exit(server.main(sys.argv[1:]))"
    flags = ["--logdir", str(logs), "--port", str(port), "--grpc_port", str(grpc_port)]
    return Server([python_with_xprof(), "-c", start, *flags], port)


class Xprof:
    """XProf's answers about the runs of a log folder: recorded ones, and where there is none those of its server, which is started
    for the first of them. With `live` everything is asked of the server, and held against what is recorded."""

    def __init__(self, logs, live):
        self.logs, self.live, self.server = logs, live, None
        self.kept, self.fresh, self.asked = {}, {}, 0

    @staticmethod
    def file_of(run):
        """The file with the record of a run; lists of runs are in one of their own."""
        return "fixtures-" + (run.split("/")[0] or "all")

    def records(self, run):
        """What is recorded of a run, and what was asked now."""
        if run not in self.kept:
            session = self.logs / "/".join([run.split("/")[0], "plugins", "profile", *run.split("/")[1:]]) if run else self.logs
            names = [(path.as_posix(), b"") for path in self.logs.rglob("*.xplane.pb")] if not run else recorded.contents(session)
            names = [(name.replace(self.logs.as_posix(), ""), content) for name, content in names]
            profile = recorded.profile_hash(names)
            self.kept[run] = recorded.Record(profile, recorded.load(self.file_of(run)).get(run or "all"))
            self.fresh[run] = recorded.Record(profile)
        return self.kept[run], self.fresh[run]

    def get(self, route, **query):
        """Status and body."""
        kept, fresh = self.records(query.get("run", ""))
        question = f"{route}?{urllib.parse.urlencode(sorted(query.items()))}"
        answer = None if self.live else kept.get(question)
        if answer is None:
            if self.server is None:
                self.server = xprof(self.logs, free_port(), free_port())
            answer = self.server.get(route, **query)
            self.asked += 1
        fresh.put(question, *answer)
        return answer

    def stop(self):
        if self.server:
            self.server.stop()

    def changed(self):
        """Questions whose answer is not what is recorded, as far as XProf repeats itself."""
        for run, fresh in self.fresh.items():
            for question in sorted({*fresh.answers, *self.kept[run].answers}):
                now, then = fresh.get(question), self.kept[run].get(question)
                tool = dict(urllib.parse.parse_qsl(question.partition("?")[2])).get("tag", "")
                if now is None or then is None:
                    yield run, question
                elif now != then:
                    word, result, _ = judge(tool, then, now, [])
                    if word not in ("ok", "more") and not (word == "DIFFERS" and is_open(run, tool, share_of(result))):
                        yield run, question

    def write(self):
        """Writes what was asked as the record."""
        files = collections.defaultdict(dict)
        for run, fresh in self.fresh.items():
            files[self.file_of(run)][run or "all"] = fresh
        for file, records in files.items():
            recorded.write(file, records)


def share_of(result):
    return result.good / result.leaves if result.leaves else 0.0


def is_open(run, tool, share):
    """Whether answers to this may differ, down to this share."""
    return any(re.search(where, run) and tool in which and share >= least for where, which, least, _ in OPEN)


def ours(binary, logs, port):
    """Our server over a log folder."""
    return Server([binary, "serve", str(logs), "--port", str(port), "--no-token"], port)


def lay_out(folder):
    """The fixtures' runs, unpacked because XProf reads no packed ones."""
    for source in sorted((ROOT / "fixtures" / "runs").rglob("*.xplane.pb*")):
        target = folder / source.relative_to(ROOT / "fixtures" / "runs")
        target.parent.mkdir(parents=True, exist_ok=True)
        raw = source.read_bytes()
        if target.suffix == ".gz":
            target, raw = target.with_suffix(""), gzip.decompress(raw)
        target.write_bytes(raw)


def questions(theirs, run, tools, chosen):
    """What is asked about a run: tool and parameters."""
    modules = theirs.get("module_list", run=run)[1].decode().split(",")
    for tool in sorted([*tools, *UNLISTED], key=lambda tool: tool != BY_HOST):
        if chosen and tool not in chosen:
            continue
        hosts = [host["hostname"] for host in json.loads(theirs.get("hosts", run=run, tag=tool)[1])]
        if tool == BY_HOST:
            hosts = [host for host in hosts if host != "ALL_HOSTS"][:1] + [host for host in hosts if host == "ALL_HOSTS"]
        for host in hosts:
            for variant in VARIANTS.get(tool, [{}]):
                for module in modules if MODULE in variant.values() else [None]:
                    filled = {k: module if v is MODULE else v for k, v in variant.items()}
                    yield tool, {"host": host, **filled}


def judge(tool, want, got, known):
    """A word for one answer, what was compared, and remarks."""
    result = Result([rule["path"] for rule in known if rule["tool"] in (tool, "*")])
    (status, theirs), (code, ours) = want, got
    if status != 200:
        said = theirs.decode("utf-8", "replace").strip()[:80]
        return ("ok" if code != 200 else "more"), result, [] if code != 200 else [f"XProf: {status} {said}"]
    if code != 200:
        lose(read(theirs), "$", result)
        return "REFUSED", result, [f"{code} {ours.decode('utf-8', 'replace')[:200]}"]
    compare(read(theirs), read(ours), "$", result, equal_rows())
    share = result.good / result.leaves if result.leaves else 1.0
    return ("ok" if share >= REPEATS.get(tool, 1.0) else "DIFFERS"), result, result.wrong


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--bin", required=True)
    options.add_argument("--live", action="store_true", help="ask XProf everything, and fail where the record is not what it says")
    options.add_argument("--record", action="store_true", help="ask XProf everything, and write the record")
    options.add_argument("--only", default="", help="regular expression on the run")
    options.add_argument("--tools", default="", help="comma list")
    options.add_argument("--known", default=str(ROOT / "fixtures" / "parity" / "known.json"))
    options.add_argument("--wrong", type=int, default=5, help="differences shown for each question")
    a = options.parse_args()
    known = [{"tool": k["tool"], "path": re.compile(k["path"])} for k in json.loads(pathlib.Path(a.known).read_text())]
    chosen = a.tools.split(",") if a.tools else []
    words, table = collections.Counter(), collections.defaultdict(collections.Counter)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="haloscope-live-"))
    servers = []
    try:
        lay_out(folder / "xprof")
        lay_out(folder / "ours")
        theirs = Xprof(folder / "xprof", a.live or a.record)
        servers.append(theirs)
        servers.append(ours(a.bin, folder / "ours", free_port()))

        def listed(route, **query):
            want, got = (server.get(route, **query) for server in servers)
            words["ok" if want == got else "LIST"] += 1
            if want != got:
                print(f"LIST     {route} {query}\n         XProf {want}\n         Haloscope {got}")
            return want[1].decode()

        for run in json.loads(listed("runs")):
            if not re.search(a.only, run):
                continue
            tools = json.loads(listed("run_tools", run=run))
            listed("module_list", run=run)
            for tool in tools:
                listed("hosts", run=run, tag=tool)
            for tool, params in questions(servers[0], run, tools, chosen):
                want, got = (server.get("data", run=run, tag=tool, **params) for server in servers)
                word, result, remarks = judge(tool, want, got, known)
                if word == "DIFFERS" and is_open(run, tool, share_of(result)):
                    word = "open"
                words[word] += 1
                table[tool].update({"questions": 1, "ok": word in ("ok", "more"), "leaves": result.leaves, "good": result.good})
                asked = ",".join(f"{k}={v}" for k, v in params.items())
                counts = f"{result.good}/{result.leaves}" + (f" known {result.excused}" if result.excused else "")
                print(f"{word:8} {run:36} {tool:24} {asked:44.44} {counts}", flush=True)
                for line in remarks[: a.wrong] if word != "ok" else []:
                    print(f"         {line}")
    finally:
        for server in servers:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    if a.record:
        theirs.write()
    elif a.live and not a.only and not chosen:
        for run, question in theirs.changed():
            words["RECORD"] += 1
            print(f"RECORD   {run} {question}: XProf says otherwise than is recorded; --record writes it")
    print()
    for tool, row in sorted(table.items()):
        print(f"{tool:26} {row['ok']:4} of {row['questions']:4} questions, {row['good']:7} of {row['leaves']:7} leaves")
    bad = words["DIFFERS"] + words["REFUSED"] + words["LIST"] + words["RECORD"]
    for where, which, _, why in OPEN if words["open"] else []:
        print(f"open: {where}: {', '.join(which)}: {why}")
    print(f"live: {sum(words.values())} questions and lists, {theirs.asked} asked of XProf now, {bad} differ, {words['open']} are open")
    return 1 if bad or not words else 0


if __name__ == "__main__":
    sys.exit(main())
