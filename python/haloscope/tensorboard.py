"""A tab in TensorBoard: `pip install haloscope tensorboard`, then `tensorboard --logdir logs`.

TensorBoard finds this module by its entry point. The tab is the page of `haloscope serve`: a server of our own, in a process that ends
with TensorBoard, on the loopback interface and with a random token. TensorBoard passes requests on to it, and nobody else knows the
token. Nothing is started before somebody opens the tab.
"""

from __future__ import annotations

import atexit
import http.client
import os
import re
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import quote, urlsplit

from tensorboard.plugins import base_plugin

# Never `profile`: that is XProf's, and TensorBoard dies where two plugins have one name.
NAME = "haloscope"

_Environ = dict[str, Any]
_StartResponse = Callable[..., Any]

# What TensorBoard imports into the frame of the tab.
_MODULE = b'export function render() { location.replace(new URL("./page/", import.meta.url)); }\n'

# Of a request and of an answer, what is passed on.
_ASKED = ("ACCEPT", "ACCEPT_ENCODING", "IF_NONE_MATCH", "SEC_FETCH_SITE")
_ANSWERED = (
    "content-type",
    "content-encoding",
    "content-length",
    "content-security-policy",
    "cache-control",
    "etag",
    "referrer-policy",
    "vary",
    "x-content-type-options",
    "cross-origin-resource-policy",
)
_MOST_SENT = 1 << 20
_PIECE = 1 << 16
_STARTING_S = 60.0
_LOOPBACK = ("localhost", "127.0.0.1", "::1")

# What the process of the server runs: it ends where TensorBoard does, however that ends.
_CHILD = """
import os, signal, sys, threading
signal.signal(signal.SIGINT, signal.SIG_IGN)
def watch():
    sys.stdin.buffer.read()
    os._exit(0)
threading.Thread(target=watch, daemon=True).start()
from haloscope import _native
sys.exit(_native.main(["haloscope", *sys.argv[1:]]))
"""


