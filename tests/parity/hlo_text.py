#!/usr/bin/env python3
"""HLO that we print is read by JAX's own parser, and is then the module that it was before.

    hlo_text.py --bin target/release/haloscope [--only REGEX] [--live] [--record] [TRACES]

For every module of the fixtures, and of the profiles and programs below TRACES where that folder exists:

- `haloscope xprof graph_viewer` prints it, long and with metadata, from a file that holds the module alone;
- jaxlib's parser takes that text;
- what jaxlib prints of the module it read is, line by line, what jaxlib prints of the original, which it reads from the proto
  (or from XLA's text, where that is the original). Stack frames are compared as what they stand for, frame by frame, and
  computations by name: jaxlib numbers the ones and orders the others anew for each module that it reads from a proto. Where
  the two differ, jaxlib's own text of the original is read back by jaxlib and compared instead: it loses the sign of a bf16 -0;
- from the text that we printed, we print the same text again.

What came of a module is recorded by its hash and that of the text that we print of it (fixtures/parity/jaxlib-0.10.2.json), so that
jaxlib reads only what is new or printed otherwise; with --live it reads everything, and what is recorded must come out again;
--record writes it.

What jaxlib itself refuses is listed below with the reason, and counted; a module that is no longer refused has to leave the list.
HALOSCOPE_XPROF_PYTHON names a Python that has jaxlib 0.10.2 beside xprof, as for tests/conformance/run.py. This script runs itself
there. Needs Python 3.9.
"""
import argparse
import collections
import gzip
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "conformance"))

ASYNC = "async-update with several operands, which XLA writes for SparseCore and jaxlib's parser and proto reader both refuse"
OF_A_TUPLE = "async-done of an element of a tuple, which jaxlib's parser and proto reader both refuse"
REFUSAL = "AsyncUpdate and AsyncDone expect a single async op"
# By name of the module: part of jaxlib's complaint, and why it is right or ours to live with.
REFUSED = {
    "fixtures/hlo/train_step.v5p": (REFUSAL, ASYNC),
    "fixtures/hlo/train_step.v6e": (REFUSAL, ASYNC),
    "traces/forged/tpu-v5p-0:jit_train_step(9179190169989305104)": (REFUSAL, ASYNC),
    "traces/forged/t1v-n-in-w-0:jit_train_step(6123462529607884385)": (REFUSAL, OF_A_TUPLE),
    "traces/faults/tw-0:jit_train_step(14491127321959967179)": (REFUSAL, ASYNC),
    "traces/faults/tw-0:jit_train_step(17493631698335899645)": (REFUSAL, OF_A_TUPLE),
    "traces/faults/tw-0:jit_eval_step(16986873931253736744)": (REFUSAL, OF_A_TUPLE),
}
# Where the original is read otherwise by jaxlib: part of the difference, and why.
DIFFERENT = {
    "traces/real/host0:jit__psum(9646411105960254074)": (
        "replica_groups=",
        "groups stand where builds of 2024 wrote them; jaxlib's proto reader no longer looks there and finds none",
    ),
}
RECORD = ROOT / "fixtures" / "parity" / "jaxlib-0.10.2.json"
FINE = ("same", "same, read back", "refused", "read otherwise")
# Tables of source positions before the computations of a module.
TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")


def fields(message):
    """Number and value of each field of a protobuf message; a message that is cut ends early."""
    at, end = 0, len(message)

    def varint():
        nonlocal at
        value = shift = 0
        while at < end:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        return value

    while at < end:
        tag = varint()
        wire = tag & 7
        if wire == 0:
            yield tag >> 3, varint()
            continue
        length = {1: 8, 5: 4}.get(wire)
        length = varint() if wire == 2 else length
        if length is None or at + length > end:
            return
        yield tag >> 3, message[at : at + length]
        at += length


def first(message, number):
    return next((value for field, value in fields(message) if field == number), None)


def embedded(space):
    """Name and `HloProto` of each module that a profile embeds."""
    for number, plane in fields(space):
        if number != 1 or first(plane, 2) != b"/host:metadata":
            continue
        # stat metadata 5 and event metadata 4 are maps; a stat's metadata is field 1, its bytes field 6.
        entries = [first(entry, 2) for field, entry in fields(plane) if field == 5]
        ids = {first(meta, 1) for meta in entries if first(meta, 2) == b"Hlo Proto"}
        for field, entry in fields(plane):
            meta = first(entry, 2) if field == 4 else None
            for stat in [value for key, value in fields(meta or b"") if key == 5]:
                proto = first(stat, 6)
                if first(stat, 1) in ids and proto:
                    yield first(meta, 2).decode(), proto


def read(path):
    raw = path.read_bytes()
    return gzip.decompress(raw) if path.suffix == ".gz" else raw


