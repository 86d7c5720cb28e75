"""Profiles in pieces, written by Riegeli's own writer and read by XProf and by us.

    python3 tests/riegeli/run.py --bin target/release/haloscope [--out target/riegeli] [RUNS...]

Each profile of RUNS (fixtures/runs/cpu-train, tpu-gate) is cut into pieces as the profiler cuts it: a few lines a piece, long
lines into several, each piece with all names. The pieces are written in each packing, simple and transposed. What XProf and we
say of them must be what each says of the whole; and of the pieces, we must say what XProf says.

XProf and the writer (array-record, whose files are Riegeli's) are installed from PyPI into OUT/venv; HALOSCOPE_XPROF_PYTHON and
HALOSCOPE_RIEGELI_PYTHON name Pythons that have them.
"""

import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

PACKAGES = ["xprof==2.24.2", "array-record==0.8.6"]
PACKINGS = ["uncompressed", "brotli:3", "zstd:3", "snappy"]
# Tools whose answers are the same however lines and names are ordered.
TOOLS = ["hlo_stats", "framework_op_stats", "kernel_stats"]

WRITE = r"""
import sys
from array_record.python import array_record_module as records
folder, packing, transpose, out = sys.argv[1:]
import pathlib
pieces = sorted(pathlib.Path(folder).iterdir())
writer = records.ArrayRecordWriter(out, f"group_size:{len(pieces)},transpose:{transpose},{packing}")
for piece in pieces:
    writer.write(piece.read_bytes())
writer.close()
"""

XPROF = r"""
import json, sys
from xprof.convert import raw_to_tool_data
out = {}
for tool in sys.argv[2:]:
    data, _ = raw_to_tool_data.xspace_to_tool_data([sys.argv[1]], tool, {})
    out[tool] = (data.decode() if isinstance(data, bytes) else data) if data else None
json.dump(out, sys.stdout)
"""


def python_of(variable, out):
    """A Python that has what is needed."""
    if os.environ.get(variable):
        return os.environ[variable]
    folder = out / "venv"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin/python", "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        (folder / "ready").touch()
    return str(folder / "bin/python")


def varint(data, at):
    """A number, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def number(value):
    """A number as bytes."""
    out = b""
    while value >= 128:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def fields(data):
    """The fields of a message: number, and all their bytes, and their content."""
    at = 0
    while at < len(data):
        begin = at
        tag, at = varint(data, at)
        content = b""
        if tag & 7 == 0:
            _, at = varint(data, at)
        elif tag & 7 == 1:
            at += 8
        elif tag & 7 == 5:
            at += 4
        else:
            length, at = varint(data, at)
            content = data[at : at + length]
            at += length
        yield tag >> 3, data[begin:at], content


def field(tag, content):
    """A field that has a length."""
    return number(tag << 3 | 2) + number(len(content)) + content


def pieces(space, events=400):
    """The space cut: planes apart, lines apart, long lines into several of so many events."""
    rest = b"".join(raw for tag, raw, _ in fields(space) if tag != 1)
    out = [rest] if rest else []
    for tag, _, plane in fields(space):
        if tag != 1:
            continue
        parts = list(fields(plane))
        base = b"".join(raw for tag, raw, _ in parts if tag != 3)
        out.append(field(1, base))
        for tag, _, line in parts:
            if tag != 3:
                continue
            inner = list(fields(line))
            head = b"".join(raw for tag, raw, _ in inner if tag != 4)
            all_events = [raw for tag, raw, _ in inner if tag == 4]
            for begin in range(0, max(len(all_events), 1), events):
                out.append(field(1, base + field(3, head + b"".join(all_events[begin : begin + events]))))
    return out


def without_footer(path):
    """Cuts off what array-record writes behind the one chunk of records."""
    data = path.read_bytes()
    usable, block, header = 65536 - 24, 65536, 40
    at = 0
    while True:
        begin, head = at, b""
        while len(head) < header:
            if begin % block == 0:
                begin += 24
            part = min(header - len(head), block - begin % block)
            head += data[begin : begin + part]
            begin += part
        _, size, _, kind, _ = struct.unpack("<5Q", head)
        length, count = header + size, kind >> 8
        over = (length + (at + usable - 1) % block) // usable
        at = max(at + length + over * 24, at + count)
        if kind & 255 in b"rt" and count > 0:
            break
    path.write_bytes(data[:at])


def rows(text):
    """The cells of a table of XProf's, sorted."""
    table = json.loads(text) if text else None
    tables = table if isinstance(table, list) else [table]
    out = []
    for one in tables:
        for row in (one or {}).get("rows", []):
            # The first cell is the rank, which is free where times are equal.
            out.append(tuple(json.dumps(cell.get("v") if cell else None) for cell in row["c"][1:]))
    return sorted(out)


