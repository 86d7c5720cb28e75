"""What `haloscope export` writes, read by the tools that it is for.

    python3 tests/exports/run.py [--bin target/release/haloscope] [RUN ...]

For each run (the fixtures where none is named): Perfetto's own protobuf classes read the trace, or its trace processor where
one is at hand (`--trace-processor`, $TRACE_PROCESSOR, or trace_processor_shell in the path; the PyPI package would download
it); speedscope's schema and its importer, in Chromium, read the other files. Each must have as many events as the XSpace has,
counted here from its bytes. What is needed is installed into target/peers/exports; node and Chromium are used where they are.
"""

import argparse
import collections
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = ROOT / "target/peers/exports"
PERFETTO, JSONSCHEMA, SPEEDSCOPE = "perfetto==0.59.1", "jsonschema==4.25.1", "speedscope@1.25.0"
# Every nth event of a file is looked at closely; all are counted.
CLOSE = 7


def install():
    """The folder of speedscope's package; runs this file again in the environment that has the rest."""
    python = PEERS / "venv/bin/python"
    if not (PEERS / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", PEERS / "venv"], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", PERFETTO, JSONSCHEMA], check=True)
        subprocess.run(["npm", "install", "--silent", "--no-save", "--ignore-scripts", "--prefix", PEERS, SPEEDSCOPE], check=True)
        (PEERS / "ready").write_text("")
    if pathlib.Path(sys.prefix) != PEERS / "venv":
        os.execv(python, [str(python), *sys.argv])
    return PEERS / "node_modules/speedscope/dist/release"


def fields(data):
    """(number, value) of a protobuf message."""

    def varint(at):
        value = shift = 0
        while True:
            byte = data[at]
            value |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                return value, at

    at = 0
    while at < len(data):
        key, at = varint(at)
        if key & 7 == 0:
            value, at = varint(at)
        elif key & 7 == 2:
            length, at = varint(at)
            value, at = data[at : at + length], at + length
        else:
            length = 8 if key & 7 == 1 else 4
            value, at = data[at : at + length], at + length
        yield key >> 3, value


def events_of(run):
    """Events of all lines of the run's XSpaces but those of counters; events without a place in time are none."""
    slices = samples = 0
    for file in sorted(run.rglob("*.xplane.pb*")):
        data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        for plane in (v for n, v in fields(data) if n == 1):
            for line in (v for n, v in fields(plane) if n == 3):
                parts = list(fields(line))
                name = next((v for n, v in parts if n == 11 and v), None) or next((v for n, v in parts if n == 2), b"")
                placed = sum(1 for n, v in parts if n == 4 and all(m != 5 for m, _ in fields(v)))
                if name == b"_counters_" or name.startswith(b"counters_"):
                    samples += placed
                else:
                    slices += placed
    return slices, samples


def of_trace_processor(path, binary):
    from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig

    with TraceProcessor(trace=str(path), config=TraceProcessorConfig(bin_path=binary)) as processor:
        count = lambda query: next(iter(processor.query(query))).n
        bad = count("select ifnull(sum(value), 0) as n from stats where severity in ('error', 'data_loss')")
        assert bad == 0, f"{bad} errors"
        assert count("select count() as n from slice where dur < 0") == 0, "slices without an end"
        return count("select count() as n from slice"), count("select count() as n from counter")


def of_protobuf(path):
    """Slices and samples, decoded with Perfetto's classes: begins and ends paired on each track, names looked up by their ids."""
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket, TrackEvent

    trace = Trace.FromString(path.read_bytes())
    tracks, processes = {}, set()
    interned = collections.defaultdict(dict)
    open_slices = collections.defaultdict(list)
    cleared, pending = set(), []
    slices = samples = 0
    for packet in trace.packet:
        sequence = packet.trusted_packet_sequence_id
        if packet.sequence_flags & TracePacket.SEQ_INCREMENTAL_STATE_CLEARED:
            interned[sequence].clear()
            cleared.add(sequence)
        elif packet.sequence_flags & TracePacket.SEQ_NEEDS_INCREMENTAL_STATE:
            assert sequence in cleared, "state is needed that nobody has given"
        data = packet.interned_data
        for kind in ("event_names", "event_categories", "debug_annotation_names", "debug_annotation_string_values"):
            for entry in getattr(data, kind):
                interned[sequence][kind, entry.iid] = entry.str if kind.endswith("values") else entry.name
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            assert track.uuid not in tracks and track.uuid not in processes, "a track is described twice"
            if track.HasField("process"):
                assert track.process.process_name
                processes.add(track.uuid)
            else:
                assert track.parent_uuid in processes and track.name
                tracks[track.uuid] = track
        if packet.HasField("track_event"):
            event = packet.track_event
            assert event.track_uuid in tracks, "an event of no track"
            if event.type == TrackEvent.TYPE_COUNTER:
                assert tracks[event.track_uuid].HasField("counter") and event.HasField("double_counter_value")
                samples += 1
                continue
            # A reader sorts by time and keeps the order of the file where times are equal.
            pending.append((event.track_uuid, packet.timestamp, sequence, event))
            slices += event.type == TrackEvent.TYPE_SLICE_BEGIN
    pending.sort(key=lambda p: (p[0], p[1]))
    for number, (track, time, sequence, event) in enumerate(pending):
        if event.type == TrackEvent.TYPE_SLICE_END:
            start, duration_ps = open_slices[track].pop()
            duration_ns = time - start
            assert abs(duration_ns * 1000 - duration_ps) < 1000, f"{duration_ps} ps became {duration_ns} ns"
            continue
        assert event.type == TrackEvent.TYPE_SLICE_BEGIN
        names = interned[sequence]
        facts = {names["debug_annotation_names", a.name_iid]: a for a in event.debug_annotations}
        open_slices[track].append((time, facts["duration_ps"].int_value))
        if number % CLOSE == 0:
            assert names["event_names", event.name_iid]
            for fact in facts.values():
                if fact.HasField("string_value_iid"):
                    assert names["debug_annotation_string_values", fact.string_value_iid]
    assert not any(open_slices.values()), "slices without an end"
    return slices, samples