def modules(traces):
    """Name, ending and bytes of every module, each once."""
    seen = set()

    def fresh(data):
        digest = hashlib.sha256(data).digest()
        return digest not in seen and not seen.add(digest)

    folders = [("fixtures/hlo", ROOT / "fixtures" / "hlo"), ("crates/hlo/tests", ROOT / "crates" / "hlo" / "tests" / "fixtures")]
    folders += [("traces/hlo", traces / "hlo")]
    for label, folder in folders:
        for path in sorted(folder.glob("*")):
            found = re.fullmatch(r"(.*)\.(hlo_proto\.pb|hlo\.pb|txt)(\.gz)?", path.name)
            if found and "buffer-assignment" not in path.name:
                data = read(path)
                if fresh(data):
                    yield f"{label}/{found[1]}", "." + found[2], data
    for label, folder in (("fixtures/runs", ROOT / "fixtures" / "runs"), ("traces", traces)):
        for path in sorted(folder.rglob("*.xplane.pb*")):
            if "corrupt" in path.parts:
                continue
            for name, proto in embedded(read(path)):
                if fresh(proto):
                    yield f"{label}/{path.relative_to(folder).parts[0]}/{path.name.split('.')[0]}:{name}", ".hlo_proto.pb", proto


def resolved(text):
    """The lines of a module in words, whose stack frames are written out, without the tables."""
    rows = {name: {} for name in TABLES}
    table, lines = None, []
    for line in text.split("\n"):
        if line in rows:
            table = line
        elif table and (row := re.fullmatch(r"(\d+) (.*)", line)):
            rows[table][int(row[1])] = row[2]
        elif not (table and not line):
            table = None
            lines.append(line)
    known = {}

    def number(row, key):
        found = re.search(rf"\b{key}=(\d+)", row)
        return int(found[1]) if found else 0

    def frame(index):
        chain = []
        while index in rows["StackFrames"] and len(chain) < 1000:
            if index in known:
                return tuple(chain) + known[index]
            row = rows["StackFrames"][index]
            place = rows["FileLocations"].get(number(row, "file_location_id"), "")
            names = (rows["FileNames"].get(number(place, "file_name_id")), rows["FunctionNames"].get(number(place, "function_name_id")))
            chain.append((*names, re.sub(r"\b(file|function)_name_id=\d+ ?", "", place)))
            # XLA writes one more than the parent's number, so that a frame without one has 1.
            parent = number(row, "parent_frame_id") - 1
            index = parent if parent != index else 0
        return tuple(chain)

    def write(match):
        index = int(match[1])
        known.setdefault(index, frame(index))
        return f"stack={known[index]}"

    text = re.sub(r"\bstack_frame_id=(-?\d+)", write, "\n".join(lines))
    # The header, then the computations: these in order of their names, since jaxlib orders them by what calls them.
    header, *computations = re.split(r"\n\n(?=\S)", text.strip())
    return "\n\n".join([header, *sorted(computations)]).split("\n")


def printed(binary, folder, ending, data):
    """What our program prints of a module; None and the complaint where it does not."""
    path = folder / f"module{ending}"
    path.write_bytes(data)
    command = [binary, "xprof", "graph_viewer", str(path), "-p", "type=long_txt", "-p", "show_metadata=true"]
    done = subprocess.run(command, capture_output=True, timeout=300)
    path.unlink()
    return (done.stdout.decode(), "") if done.returncode == 0 else (None, done.stderr.decode("utf-8", "replace").strip())


def original(ending, data):
    """The module as jaxlib reads it from the original bytes."""
    from jaxlib import _hlo

    if ending == ".txt":
        return _hlo.hlo_module_from_text(data.decode())
    # An HloProto begins with a module, a bare module with its name.
    inside = first(data, 1)
    is_module = first(inside, 1) is not None and first(inside, 1)[:1].isalpha() if inside else False
    return _hlo.HloModule.from_serialized_hlo_module_proto(inside if is_module else data)


def difference(ours, theirs):
    """Where two modules in words differ first."""
    for number, (a, b) in enumerate(zip(ours, theirs), 1):
        if a != b:
            at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
            start = max(0, at - 60)
            return f"line {number}: ours ...{a[start : at + 80]!r}, jaxlib's ...{b[start : at + 80]!r}"
    return f"{len(ours)} and {len(theirs)} lines" if len(ours) != len(theirs) else ""


def print_twice(ending, data, binary, folder):
    """The text that we print of a module, and where that fails a word and what there is to say."""
    text, complaint = printed(binary, folder, ending, data)
    if text is None:
        return None, ("NOT PRINTED", complaint)
    again, complaint = printed(binary, folder, ".txt", text.encode())
    if again != text:
        return None, ("NOT OURS AGAIN", complaint or difference((again or "").split("\n"), text.split("\n")))
    return text, None


def digest(data):
    return hashlib.sha256(data).hexdigest()[:32]