def main():
    """Exits with 1 where something differs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--out", default=Path("target/riegeli"), type=Path)
    parser.add_argument("runs", nargs="*", type=Path)
    asked = parser.parse_args()
    out = asked.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    writer, xprof = python_of("HALOSCOPE_RIEGELI_PYTHON", out), python_of("HALOSCOPE_XPROF_PYTHON", out)
    runs = asked.runs or [Path("fixtures/runs/cpu-train"), Path("fixtures/runs/tpu-gate")]
    failures = []

    def expect(what, holds, seen=""):
        print(f"{'ok    ' if holds else 'FAILED'} {what}" + ("" if holds else f": {str(seen)[:500]}"), flush=True)
        if not holds:
            failures.append(what)

    def ours(command, path):
        done = subprocess.run([asked.bin, *command, path, "--format", "json"], capture_output=True, text=True)
        return json.loads(done.stdout)["tables"] if done.returncode == 0 else (done.returncode, done.stderr)

    def of_xprof(path):
        done = subprocess.run([xprof, "-c", XPROF, path, *TOOLS], capture_output=True, text=True)
        return json.loads(done.stdout[done.stdout.index("{") :]) if done.returncode == 0 else done.stderr[-400:]

    def our_tool(tool, path):
        done = subprocess.run([asked.bin, "xprof", tool, path], capture_output=True, text=True)
        return done.stdout if done.returncode == 0 else None

    for run in runs:
        whole = sorted(run.rglob("*.xplane.pb"))[0]
        host = whole.name.removesuffix(".xplane.pb")
        cut = out / "pieces"
        shutil.rmtree(cut, ignore_errors=True)
        cut.mkdir()
        all_pieces = pieces(whole.read_bytes())
        for i, piece in enumerate(all_pieces):
            (cut / f"{i:06}").write_bytes(piece)
        alone = out / "whole" / run.name / whole.name
        alone.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(whole, alone)
        questions = [["overview"], ["ops"], ["steps"], ["idle"]]
        of_whole = {question[0]: ours(question, alone) for question in questions}
        xprof_whole = of_xprof(alone)
        for packing in PACKINGS:
            for transpose in ("false", "true"):
                name = f"{run.name}, {packing.split(':')[0]}, {'transposed' if transpose == 'true' else 'simple'}"
                path = out / "written" / f"{run.name}-{packing.split(':')[0]}-{transpose}" / f"{host}.xplane.riegeli"
                path.parent.mkdir(parents=True, exist_ok=True)
                subprocess.run([writer, "-c", WRITE, cut, packing, transpose, path], check=True)
                without_footer(path)
                for question in questions:
                    said = ours(question, path)
                    expect(f"{name}: {question[0]} of {len(all_pieces)} pieces is that of the whole", said == of_whole[question[0]], said)
                if packing == "brotli:3":
                    said = of_xprof(path)
                    for tool in TOOLS:
                        same = isinstance(said, dict) and rows(said[tool]) == rows(xprof_whole[tool])
                        expect(f"{name}: XProf's {tool} is that of the whole ({len(rows(xprof_whole[tool]))} rows)", same, said)
                        mine = our_tool(tool, path)
                        same_count = mine is None or isinstance(said, dict) and len(rows(mine)) == len(rows(said[tool]))
                        expect(f"{name}: our {tool} has XProf's rows", same_count, mine)
    print(f"{len(failures)} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
