"""ProfileData: what JAX's has, by JAX's names."""

from __future__ import annotations

import math
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from conftest import RUNS, xspaces

import haloscope

FILES = [file for run in RUNS for file in xspaces(run.name)]


def flat(data: Any) -> list[Any]:
    """All that is in it, with times cut to whole nanoseconds as JAX cuts them."""
    return [
        (
            plane.name,
            list(plane.stats),
            [
                (
                    line.name,
                    [
                        (event.name, math.floor(event.start_ns), math.floor(event.duration_ns), list(event.stats))
                        for event in line.events
                    ],
                )
                for line in plane.lines
            ],
        )
        for plane in data.planes
    ]


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parents[3].name}-{file.name}")
def test_it_is_what_jax_reads(file: Path) -> None:
    jax = pytest.importorskip("jax.profiler", reason="JAX is not installed")
    ours, theirs = haloscope.ProfileData.from_file(file), jax.ProfileData.from_file(str(file))
    assert flat(ours) == flat(theirs)
    data = file.read_bytes()
    assert flat(haloscope.ProfileData.from_serialized_xspace(data)) == flat(theirs)


def test_what_few_profilers_write_is_what_jax_reads() -> None:
    jax = pytest.importorskip("jax.profiler", reason="JAX is not installed")
    text = """planes { name:"a" id:3 stats{metadata_id:3 ref_value:2} stats{metadata_id:5 str_value:"p"}
      lines { id:3 name:"n" display_name:"shown" timestamp_ns:5
        events{metadata_id:1 offset_ps:1234567 duration_ps:1999 stats{metadata_id:1 uint64_value:18446744073709551615}
          stats{metadata_id:2 bytes_value:"abc"} stats{metadata_id:3 ref_value:2} stats{metadata_id:3 ref_value:77}
          stats{metadata_id:9 int64_value:-4} stats{metadata_id:1} stats{metadata_id:4 double_value:1.5} stats{metadata_id:5 str_value:"x"}}
        events{metadata_id:1 num_occurrences:5 duration_ps:7000} events{metadata_id:42} }
      lines { display_name:"only shown" id:7 timestamp_ns:1700000000123456789 events{metadata_id:1 offset_ps:1234567 duration_ps:1999} }
      event_metadata{key:1 value{id:1 name:"ev" display_name:"EV" stats{metadata_id:5 str_value:"meta"}}}
      stat_metadata{key:1 value{id:1 name:"u"}} stat_metadata{key:2 value{id:2 name:"b"}} stat_metadata{key:3 value{id:3 name:"r"}}
      stat_metadata{key:4 value{id:4 name:"d"}} stat_metadata{key:5 value{id:5 name:"s"}} }"""
    data = jax.ProfileData.text_proto_to_serialized_xspace(text)
    ours = haloscope.ProfileData.from_serialized_xspace(data)
    assert flat(ours) == flat(jax.ProfileData.from_serialized_xspace(data))
    first = ours.planes[0].lines[0].events[0]
    # What JAX cuts is there: to the picosecond.
    assert (first.start_ps, first.duration_ps) == (1_239_567, 1999)
    assert (first.start_ns, first.duration_ns, first.end_ns) == (1239.567, 1.999, 1241.566)
    late = ours.planes[0].lines[1].events[0]
    assert late.start_ps == 1_700_000_000_123_456_789_000 + 1_234_567


def test_what_jax_iterates_is_a_sequence_too() -> None:
    data = haloscope.ProfileData.from_file(xspaces("tpu-memory")[0])
    planes = data.planes
    assert len(planes) == len(list(planes)) == len(list(planes)) > 0
    assert planes[0].name == planes[-len(planes)].name and next(planes).name == planes[0].name
    with pytest.raises(IndexError):
        planes[len(planes)]
    with pytest.raises(StopIteration):
        lines = planes[0].lines
        while True:
            next(lines)
    plane = data.find_plane_with_name(planes[0].name)
    assert plane is not None and plane.name == planes[0].name
    assert data.find_plane_with_name("no such plane") is None
    events = [line.events for plane in data.planes for line in plane.lines if len(line.events)]
    assert events and events[0][0].name == next(iter(events[0])).name
    assert isinstance(dict(events[0][0].stats), dict) and "ns=" in repr(events[0][0])


def test_what_is_no_profile_is_refused(tmp_path: Path) -> None:
    for bad in (b"garbage", b"\xff" * 10):
        with pytest.raises(haloscope.InputError):
            haloscope.ProfileData.from_serialized_xspace(bad)
    assert len(haloscope.ProfileData.from_serialized_xspace(b"").planes) == 0
    with pytest.raises(FileNotFoundError):
        haloscope.ProfileData.from_file(tmp_path / "none.xplane.pb")


def test_bytes_are_not_copied() -> None:
    data = xspaces("cpu-train")[0].read_bytes() * 20
    tracemalloc.start()
    held = haloscope.ProfileData.from_serialized_xspace(data)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(held.planes) > 0 and most < len(data) / 4
