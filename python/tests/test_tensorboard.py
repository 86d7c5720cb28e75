"""The tab in TensorBoard: a real TensorBoard over the fixtures, asked over HTTP."""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator

import pytest

pytest.importorskip("tensorboard")
if sys.platform != "linux":
    pytest.skip("processes are looked for in /proc", allow_module_level=True)

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNS = ROOT / "fixtures/runs"


class Board:
    """A TensorBoard of its own."""

    def __init__(self, logdir: pathlib.Path, *arguments: str) -> None:
        command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(logdir), "--port", "0", *arguments]
        environ = {**os.environ, "HALOSCOPE_CACHE": "off", "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        self.said = ""
        for line in self.process.stderr:
            self.said += line
            found = re.search(r"TensorBoard [\w.]+ at (http://[^\s/]+:(\d+))/", line)
            if found is not None:
                self.port = int(found[2])
                self.address = f"http://127.0.0.1:{self.port}"
                return
        raise AssertionError(self.said)

    def ask(
        self, path: str, method: str = "GET", body: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(self.address + path, body, named, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, {k.lower(): v for k, v in answer.headers.items()}, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, {k.lower(): v for k, v in error.headers.items()}, error.read()

    def page(self, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
        return self.ask(f"/data/plugin/haloscope/page/{path}", "GET", None, **headers)

    def children(self) -> list[int]:
        """Our servers that this process has started."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and f"PPid:\t{self.process.pid}\n" in (entry / "status").read_text():
                    if b"\0serve\0" in (entry / "cmdline").read_bytes():
                        found.append(int(entry.name))
            except OSError:
                continue
        return found

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(how)
        self.process.wait(30)
        assert self.process.stderr is not None
        self.process.stderr.close()


def is_alive(process: int) -> bool:
    try:
        return "\nState:\tZ" not in (pathlib.Path("/proc") / str(process) / "status").read_text()
    except OSError:
        return False


@pytest.fixture(scope="module")
def board() -> Iterator[Board]:
    one = Board(RUNS)
    yield one
    one.end()


def test_the_tab_is_listed_and_starts_nothing(board: Board) -> None:
    status, _, body = board.ask("/data/plugins_listing")
    assert status == 200
    tab = json.loads(body)["haloscope"]
    assert (tab["enabled"], tab["tab_name"]) == (True, "Haloscope")
    assert tab["loading_mechanism"] == {"type": "IFRAME", "module_path": "/data/plugin/haloscope/index.js"}
    status, headers, module = board.ask("/data/plugin/haloscope/index.js")
    assert status == 200 and headers["content-type"].startswith("text/javascript")
    assert b"export function render()" in module and b"./page/" in module
    assert board.children() == []


def test_the_page_is_ours_and_may_stand_in_a_frame_of_tensorboard(board: Board) -> None:
    status, headers, body = board.page("")
    assert status == 200 and b"Haloscope" in body
    assert "frame-ancestors 'self'" in headers["content-security-policy"]
    assert board.ask("/data/plugin/haloscope/page")[2] == body
    for name in re.findall(rb'(?:src|href)="\./([\w.-]+)"', body):
        status, headers, file = board.page(name.decode())
        assert status == 200 and file, name
        assert headers["x-content-type-options"] == "nosniff"
    assert len(board.children()) == 1


def test_answers_are_those_of_the_runs(board: Board) -> None:
    import haloscope

    status, _, body = board.page("api/runs")
    assert status == 200
    runs = {run["id"] for run in json.loads(body)["runs"]}
    name = next(run for run in runs if run.startswith("tpu-input-bound"))
    status, headers, body = board.page(f"api/report/steps?run={urllib.parse.quote(name)}")
    assert status == 200 and headers["content-type"].startswith("application/json")
    own = json.loads(haloscope.open(RUNS / "tpu-input-bound").steps().to_json())
    assert json.loads(body)["values"] == own["values"]
    assert board.page("api/report/nothing")[0] == 404
    status, headers, _ = board.page("app.js")
    assert board.page("app.js", If_None_Match=headers["etag"])[0] == 304


def test_the_documentation_leads_to_itself(board: Board) -> None:
    status, _, body = board.page("docs/")
    assert status == 200
    links = re.findall(r'href="(/[^"#]*)', body.decode())
    assert links and all(link.startswith("/data/plugin/haloscope/page/") for link in links)
    to = next(link for link in links if link.endswith("/analyses/ops"))
    assert board.ask(to)[0] == 200


def test_other_sites_and_other_ways_are_refused(board: Board) -> None:
    own = f"http://127.0.0.1:{board.port}"
    assert board.page("api/runs", Origin=own)[0] == 200
    assert board.page("api/runs", Origin="http://example.org")[0] == 403
    assert board.page("api/runs", Origin=f"http://127.0.0.1.example.org:{board.port}")[0] == 403
    assert board.page("api/runs", Sec_Fetch_Site="cross-site")[0] == 403
    path = "/data/plugin/haloscope/page/api/capture"
    assert board.ask(path, "POST", b"{}")[0] == 403
    # Where it is asked from the page, our server judges.
    status, _, body = board.ask(path, "POST", b"{}", Origin=own, Content_Type="application/json", Sec_Fetch_Site="same-origin")
    assert status == 400 and b"error" in body, body
    for climb in ("../../../data/plugins_listing", "..%2f..%2fetc/passwd", "api/%2e%2e/%2e%2e/etc"):
        assert board.page(climb)[0] in (400, 404), climb


def test_the_server_wants_its_token_and_nobody_is_told_it(board: Board) -> None:
    board.page("")
    (child,) = board.children()
    environ = (pathlib.Path("/proc") / str(child) / "environ").read_bytes()
    token = re.search(rb"HALOSCOPE_TOKEN=([\w-]+)", environ)
    assert token is not None and len(token[1]) >= 40
    assert token[1] not in (pathlib.Path("/proc") / str(child) / "cmdline").read_bytes()
    for path in ("", "api/runs", "app.js", "api/nothing"):
        status, headers, body = board.page(path)
        assert token[1] not in body and token[1].decode() not in str(headers), path


def test_nothing_is_captured_where_others_reach_tensorboard() -> None:
    board = Board(RUNS, "--bind_all")
    try:
        assert board.page("api/runs")[0] == 200
        status, _, body = board.page("api/capture")
        assert status == 200 and json.loads(body).get("hosts") != "any", body
        path = "/data/plugin/haloscope/page/api/capture"
        headers = {"Origin": board.address, "Content_Type": "application/json", "Sec_Fetch_Site": "same-origin"}
        status, _, body = board.ask(path, "POST", b"{}", **headers)
        assert status == 403 and b"other machines" in body
    finally:
        board.end()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_the_server_ends_with_tensorboard(how: signal.Signals) -> None:
    board = Board(RUNS)
    board.page("")
    (child,) = board.children()
    board.end(how)
    until = time.monotonic() + 10
    while is_alive(child) and time.monotonic() < until:
        time.sleep(0.05)
    assert not is_alive(child)


def test_a_server_that_died_is_started_again(board: Board) -> None:
    board.page("")
    (child,) = board.children()
    os.kill(child, signal.SIGKILL)
    until = time.monotonic() + 10
    while is_alive(child) and time.monotonic() < until:
        time.sleep(0.05)
    assert board.page("api/runs")[0] == 200


def test_without_profiles_the_tab_is_not_active_and_says_why_nothing_is_shown(tmp_path: pathlib.Path) -> None:
    board = Board(tmp_path)
    try:
        assert json.loads(board.ask("/data/plugins_listing")[2])["haloscope"]["enabled"] is False
        status, _, body = board.page("api/runs")
        assert status in (200, 503), body
    finally:
        board.end()
