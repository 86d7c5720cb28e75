#!/usr/bin/env python3
"""A third-party MCP server for XProf gets the same answers from our server as from XProf's own.

    HALOSCOPE_XPROF_MCP=PATH/TO/server.py mcp.py --bin target/release/haloscope

The MCP server is any Python program that speaks MCP over stdio and finds XProf at $XPROF_URL, such as the one of the plugin
xprof-profiling-analysis in github.com/primatrix/skills. It is not part of this project and is not fetched: HALOSCOPE_XPROF_MCP
names a copy, or a URL from which it is read at test time. Without it the test is skipped, and says so. HALOSCOPE_MCP_PYTHON names
a Python that has what it needs (mcp and httpx); without it a virtual environment is made for the test.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "parity"), str(ROOT / "tests" / "conformance")]
from answers import NUMBER, Result, compare  # noqa: E402
from live import REPEATS, free_port, lay_out, ours, xprof  # noqa: E402

# Servers of the kind are written against the first version of the protocol's Python package.
NEEDS = ["mcp[cli]<2", "httpx"]
# The tool of XProf that a tool of the MCP server reads, where answers of it vary from run to run.
READS = {"xprof_memory": "memory_profile", "xprof_op_profile": "op_profile"}


class Mcp:
    """A client of an MCP server over stdio: JSON-RPC, one message a line."""

    def __init__(self, python, program, url):
        # Sets in the same order in both processes: what ties must not depend on it.
        environment = {**os.environ, "XPROF_URL": url, "PYTHONHASHSEED": "0"}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([python, program], env=environment, encoding="utf-8", **pipes)
        self.last = 0
        about = {"name": "haloscope-test", "version": "1"}
        self.ask("initialize", protocolVersion="2024-11-05", capabilities={}, clientInfo=about)
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, **params):
        self.last += 1
        self.send({"id": self.last, "method": method, "params": params})
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self.last:
                if "error" in message:
                    raise SystemExit(f"mcp.py: {method}: {message['error']}")
                return message["result"]
        raise SystemExit(f"mcp.py: the MCP server ended at {method}")

    def call(self, tool, **arguments):
        """Whether it was an error, and the text."""
        result = self.ask("tools/call", name=tool, arguments=arguments)
        return result.get("isError", False), "".join(part.get("text", "") for part in result["content"])

    def stop(self):
        self.process.kill()
        self.process.wait()


def program(folder):
    """The MCP server, or None with the reason printed."""
    given = os.environ.get("HALOSCOPE_XPROF_MCP", "")
    if "://" in given:
        path = folder / "server.py"
        try:
            with urllib.request.urlopen(given, timeout=60) as answer:
                path.write_bytes(answer.read())
        except OSError as error:
            print(f"skipped: {given} cannot be read: {error}")
            return None
        return path
    if not given or not pathlib.Path(given).is_file():
        print(f"skipped: HALOSCOPE_XPROF_MCP names no MCP server for XProf ({given or 'it is not set'})")
        return None
    return pathlib.Path(given)


def python(folder):
    given = os.environ.get("HALOSCOPE_MCP_PYTHON")
    if given:
        return given
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    own = str(folder / "venv" / "bin" / "python")
    subprocess.run([own, "-m", "pip", "install", "--quiet", *NEEDS], check=True)
    return own


def calls(tools, runs, tags, modules):
    """What is asked: every tool with the arguments that it demands, for every run."""
    for tool in tools:
        demanded = tool["inputSchema"].get("required", [])
        if demanded == []:
            yield tool["name"], {}
        elif demanded == ["run"]:
            for run in runs:
                yield tool["name"], {"run": run}
        elif demanded == ["run_a", "run_b"]:
            for run in runs:
                yield tool["name"], {"run_a": runs[0], "run_b": run}
        elif demanded == ["run", "tag"]:
            for run in runs:
                for tag in tags[run]:
                    yield tool["name"], {"run": run, "tag": tag, "module_name": modules[run] if tag == "memory_viewer" else ""}
        else:
            print(f"not asked: {tool['name']} demands {demanded}")


# An MCP server may cut a long answer in the middle of a line and say how long it was.
CUT = re.compile(r"^\.\.\. \(truncated, total (\d+) chars\)$")


def shown(text, url):
    """What an answer says, without the address of the server behind it; a text that was cut as its lines."""
    text = text.replace(url, "")
    try:
        return json.loads(text)
    except ValueError:
        return text.splitlines()


def compare_cut(want, got):
    """The start of two long answers: of the same length within 1%, and 95% of the lines. XProf orders ties, and maps of a trace,
    by a hash, so that lines may stand elsewhere and others be cut off; of a trace only the length says something."""
    lengths = [int(found.group(1)) for found in map(CUT.match, (want[-1], got[-1])) if found]
    if len(lengths) != 2 or abs(lengths[0] - lengths[1]) > 0.01 * lengths[0]:
        return [f"XProf: {want[-1]}, Haloscope: {got[-1]}"]
    if any('"stackFrames"' in line or '"traceEvents"' in line for line in want):
        return []
    rough = lambda lines: collections.Counter(NUMBER.sub(lambda n: f"{float(n.group()):.6g}", line) for line in lines[:-2])
    missing = rough(want) - rough(got)
    few = sum(missing.values()) <= 0.05 * len(want)
    return [] if few else [f"XProf: {line.strip()}, Haloscope: not there" for line in missing]


def judge(name, want, got, urls):
    """What differs in two answers, or nothing."""
    (refused, theirs), (failed, ours) = want, got
    if refused:  # an answer where XProf's server gives up is no difference
        return []
    if failed:
        return [f"XProf: {theirs[:200]}", f"Haloscope: {ours[:200]}"]
    theirs, ours = shown(theirs, urls[0]), shown(ours, urls[1])
    if isinstance(theirs, list) and isinstance(ours, list) and theirs and ours and CUT.match(str(theirs[-1])):
        return compare_cut(theirs, ours)
    result = Result()
    compare(theirs, ours, "$", result)
    share = result.good / result.leaves if result.leaves else 1.0
    return result.wrong if share < REPEATS.get(READS.get(name), 1.0) else []


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--bin", required=True)
    a = options.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="haloscope-mcp-"))
    running, bad, asked = [], 0, 0
    try:
        mcp = program(folder)
        if mcp is None:
            return 0
        lay_out(folder / "xprof")
        lay_out(folder / "ours")
        ports = [free_port() for _ in range(3)]
        servers = [xprof(folder / "xprof", *ports[:2]), ours(a.bin, folder / "ours", ports[2])]
        running += servers
        urls = [f"http://127.0.0.1:{port}" for port in (ports[0], ports[2])]
        own = python(folder)
        clients = [Mcp(own, str(mcp), url) for url in urls]
        running += clients
        runs = json.loads(servers[0].get("runs")[1])
        tags = {run: json.loads(servers[0].get("run_tools", run=run)[1]) for run in runs}
        modules = {run: servers[0].get("module_list", run=run)[1].decode().split(",")[0] for run in runs}
        for name, arguments in calls(clients[0].ask("tools/list")["tools"], runs, tags, modules):
            wrong = judge(name, *(client.call(name, **arguments) for client in clients), urls)
            asked, bad = asked + 1, bad + bool(wrong)
            print(f"{'DIFFERS' if wrong else 'ok':8} {name:24} {' '.join(v for v in arguments.values() if v)}", flush=True)
            for line in wrong[:5]:
                print(f"         {line}")
    finally:
        for one in running:
            one.stop()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"mcp: {asked} answers, {bad} differ")
    return 1 if bad or not asked else 0


if __name__ == "__main__":
    sys.exit(main())
