#!/usr/bin/env python3
"""SQL through the other doors: the server started with --sql, the tool for agents, the prompt. With the real programs.

    python3 tests/query/run.py --bin target/debug/haloscope --query FOLDER/debug/haloscope-query
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[2]
RUNS = ROOT / "fixtures" / "runs"
CROSS = "SELECT count(*) FROM event a, event b, event c WHERE a.dur_ps < b.dur_ps OR b.dur_ps < c.dur_ps"


class Server:
    """`haloscope serve --sql` on a free port."""

    def __init__(self, program: str, environment: dict[str, str], *words: str) -> None:
        self.process = subprocess.Popen(
            [program, "serve", str(RUNS), "--port", "0", "--no-token", *words],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        line = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
        assert found, line
        self.port = int(found.group(1))

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, dict]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        text = None if body is None else json.dumps(body)
        connection.request(method, path, text, {} if body is None else {"Content-Type": "application/json"})
        answer = connection.getresponse()
        told = json.loads(answer.read() or b"null")
        connection.close()
        return answer.status, told

    def sql(self, sql: str, **more: object) -> tuple[int, dict]:
        return self.ask("POST", "/api/query", {"sql": sql, **more})

    def id(self, name: str) -> str:
        """The run whose log folder is called so."""
        found = [run["id"] for run in self.ask("GET", "/api/runs")[1]["runs"] if f"/{name}/" in run["path"] + "/"]
        assert len(found) == 1, (name, found)
        return found[0]

    def rows(self, sql: str, **more: object) -> list[dict]:
        status, told = self.sql(sql, **more)
        assert status == 200, (sql, status, told)
        names = [column["name"] for column in told["columns"]]
        return [dict(zip(names, row)) for row in told["rows"]]

    def children(self) -> list[str]:
        """The processes of queries that there are."""
        found = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(self.process.pid)], capture_output=True, text=True, check=False)
        return [line for line in found.stdout.splitlines() if "haloscope-query"[:15] in line]

    def end(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(10)


def table(server: Server, analysis: str, run: str, name: str, extra: str = "") -> list[dict] | None:
    """A table of a report; `None` where the analysis has nothing to say."""
    status, report = server.ask("GET", f"/api/report/{analysis}?run={quote(run)}{extra}")
    if status != 200:
        return None
    of = next(table for table in report["tables"] if table["id"] == name)
    ids = [column["id"] for column in of["columns"]]
    return [dict(zip(ids, row)) for row in of["rows"]]


def runs_of(server: Server) -> list[str]:
    return sorted(run["id"] for run in server.ask("GET", "/api/runs")[1]["runs"])


def test_what_can_be_asked_is_said(server: Server) -> None:
    status, told = server.ask("GET", "/api/query")
    assert status == 200 and {"event", "op", "step", "host"} <= {one["name"] for one in told["tables"]}
    assert len(told["questions"]) == 12 and all(one["sql"].startswith("--") for one in told["questions"])
    event = next(one for one in told["tables"] if one["name"] == "event")
    assert next(one for one in event["columns"] if one["name"] == "dur_ps")["unit"] == "ps"
    assert server.ask("GET", "/api/analyses")[1]["sql"] is True


def test_answers_are_those_of_the_analyses(server: Server) -> None:
    asked = 0
    for run in runs_of(server):
        ops = table(server, "ops", run, "ops")
        if ops is not None:
            found = server.rows("@top-ops", runs=[run])
            assert [row["self_ps"] for row in found] == [row["self_ps"] for row in ops][:50], run
            asked += 1
        idle = table(server, "idle", run, "waterfall")
        if idle is not None:
            found = {row["class"]: row["total_ps"] for row in server.rows("@time-by-class", runs=[run])}
            assert found == {row["class"]: row["total_ps"] for row in idle}, run
            asked += 1
        steps = table(server, "steps", run, "steps")
        if steps is not None:
            found = {row["step"]: row["dur_ps"] for row in server.rows("@slow-steps", runs=[run])}
            assert found == {row["step"]: row["duration_ps"] for row in steps}, run
            asked += 1
    assert asked > 20, asked


def test_several_runs_are_one_database(server: Server) -> None:
    rows = server.rows("SELECT run, count(*) AS n FROM step GROUP BY run ORDER BY run", runs=[server.id("tpu-gate"), server.id("tpu-gate-slower")])
    assert sorted(row["run"].split("/")[0] for row in rows) == ["tpu-gate", "tpu-gate-slower"] and all(row["n"] > 0 for row in rows)


def test_what_is_wrong_is_said_with_its_place(server: Server) -> None:
    status, told = server.sql("SELECT name,\n  duration_ps FROM event", runs=[server.id("tpu-gate")])
    assert status == 400 and "line 2, column 3" in told["error"] and "dur_ps" in told["hint"], told
    status, told = server.sql("SELECT sum(x) FROM (VALUES (9223372036854775807), (1)) AS t(x)", runs=[server.id("tpu-gate")])
    assert status == 400 and "64 bits" in told["error"], told
    status, told = server.sql("SELECT 1", runs=["../../etc"])
    assert status == 404, told


def test_a_query_only_reads_its_runs(server: Server) -> None:
    for sql in [
        "COPY (SELECT 1) TO '/tmp/haloscope-query-test.csv'",
        "CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '/etc/passwd'",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SET datafusion.execution.batch_size = 1",
        "SELECT 1; DROP TABLE step",
    ]:
        status, told = server.sql(sql, runs=[server.id("tpu-gate")])
        assert status == 400, (sql, told)
    assert not Path("/tmp/haloscope-query-test.csv").exists()


def test_rows_and_time_are_bounded(server: Server) -> None:
    status, told = server.sql("SELECT * FROM event", runs=[server.id("tpu-train")], limit=7)
    assert status == 200 and len(told["rows"]) == 7 and told["is_cut"] is True, told
    begun = time.monotonic()
    status, told = server.sql(CROSS, runs=[server.id("tpu-train")], timeout_s=1)
    assert status == 422 and "within 1 s" in told["error"], told
    assert time.monotonic() - begun < 10 and server.children() == []


def test_who_leaves_takes_the_query_along(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("POST", "/api/query", json.dumps({"sql": CROSS, "runs": [server.id("tpu-train")]}), {"Content-Type": "application/json"})
    wait_until(lambda: server.children() != [])
    connection.sock.close()
    connection.close()
    wait_until(lambda: server.children() == [])


def test_page(server: Server) -> None:
    """What a person does on the page, in a browser, where the packages of the page are."""
    if not (ROOT / "web" / "node_modules").exists():
        print("NOT CHECKED: the page: there are no packages; `npm ci` in web/ brings them")
        return
    page = subprocess.run(
        ["node", "tests/e2e/query.mjs", f"http://127.0.0.1:{server.port}"], cwd=ROOT / "web", capture_output=True, text=True, check=False
    )
    assert page.returncode == 0, page.stderr


def test_many_ask_at_once(server: Server) -> None:
    most, counts = [0], []

    def ask() -> None:
        counts.append(server.rows("SELECT count(*) AS n FROM event", runs=[server.id("tpu-train")])[0]["n"])

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        most[0] = max(most[0], len(server.children()))
        time.sleep(0.01)
    assert len(counts) == 8 and len(set(counts)) == 1, counts
    assert most[0] <= max(1, (os.cpu_count() or 2) // 2), most


def wait_until(holds, seconds: float = 30) -> None:
    begun = time.monotonic()
    while not holds():
        assert time.monotonic() - begun < seconds
        time.sleep(0.05)


def test_agents(program: str, environment: dict[str, str], there: bool) -> None:
    """The tool is there where the program is."""
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize",
         "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "sql", "arguments": {
            "sql": "SELECT op, sum(self_ps) AS self_ps FROM op GROUP BY op ORDER BY self_ps DESC, op", "runs": "tpu-train", "limit": 3}}},
        {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "sql", "arguments": {"sql": "SELECT nme FROM event", "runs": "tpu-train"}}},
    ]
    process = subprocess.Popen([program, "mcp", str(RUNS)], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    told: dict[int, dict] = {}
    for message in messages:
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
        if "id" in message:
            answer = json.loads(process.stdout.readline())
            told[answer["id"]] = answer
    process.stdin.close()
    process.wait(20)
    names = [tool["name"] for tool in told[2]["result"]["tools"]]
    assert ("sql" in names) is there, names
    if not there:
        return
    found = told[3]["result"]
    assert not found.get("isError"), found
    rows = found["structuredContent"]["tables"][0]
    assert len(rows["rows"]) == 3 and rows["columns"][1]["unit"] == "ps", rows
    assert found["structuredContent"]["more_rows"] is True
    wrong = told[4]["result"]
    assert wrong["isError"] and "name" in wrong["content"][0]["text"], wrong


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, words: list[str], environment: dict[str, str]) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(words[0], words, environment)
        self.text = ""

    def types(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def asks(self, text: str) -> None:
        """Types a line at the next prompt: what is typed while a program has the terminal is the terminal's to edit."""
        self.shows("sql> ")
        self.types(text)

    def shows(self, text: str, seconds: float = 60) -> str:
        """What has been shown since the last time until this was."""
        until = time.monotonic() + seconds
        while text not in self.text:
            assert time.monotonic() < until, f"no {text!r} in {self.text!r}"
            if select.select([self.fd], [], [], 0.2)[0]:
                try:
                    self.text += os.read(self.fd, 65536).decode(errors="replace")
                except OSError as error:
                    raise AssertionError(f"no {text!r} in {self.text!r}") from error
        at = self.text.index(text) + len(text)
        shown, self.text = self.text[:at], self.text[at:]
        return shown

    def waits(self, seconds: float) -> None:
        """Lets time pass, and forgets what is shown meanwhile: the line that was typed, prompt and all."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if select.select([self.fd], [], [], 0.1)[0]:
                os.read(self.fd, 65536)
        self.text = ""

    def ends(self) -> int:
        until = time.monotonic() + 20
        while time.monotonic() < until:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    os.read(self.fd, 65536)
                except OSError:
                    pass
        raise AssertionError("it does not end")


def test_prompt(program: str, environment: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as state:
        environment = {**environment, "XDG_STATE_HOME": state, "TERM": "xterm"}
        terminal = Terminal([program, "query", str(RUNS / "tpu-train")], environment)
        terminal.asks(".tables\r")
        terminal.shows("launch")
        terminal.asks(".schema step\r")
        terminal.shows("dur_ps")
        # A statement of several lines ends with its semicolon; names are completed.
        terminal.asks("SELECT count(*) AS how_many\r")
        terminal.types("FROM step;\r")
        terminal.shows(" 32\r\n")
        terminal.asks("SELECT device_d\t FROM event WHERE kind = 'op' LIMIT 1;\r")
        terminal.shows("device_dur_ps\r\n")
        terminal.asks("SELECT nme FROM event;\r")
        terminal.shows("the nearest columns are")
        # Ctrl-C ends the query and not the prompt.
        terminal.asks(f"{CROSS};\r")
        terminal.waits(3)
        terminal.types("\x03")
        terminal.asks("SELECT 6 * 7 AS answer_;\r")
        terminal.shows("42")
        terminal.asks("@hosts\r")
        terminal.shows("collective_ps")
        terminal.asks("\x04")
        assert terminal.ends() == 0
        kept = Path(state, "haloscope", "query-history")
        assert "SELECT nme FROM event" in kept.read_text() and kept.stat().st_mode & 0o077 == 0
    # Without a terminal there is none.
    done = subprocess.run([program, "query", str(RUNS / "tpu-train")], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "expected a run" in done.stderr, done


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--bin", required=True)
    arguments.add_argument("--query", required=True)
    arguments.add_argument("--only", default="")
    asked = arguments.parse_args()
    program = str(Path(asked.bin).resolve())
    folder = str(Path(asked.query).resolve().parent)
    plain = {name: value for name, value in os.environ.items() if name not in ("HALOSCOPE_TOKEN", "HALOSCOPE_MEMORY_LIMIT")}
    plain["HALOSCOPE_CACHE"] = "off"
    environment = {**plain, "PATH": f"{folder}:{plain.get('PATH', '')}"}
    failed, passed = 0, 0
    server = Server(program, environment, "--sql")
    tests = {
        name.removeprefix("test_"): (lambda test=test: test(server))
        for name, test in globals().items()
        if name.startswith("test_") and name not in ("test_agents", "test_prompt")
    }
    tests["agents"] = lambda: test_agents(program, environment, True)
    if not (Path(program).parent / "haloscope-query").exists():
        tests["agents_without"] = lambda: test_agents(program, {**plain, "PATH": "/usr/bin:/bin"}, False)
    tests["prompt"] = lambda: test_prompt(program, environment)
    for name, test in tests.items():
        if asked.only not in name:
            continue
        begun = time.monotonic()
        try:
            test()
        except Exception as error:
            failed += 1
            print(f"FAILED {name}: {type(error).__name__}: {error}")
            continue
        passed += 1
        print(f"ok {name}: {time.monotonic() - begun:.1f} s", flush=True)
    server.end()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
