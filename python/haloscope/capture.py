"""Profiles of this program: what JAX's profiler recorded, as a run.

    with haloscope.capture.trace() as traced:
        step(batch).block_until_ready()
    traced.run.kernels()

    capture = haloscope.capture.capture("logs", steps=10)
    for batch in batches:
        state = step(state, batch)
        capture.step()
"""

from __future__ import annotations

import builtins
import os
import socket
import threading
import time
from types import TracebackType
from typing import Any, Literal

from ._errors import NothingError, UsageError
from ._run import Run, from_bytes, open

__all__ = ["Capture", "Trace", "capture", "trace"]

#: Steps that "steady" waits for at most, and by how much two in a row may differ then.
_WAIT = 50
_NEAR = 0.1


def _session(options: Any) -> Any:
    """A session of JAX's profiler, which takes one at a time."""
    try:
        from jax._src.lib import _profiler
    except ImportError:
        raise UsageError("haloscope.capture needs JAX in this process", "pip install jax") from None
    return _profiler.ProfilerSession(options) if options is not None else _profiler.ProfilerSession()


class Trace:
    """A profile in memory. Everything that runs between start and stop is recorded."""

    def __init__(self, profiler_options: Any = None) -> None:
        self._options = profiler_options
        self._session: Any = None
        self._xspace: bytes | None = None
        self._run: Run | None = None
        self._lock = threading.Lock()

    def start(self) -> Trace:
        """Starts, unless it has started."""
        with self._lock:
            if self._session is None and self._xspace is None:
                self._session = _session(self._options)
        return self

    def stop(self) -> Trace:
        """Stops, if it runs: it may be called again."""
        with self._lock:
            session, self._session = self._session, None
            if session is not None:
                self._xspace = session.stop()
        return self

    @property
    def xspace(self) -> bytes:
        """The profiler's result: a serialised XSpace."""
        if self._xspace is None:
            raise NothingError("the trace has not been stopped", "leave the `with` block, or call stop()")
        return self._xspace

    @property
    def run(self) -> Run:
        """What was recorded, as a run in memory."""
        if self._run is None:
            self._run = from_bytes({socket.gethostname() or "host": self.xspace})
        return self._run

    def __enter__(self) -> Trace:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.stop()


def trace(profiler_options: Any = None) -> Trace:
    """A profile of a `with` block, in memory: use `.run` after it. `profiler_options` are JAX's."""
    return Trace(profiler_options)


class Capture:
    """A profile of some steps of a loop, written where TensorBoard and XProf look for it too. See `capture`."""

    def __init__(
        self, logdir: str | os.PathLike[str], steps: int, skip: int | Literal["steady"], profiler_options: Any
    ) -> None:
        if steps < 1:
            raise UsageError(f"`steps=`: expected at least 1, found {steps}")
        if not (skip == "steady" or (isinstance(skip, int) and skip >= 0)):
            raise UsageError(f'`skip=`: expected "steady" or a number of steps, found {skip!r}')
        self.logdir = os.fspath(logdir)
        self._steps, self._skip = steps, skip
        self._options = profiler_options
        self._seen = 0
        self._before: float | None = None
        self._took: float | None = None
        self._trace: Trace | None = None
        self._until = 0
        self._path: str | None = None

    def step(self) -> None:
        """Says that a step has ended. Costs almost nothing before and after the captured steps."""
        if self._path is not None:
            return
        self._seen += 1
        if self._trace is not None:
            if self._seen >= self._until:
                self.stop()
            return
        now = time.perf_counter()
        took, self._before = (None if self._before is None else now - self._before), now
        is_steady = took is not None and self._took is not None and abs(took - self._took) <= _NEAR * self._took
        self._took = took
        if self._seen >= self._skip if isinstance(self._skip, int) else is_steady or self._seen >= _WAIT:
            self._trace = Trace(self._options).start()
            self._until = self._seen + self._steps

    def stop(self) -> str | None:
        """Ends the capture and writes it: returns its folder, or `None` if nothing was captured yet. May be called again."""
        if self._trace is None or self._path is not None:
            return self._path
        xspace = self._trace.stop().xspace
        folder = os.path.join(self.logdir, "plugins", "profile", time.strftime("%Y_%m_%d_%H_%M_%S"))
        os.makedirs(folder, exist_ok=True)
        target = os.path.join(folder, f"{socket.gethostname() or 'host'}.xplane.pb")
        # It appears whole: who lists the folder meanwhile sees no half of it.
        draft = f"{target}.{os.getpid()}.part"
        with builtins.open(draft, "wb") as file:
            file.write(xspace)
        os.replace(draft, target)
        self._path = folder
        return folder

    @property
    def run(self) -> Run:
        """What was captured, as a run."""
        if self._path is None:
            raise NothingError("nothing has been captured yet", f"{self._seen} steps were seen; call step() after each")
        return open(self._path)

    def __enter__(self) -> Capture:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.stop()


def capture(
    logdir: str | os.PathLike[str],
    steps: int = 10,
    skip: int | Literal["steady"] = "steady",
    profiler_options: Any = None,
) -> Capture:
    """Captures some steps of a loop into a log folder; call `step()` after each step.

    skip: how many steps go by first; "steady" waits until two in a row took the same within 10%, 50 at most
    """
    return Capture(logdir, steps, skip, profiler_options)