class _Server:
    """`haloscope serve` over a log folder, started by the first who asks."""

    def __init__(self, logdir: str, may_capture: bool) -> None:
        self._logdir = logdir
        self._may_capture = may_capture
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0
        self.token = ""

    def port(self) -> int:
        """Where it listens.

        Raises `OSError` with what it said where it does not start.
        """
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._start()
            return self._port

    def lost(self, port: int) -> None:
        """Nobody listens there any more: one that is dying, and not dead yet, is of no use."""
        with self._lock:
            if self._process is not None and self._port == port:
                self._process.kill()
                self._process.wait()
                self._process = None

    def _start(self) -> None:
        self.token = secrets.token_urlsafe(32)
        command = [sys.executable, "-c", _CHILD, "serve", self._logdir, "--port", "0", "--no-pager"]
        if not self._may_capture:
            command += ["--capture-hosts", "none"]
        # The token is no argument: those of a process can be read by others.
        environ = {**os.environ, "HALOSCOPE_TOKEN": self.token}
        process = subprocess.Popen(
            command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        atexit.register(process.kill)
        said: list[str] = []
        ready = threading.Event()
        ports: list[int] = []

        def listen() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                if ports:
                    continue
                text = line.decode("utf-8", "replace")
                said.append(text)
                found = re.search(r"http://127\.0\.0\.1:(\d+)", text)
                if found is not None:
                    ports.append(int(found[1]))
                    ready.set()
            ready.set()

        threading.Thread(target=listen, daemon=True).start()
        ready.wait(_STARTING_S)
        if not ports:
            process.kill()
            process.wait()
            raise OSError("".join(said).strip() or "haloscope serve did not start")
        self._process, self._port = process, ports[0]


class Plugin(base_plugin.TBPlugin):  # type: ignore[misc]
    """The tab."""

    plugin_name = NAME

    def __init__(self, context: base_plugin.TBContext) -> None:
        flags = context.flags
        host = getattr(flags, "host", None) or "localhost"
        is_own_machine = not getattr(flags, "bind_all", False) and host in _LOOPBACK
        self._logdir = context.logdir or ""
        # Whoever reaches TensorBoard from elsewhere may look, and connect to nothing.
        self._may_act = is_own_machine
        self._server = _Server(self._logdir, is_own_machine)
        self._looked = (-1e9, False)

    def get_plugin_apps(self) -> dict[str, Any]:
        # TensorBoard looks routes up without the slash at their end.
        return {"/index.js": self._module, "/page": self._page, "/page/*": self._page}

    def is_active(self) -> bool:
        """Whether a profile lies below the log folder, as far as a short look tells."""
        when, found = self._looked
        if not found and time.monotonic() - when > 10.0:
            found = _has_profile(self._logdir)
            self._looked = (time.monotonic(), found)
        return found

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        return base_plugin.FrontendMetadata(es_module_path="/index.js", tab_name="Haloscope", disable_reload=True)

    def _module(self, environ: _Environ, start_response: _StartResponse) -> Iterable[bytes]:
        headers = [("Content-Type", "text/javascript; charset=utf-8"), ("Content-Length", str(len(_MODULE)))]
        start_response("200 OK", [*headers, ("X-Content-Type-Options", "nosniff")])
        return [_MODULE]

    def _page(self, environ: _Environ, start_response: _StartResponse) -> Iterable[bytes]:
        method = environ["REQUEST_METHOD"]
        refusal = self._refusal(method, environ)
        if refusal is not None:
            return _plain(start_response, "403 Forbidden", refusal)
        before, slash, path = environ.get("PATH_INFO", "").partition("/page/")
        if not slash:
            start_response("308 Permanent Redirect", [("Location", "./page/"), ("Content-Length", "0")])
            return []
        prefix = environ.get("SCRIPT_NAME", "") + before + "/page/"
        query = environ.get("QUERY_STRING", "")
        target = "/" + _quoted(path) + (f"?{query}" if query else "")
        is_text = path == "docs" or path.startswith("docs/")
        try:
            length = int(environ.get("CONTENT_LENGTH") or 0)
            if length > _MOST_SENT:
                return _plain(start_response, "413 Content Too Large", "the request is too long")
            body = environ["wsgi.input"].read(length) if length else None
            connection, answer = self._answered(method, target, body, environ, is_text)
        except (OSError, ValueError, http.client.HTTPException) as error:
            return _plain(start_response, "503 Service Unavailable", f"Haloscope does not answer: {error}")
        headers = [(name, value) for name, value in answer.getheaders() if name.lower() in _ANSWERED]
        headers = [(name, _framed(value) if name.lower() == "content-security-policy" else value) for name, value in headers]
        place = answer.getheader("location")
        if place is not None:
            headers.append(("Location", prefix + place.lstrip("/")))
        if is_text and (answer.getheader("content-type") or "").startswith("text/html"):
            # The documentation's links are those of a server of its own.
            text = b"".join(_pieces(connection, answer))
            text = re.sub(rb'((?:href|src)=")/(?!/)', rb"\1" + prefix.encode("latin-1"), text)
            headers = [(name, value) for name, value in headers if name.lower() not in ("content-length", "etag")]
            start_response(f"{answer.status} {answer.reason}", [*headers, ("Content-Length", str(len(text)))])
            return [text]
        start_response(f"{answer.status} {answer.reason}", headers)
        return _pieces(connection, answer)

    def _answered(
        self, method: str, target: str, body: bytes | None, environ: _Environ, is_text: bool
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """What our server answers, which is started again where it died; what acts is not asked twice."""
        for is_last in (method not in ("GET", "HEAD"), True):
            port = self._server.port()
            connection = http.client.HTTPConnection("127.0.0.1", port)
            try:
                connection.request(method, target, body, self._headers(environ, is_text))
                return connection, connection.getresponse()
            except ConnectionError:
                connection.close()
                self._server.lost(port)
                if is_last:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _refusal(self, method: str, environ: _Environ) -> str | None:
        """Why a request is not passed on; `None` where it is."""
        origin = environ.get("HTTP_ORIGIN")
        if origin is not None and urlsplit(origin).netloc.lower() != environ.get("HTTP_HOST", "").lower():
            return "the request comes from another site"
        if method not in ("GET", "HEAD"):
            if not self._may_act:
                return "TensorBoard can be reached from other machines: nothing is captured from here"
            if origin is None:
                return "the request does not say which page it comes from"
        return None

    def _headers(self, environ: _Environ, is_plain: bool) -> dict[str, str]:
        headers = {"Authorization": f"Bearer {self._server.token}"}
        for name in _ASKED:
            if is_plain and name != "SEC_FETCH_SITE":
                continue
            value = environ.get(f"HTTP_{name}")
            if value is not None:
                headers[name.replace("_", "-").title()] = value
        if environ.get("CONTENT_TYPE"):
            headers["Content-Type"] = environ["CONTENT_TYPE"]
        return headers


def _quoted(path: str) -> str:
    """A path as it stands in a request: WSGI has it decoded, as Latin-1."""
    return quote(path.encode("latin-1"), safe="/:@!$&'()*+,;=~-._")


def _framed(policy: str) -> str:
    """The page's policy, with which TensorBoard may show it in a frame and others may not."""
    return policy.replace("frame-ancestors 'none'", "frame-ancestors 'self'")


def _plain(start_response: _StartResponse, status: str, text: str) -> Iterable[bytes]:
    body = f"{text}\n".encode()
    headers = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))]
    start_response(status, [*headers, ("X-Content-Type-Options", "nosniff")])
    return [body]


def _pieces(connection: http.client.HTTPConnection, answer: http.client.HTTPResponse) -> Iterator[bytes]:
    try:
        while piece := answer.read(_PIECE):
            yield piece
    finally:
        # One that nobody reads to its end is no longer computed.
        connection.close()


def _has_profile(logdir: str) -> bool:
    """Looks at no more than some thousand names: TensorBoard asks while somebody waits."""
    if "://" in logdir:
        return True
    left = 5_000
    for _, folders, files in os.walk(logdir):
        if any(".xplane." in name for name in files):
            return True
        left -= len(folders) + len(files)
        if left < 0:
            return True
    return False