def of_chrome(path):
    trace = json.loads(gzip.decompress(path.read_bytes()))
    by_thread = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            start = round(event["ts"] * 1e6)
            by_thread[event["pid"], event["tid"]].append((start, start + round(event["dur"] * 1e6)))
    for spans in by_thread.values():
        ends = []
        for start, end in spans:
            while ends and ends[-1] <= start:
                ends.pop()
            assert not ends or end <= ends[-1], "events of one thread cross"
            ends.append(end)
    return sum(map(len, by_thread.values())), sum(e["ph"] == "C" for e in trace["traceEvents"])


def of_speedscope(path, schema):
    import jsonschema

    document = json.loads(path.read_text())
    slices = 0
    for profile in document["profiles"]:
        stack, now = [], profile["startValue"]
        for event in profile["events"]:
            # What speedscope's own importer demands.
            assert event["at"] >= now
            now = event["at"]
            if event["type"] == "O":
                stack.append(event["frame"])
                slices += 1
            else:
                assert stack.pop() == event["frame"]
        assert not stack
        # The schema says the same of every event: a part of them is enough.
        del profile["events"][200:]
    jsonschema.Draft7Validator(schema).validate(document)
    return slices


def of_folded(path):
    """Stacks and the sum of their weights."""
    stacks = [line.rsplit(" ", 1) for line in path.read_text().splitlines()]
    assert stacks and all(int(weight) > 0 and stack.count(";") >= 2 for stack, weight in stacks)
    assert [s for s, _ in stacks] == list(dict.fromkeys(s for s, _ in stacks)), "a stack stands twice"
    return sum(int(weight) for _, weight in stacks)


def self_time(binary, run):
    report = json.loads(subprocess.run([binary, "ops", run, "--format", "json"], check=True, capture_output=True).stdout)
    table = next(t for t in report["tables"] if t["id"] == "ops")
    column = [c["id"] for c in table["columns"]].index("self_ps")
    return sum(row[column] for row in table["rows"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("runs", nargs="*", type=pathlib.Path)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "target/release/haloscope")
    parser.add_argument("--trace-processor", default=os.environ.get("TRACE_PROCESSOR") or shutil.which("trace_processor_shell"))
    asked = parser.parse_args()
    speedscope = install()
    schema = json.loads((speedscope / "file-format-schema.json").read_text())
    runs = asked.runs or sorted((ROOT / "fixtures/runs").iterdir())
    runs = [run for run in runs if any(run.rglob("*.xplane.pb*"))]
    print("reading Perfetto's with", asked.trace_processor or f"the classes of {PERFETTO}: no trace processor is at hand")
    imports = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for run in runs:

            def export(ending, *more):
                path = folder / f"{run.name}{ending}"
                subprocess.run([asked.bin, "export", run, "-o", path, *more], check=True, capture_output=True)
                return path

            slices, samples = events_of(run)
            perfetto = export(".pftrace")
            found = of_trace_processor(perfetto, asked.trace_processor) if asked.trace_processor else of_protobuf(perfetto)
            assert found == (slices, samples), f"{run.name}: {found} in Perfetto's, {(slices, samples)} in the XSpace"
            found = of_chrome(export(".trace.json.gz"))
            assert found == (slices, samples), f"{run.name}: {found} in Chrome's, {(slices, samples)} in the XSpace"
            file = export(".speedscope.json")
            found = of_speedscope(file, schema)
            assert found == slices, f"{run.name}: {found} in speedscope's, {slices} in the XSpace"
            imports.append((file, len(json.loads(file.read_text())["profiles"])))
            folded = export(".folded")
            of_folded(folded)
            imports.append((folded, 1))
            if run.name.startswith("tpu"):
                # On TPU the ops are one line, whose stacks are the ops' self times.
                found, wanted = of_folded(export(".ops.folded", "--tracks", "/XLA Ops")), self_time(asked.bin, run)
                assert found == wanted, f"{run.name}: stacks of {found} ps, ops of {wanted} ps"
            print(f"ok   {run.name}: {slices} events, {samples} counter values")
        script = pathlib.Path(__file__).with_name("speedscope.mjs")
        if shutil.which("node") and shutil.which("chromium"):
            subprocess.run(["node", script, speedscope, *(f"{count}={path}" for path, count in imports)], check=True)
        else:
            print("speedscope's importer: left out, there is no node or no Chromium")


if __name__ == "__main__":
    main()
