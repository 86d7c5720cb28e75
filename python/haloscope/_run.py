"""Runs."""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Iterable, Mapping, Sequence

from . import _native
from ._analyses import Analyses
from ._asked import scope_words, words
from ._errors import UsageError
from ._record import Record
from ._report import Report
from ._table import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._sql import SqlRows
    from ._asked import Baselines, DocumentLike, Names, RunLike, Scope, Steps, Texts, Window


class Line(Record):
    """A line of a run: a stream of a device, or a thread."""

    __slots__ = ("id", "host", "plane", "name", "events")

    id: int
    host: str
    plane: str
    name: str
    events: int


class Hosts(list[str]):
    """The names of a run's hosts, and the question about them."""

    def __init__(self, names: Iterable[str], ask: Callable[..., Report]) -> None:
        super().__init__(names)
        self._ask = ask

    def __call__(self, **scope: Any) -> Report:
        """Which host is slow, and what that costs: the analysis `hosts`."""
        return self._ask(**scope)


class Run(Analyses):
    """A run: every analysis is a method of it.

    It is read when it is first needed. Several threads may use it at once.
    """

    def __init__(self, native: _native.Run) -> None:
        self._native = native

    @property
    def path(self) -> str | None:
        """Its place: the session's folder or the file; `None` for a run in memory."""
        return self._native.path

    @property
    def hosts(self) -> Hosts:
        """The names of its hosts; called, the analysis of that name: `run.hosts(steady=True)`."""
        return Hosts(self._native.hosts(), super().hosts)

    @property
    def devices(self) -> list[str]:
        """The names of its devices, as the tables print them."""
        return self._native.devices()

    def lines(self) -> list[Line]:
        """Its lines, by plane, in the order of the files."""
        return [Line(*parts) for parts in self._native.lines()]

    def events(
        self,
        line: Line | int | str | Iterable[Line | int] | None = None,
        *,
        plane: str | None = None,
        name: str | None = None,
    ) -> Table:
        """Events as one table: host, plane, line, name, start and duration in picoseconds, sorted by start within each line.

        line: a line of `lines()`, its number or its name, or several lines. Without it all lines.
        plane: the name of a plane, or a part of it, such as "TPU:0"
        name: a part of the event's name
        """
        ids: list[int] | None = None
        if isinstance(line, Line):
            ids = [line.id]
        elif isinstance(line, int):
            ids = [line]
        elif line is not None and not isinstance(line, str):
            ids = [one.id if isinstance(one, Line) else int(one) for one in line]
        return Table(self._native.events(ids, line if isinstance(line, str) else None, plane, name))

    def sql(self, sql: str, *others: RunLike, timeout: float | None = None) -> SqlRows:
        """Queries this run, and others with it, with SQL: events, ops, steps, and every table of every analysis.

        It uses `haloscope-query`, a separate program that must be installed (docs/query.md) and that opens the run again.

        sql: one statement, or `@` and the name of a canned question, such as "@idle-gaps"
        others: more runs; the column `run` says which is which
        timeout: seconds after which it gives up
        """
        from . import _sql

        runs = [self, *(run_of(other) for other in others)]
        paths = [run._place() for run in runs]
        return _sql.ask(paths, sql, timeout)

    def _place(self) -> str:
        """Where its files are on this machine, even if `path` is an address elsewhere."""
        files = [os.fspath(file) for file in self._native.files()]
        if not files:
            raise UsageError("a run in memory has no file that SQL could read", "open it from a file")
        if self.path is not None and os.path.exists(self.path):
            return os.path.abspath(self.path)
        return files[0] if len(files) == 1 else os.path.dirname(files[0])

    def save_html(
        self,
        path: str | os.PathLike[str],
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
    ) -> None:
        """Writes one HTML file that shows the run: no server, no network."""
        page = self._page((hosts, devices, modules, steps, window, steady))
        with builtins.open(path, "wb") as file:
            file.write(page)

    def show(
        self,
        height: int = 640,
        *,
        hosts: Names = None,
        devices: Names = None,
        modules: Names = None,
        steps: Steps = None,
        window: Window = None,
        steady: bool = False,
    ) -> Any:
        """The report and the timeline in a notebook: a separate page inside the notebook, without a server."""
        from ._html import Frame

        return Frame(self._page((hosts, devices, modules, steps, window, steady)).decode(), height)

    def _page(self, scope: Scope) -> bytes:
        return self._native.page(scope_words(scope), self._name())

    def _name(self) -> str:
        """The run's name: its folder or file, and for a session also its log folder."""
        if self.path is None:
            return ", ".join(self.hosts) or "run"
        parts = self.path.rstrip("/").split("/")
        if len(parts) > 3 and parts[-3:-1] == ["plugins", "profile"]:
            return f"{parts[-4]}/{parts[-1]}"
        return parts[-1]

    def _ask(self, id: str, others: Baselines, scope: Scope, params: Mapping[str, object]) -> Report:
        beside = [run_of(other)._native for other in _several(others)]
        return Report(self._native.ask(id, beside, scope_words(scope), words(params)))

    def __repr__(self) -> str:
        return f"Run({self.path!r})" if self.path else "Run(in memory)"

    def _repr_html_(self) -> str:
        return self.overview()._repr_html_()


def open(run: RunLike) -> Run:  # noqa: A001
    """The run that a log folder (its newest session), a session folder, a file or an address such as `gs://bucket/logs` stands for.

    Raises NotFoundError if there is none, InputError if it is not a profile.
    """
    if isinstance(run, Run):
        return run
    return Run(_native.Run.open(os.fspath(run)))


def from_bytes(hosts: Mapping[str, bytes] | bytes) -> Run:
    """A run in memory, from the bytes of each host's profiler, by host. Plain bytes are one host."""
    named = {"host": hosts} if isinstance(hosts, (bytes, bytearray, memoryview)) else dict(hosts)
    if not named:
        raise UsageError("from_bytes: expected the XSpace of at least one host, found none")
    return Run(_native.Run.from_bytes([(_file(name), bytes(data)) for name, data in named.items()]))


def _file(host: str) -> str:
    """What a host's file would be called."""
    return host if host.endswith((".pb", ".gz", ".riegeli", ".json", ".txt")) else f"{host}.xplane.pb"


def run_of(run: RunLike) -> Run:
    return open(run)


def _several(runs: Baselines) -> Sequence[RunLike]:
    if runs is None:
        return ()
    if isinstance(runs, (str, os.PathLike, Run)):
        return (runs,)
    return runs


def compare(a: RunLike, b: RunLike, **scope: Any) -> Report:
    """What changed from `a` to `b`, and whether that is more than noise: `Run.compare`."""
    return open(a).compare(b, **scope)


def check(
    run: RunLike,
    baseline: Baselines = None,
    *,
    claim: Texts = None,
    budget: DocumentLike = None,
    **more: Any,
) -> Report:
    """Whether a run passes checks: against a baseline, claims such as "step_time<=85ms", a budget: `Run.check`."""
    return open(run).check(baseline, claim=claim, budget=budget, **more)


def kernel_times(xspace: bytes) -> Table:
    """How long kernels took, in milliseconds, from a profiler session: for tuning them.

    One row per kernel, the longest first: kernels of GPUs and custom calls of TPUs; for a run without any, the ops of
    its devices. Columns: name, count, total_ms, mean_ms, min_ms, max_ms; the last two are unknown for ops.
    """
    return Table(_native.kernel_times(xspace))