def judge(name, ending, data, text):
    """A word for what jaxlib makes of the text that we print of a module, and what there is to say."""
    from jaxlib import _hlo

    expected, reason = REFUSED.get(name, (None, None))
    try:
        read_back = _hlo.hlo_module_from_text(text)
    except Exception as error:  # jaxlib raises its own kinds
        said = str(error)
        if not expected or expected not in said:
            return "REFUSED", said[:400]
        try:
            original(ending, data)
        except Exception:
            return "refused", reason
        return "REFUSED", f"{said[:300]}; the original it reads"
    if expected:
        return "NO LONGER REFUSED", "take it off the list"
    try:
        whole = original(ending, data)
    except Exception as error:
        return "ORIGINAL REFUSED", str(error)[:300]
    ours, theirs = resolved(read_back.to_string()), whole.to_string()
    found = difference(ours, resolved(theirs))
    if not found:
        return "same", ""
    if not difference(ours, resolved(_hlo.hlo_module_from_text(theirs).to_string())):
        return "same, read back", found
    expected, reason = DIFFERENT.get(name, (None, None))
    return ("read otherwise", reason) if expected and expected in found else ("DIFFERS", found)


def run(options):
    """Judges every module: those that are recorded here, the rest where jaxlib is."""
    words, fresh, rest = collections.Counter(), {}, []
    kept = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    asks_all = options.live or options.record
    chosen = set(json.loads(pathlib.Path(options.exactly).read_text())) if options.exactly else None
    with tempfile.TemporaryDirectory(prefix="haloscope-hlo-text-") as scratch:
        for name, ending, data in modules(pathlib.Path(options.traces)):
            if not re.search(options.only, name) or chosen is not None and name not in chosen:
                continue
            text, fault = print_twice(ending, data, options.bin, pathlib.Path(scratch))
            key, of_text = digest(ending.encode() + data), digest((text or "").encode())
            recorded = kept.get(key)
            if fault:
                word, remark = fault
            elif not asks_all and recorded and recorded[0] == of_text:
                word, remark = recorded[1], "as recorded"
            elif not has_jaxlib():
                rest.append(name)
                continue
            else:
                word, remark = judge(name, ending, data, text)
                if options.live and recorded and recorded != [of_text, word]:
                    word, remark = "RECORD", f"{word}, {of_text}; recorded is {recorded}; --record writes it"
            if word in FINE:
                fresh[key] = [of_text, word]
            words[word] += 1
            if word != "same" and (word != "same, read back" or options.only):
                print(f"{word:16} {name}\n    {remark}", flush=True)
        code = in_jaxlibs_python(rest, pathlib.Path(scratch)) if rest else 0
    bad = sum(count for word, count in words.items() if word not in FINE)
    if options.record and not bad:
        rows = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(fresh.items()))
        RECORD.write_text("{\n" + rows + "\n}\n")
    counted = ", ".join(f"{count} {word}" for word, count in words.most_common())
    print(f"hlo_text: {sum(words.values())} modules: {counted}" + (f"; {len(rest)} read by jaxlib now" if rest else ""))
    return 1 if bad or code or not sum(words.values()) + len(rest) else 0


def has_jaxlib():
    try:
        import jaxlib._hlo  # noqa: F401
    except ImportError:
        return False
    return True


def in_jaxlibs_python(names, folder=None):
    """Runs this script where jaxlib is, for these modules or, without a folder, as it was called; its exit status."""
    from run import python_with_xprof

    if os.environ.get("HALOSCOPE_HLO_TEXT_CHILD"):
        raise SystemExit("hlo_text.py: the Python of HALOSCOPE_XPROF_PYTHON has no jaxlib; install jaxlib==0.10.2 beside xprof")
    env = {**os.environ, "HALOSCOPE_HLO_TEXT_CHILD": "1", "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}
    exactly = []
    if folder:
        (folder / "names.json").write_text(json.dumps(names))
        exactly = ["--exactly", str(folder / "names.json")]
    # jaxlib writes a stack trace to stderr for each module that it refuses.
    return subprocess.run([python_with_xprof(), *sys.argv, *exactly], env=env, stderr=subprocess.DEVNULL).returncode


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--bin", required=True)
    options.add_argument("--only", default="", help="regular expression on the name of the module")
    options.add_argument("--live", action="store_true", help="jaxlib reads everything, and what is recorded must come out again")
    options.add_argument("--record", action="store_true", help="jaxlib reads everything, and what comes out is written")
    options.add_argument("--exactly", help=argparse.SUPPRESS)
    options.add_argument("traces", nargs="?", default=str(ROOT.parent / "shared" / "traces"))
    options = options.parse_args()
    if (options.live or options.record) and not has_jaxlib():
        return in_jaxlibs_python([])
    return run(options)


if __name__ == "__main__":
    sys.exit(main())
