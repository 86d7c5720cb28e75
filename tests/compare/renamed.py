"""A compiled program with other names: every number behind a name is another, as after a compilation of its own."""

import importlib.util
import json
import re

# Where the proto of a module holds names of instructions and computations: paths of field numbers.
NAMES = {
    (1, 2), (1, 3, 1), (1, 3, 2, 1),  # hlo_module: entry computation's name, computations' names, instructions' names
    (3, 1, 3, 2),  # buffer_assignment: logical buffers' places
    (3, 4, 1, 3), (3, 4, 1, 4),  # buffer_assignment: heap traces' events
}
MESSAGES = {path[:depth] for path in NAMES for depth in range(1, len(path))}


def varint(data, at):
    """A number and where the next begins."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def written(value):
    """A number as it is written."""
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def fields(data):
    """Number, wire type and value of each field."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            length = {1: 8, 5: 4}.get(kind)
            if length is None:
                length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        yield key >> 3, kind, value


def rewritten(data, path, name):
    """A message with its names replaced."""
    out = []
    for number, kind, value in fields(data):
        out.append(written(number << 3 | kind))
        if kind == 0:
            out.append(written(value))
            continue
        if kind == 2:
            here = (*path, number)
            if here in MESSAGES:
                value = rewritten(value, here, name)
            elif here in NAMES:
                value = name(value.decode()).encode()
            out.append(written(len(value)))
        out.append(value)
    return b"".join(out)


def other_names(text):
    """For each name that the text of a module gives to something, another."""
    names = re.findall(r"^(?:\s+(?:ROOT )?%(\S+) = |(?:ENTRY )?%(\S+) \()", text, re.M)
    names = [instruction or computation for instruction, computation in names]
    of = {}
    for name in names:
        stem, dot, number = name.rpartition(".")
        of[name] = f"{stem}.{int(number) * 7 + 3}" if dot and number.isdigit() else f"{name}.8888889"
    assert len(set(of.values())) == len(set(names))
    return of


def add(forge, models, name, program):
    """Adds a compiled program under another name to a forge; returns the models with it."""
    spec = importlib.util.spec_from_file_location("forge_compile", forge / "compile.py")
    compiler = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(compiler)
    own = {**models[program], "renamed": True}
    source, folder = (forge / "compiled" / compiler.key(of) for of in (models[program], own))
    if not (folder / "meta.json").exists():
        text = (source / "module.txt").read_text()
        of = other_names(text)
        folder.mkdir(parents=True, exist_ok=True)
        other = re.sub(r"%([\w.\-]+)", lambda found: f"%{of.get(found[1], found[1])}", text)
        (folder / "module.txt").write_text(other)
        proto = (source / "module.hlo.pb").read_bytes()
        (folder / "module.hlo.pb").write_bytes(rewritten(proto, (), lambda found: of.get(found, found)))
        meta = json.loads((source / "meta.json").read_text())
        (folder / "meta.json").write_text(json.dumps({**meta, "spec": own}))
    return {**models, name: own}
