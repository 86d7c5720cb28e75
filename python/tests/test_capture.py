"""Captures of this process: of JAX where it is installed, else of a profiler that gives a fixture."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest
from conftest import xspaces

import haloscope
from haloscope import capture


class Session:
    """A profiler session that saw a fixture."""

    running = 0

    def __init__(self, options: object = None) -> None:
        Session.running += 1

    def stop(self) -> bytes:
        Session.running -= 1
        return xspaces("cpu-infer")[0].read_bytes()


@pytest.fixture
def profiler(monkeypatch: pytest.MonkeyPatch) -> type[Session]:
    lib = types.ModuleType("jax._src.lib")
    lib._profiler = types.SimpleNamespace(ProfilerSession=Session)  # type: ignore[attr-defined]
    for name in ("jax", "jax._src"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, "jax._src.lib", lib)
    Session.running = 0
    return Session


def test_a_trace_is_a_run_in_memory(profiler: type[Session]) -> None:
    with capture.trace() as traced:
        assert profiler.running == 1
        with pytest.raises(haloscope.NothingError):
            _ = traced.run
    assert profiler.running == 0
    assert traced.stop().stop().run is traced.run and traced.run.path is None
    assert traced.run.overview()["step_count"] is not None
    with pytest.raises(ZeroDivisionError), capture.trace() as failed:
        1 / 0
    assert profiler.running == 0 and failed.run.hosts


def test_steps_of_a_loop_are_written_where_others_look(profiler: type[Session], tmp_path: Path) -> None:
    some = capture.capture(tmp_path, steps=3, skip=2)
    ran = []
    for _ in range(10):
        some.step()
        ran.append(profiler.running)
    assert ran == [0, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    assert some.stop() == some.stop() == some.run.path
    files = list(tmp_path.rglob("*"))
    assert [file.suffixes for file in files if file.is_file()] == [[".xplane", ".pb"]]
    assert haloscope.open(tmp_path).overview().to_json()


def test_steady_waits_for_steps_of_a_length(profiler: type[Session], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 5.0, 6.0, 7.0, 7.5, 8.0])
    monkeypatch.setattr(capture.time, "perf_counter", lambda: next(times))
    with capture.capture(tmp_path, steps=2) as some:
        for _ in range(3):
            some.step()
        assert profiler.running == 0
        # Steps of 5, 1 and 1 s: the third and fourth are alike.
        some.step()
        assert profiler.running == 1
    assert profiler.running == 0 and some.run.path
    unused = capture.capture(tmp_path)
    assert unused.stop() is None
    with pytest.raises(haloscope.NothingError):
        _ = unused.run
    for wrong in ({"steps": 0}, {"skip": -1}, {"skip": "soon"}):
        with pytest.raises(haloscope.UsageError):
            capture.capture(tmp_path, **wrong)  # type: ignore[arg-type]


def test_jax_is_captured(tmp_path: Path) -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    step = jax.jit(lambda x: x @ x)
    x = jax.numpy.ones((64, 64))
    step(x).block_until_ready()
    with capture.trace() as traced:
        for _ in range(10):
            step(x).block_until_ready()
    assert traced.run.devices and traced.run.ops().table("ops").to_dict()["name"]
    assert haloscope.kernel_times(traced.xspace).to_dict()["name"]
    assert len(haloscope.ProfileData.from_serialized_xspace(traced.xspace).planes) > 0
    some = capture.capture(tmp_path, steps=2, skip=1)
    for _ in range(6):
        step(x).block_until_ready()
        some.step()
    assert some.run.overview().to_json() and haloscope.open(tmp_path).path == some.run.path
