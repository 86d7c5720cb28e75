"""A Perfetto trace with its interned words put back, so that two traces can be compared packet by packet."""
import struct


def fields(raw):
    """The (number, value) pairs of a message; fixed-width values stay bytes."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = raw[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(raw):
        key = number()
        kind = key & 7
        if kind == 0:
            value = number()
        else:
            size = number() if kind == 2 else {1: 8, 5: 4}[kind]
            value = raw[at : at + size]
            at += size
        yield key >> 3, value


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def flat(raw):
    out = {}
    for number, value in fields(raw):
        out.setdefault(number, []).append(value)
    return out


def word(raw):
    return raw.decode("utf-8", "replace")


def annotation(raw, names, values):
    inner = flat(raw)
    name = names.get(inner.get(1, [None])[0])
    if 12 in inner:  # array_values
        return name, [annotation(v, names, values)[1] for v in inner[12]]
    for number, read in ((2, bool), (3, int), (4, signed), (5, lambda b: struct.unpack("<d", b)[0]), (6, word)):
        if number in inner:
            return name, read(inner[number][0])
    return name, values.get(inner.get(17, [None])[0])


def flows(inner, number):
    return sorted(struct.unpack("<Q", v)[0] if isinstance(v, bytes) else v for v in inner.get(number, []))


def track(raw):
    inner = flat(raw)
    counter = flat(inner[8][0]) if 8 in inner else {}
    return {
        "name": word(inner[2][0]) if 2 in inner else None,
        "parent": inner.get(5, [0])[0],
        "uuid": inner.get(1, [0])[0],
        "counter": {str(k): [word(v) if isinstance(v, bytes) else v for v in vs] for k, vs in counter.items()},
    }


def readable(raw):
    names, keys, values, packets, tracks = {}, {}, {}, [], {}
    for number, packet in fields(raw):
        inner = flat(packet)
        interned = flat(inner[12][0]) if 12 in inner else {}
        for into, entries in ((names, 2), (keys, 3), (values, 29)):
            for entry in interned.get(entries, []):
                one = flat(entry)
                into[one[1][0]] = word(one[2][0]) if 2 in one else ""
        out = {"time": inner.get(8, [None])[0], "flags": inner.get(13, [None])[0], "sequence": inner.get(10, [None])[0]}
        if 60 in inner:
            out["track"] = track(inner[60][0])
            tracks[out["track"]["uuid"]] = out["track"]["name"]
        if 11 in inner:
            event = flat(inner[11][0])
            out["type"] = event.get(9, [None])[0]
            out["on"] = event.get(11, [None])[0]
            out["name"] = names.get(event.get(10, [None])[0])
            out["args"] = dict(annotation(v, keys, values) for v in event.get(4, []))
            out["flows"], out["ends"] = flows(event, 47), flows(event, 48)
            if 30 in event:
                out["value"] = signed(event[30][0])
            if 44 in event:
                out["value"] = struct.unpack("<d", event[44][0])[0]
        packets.append(out)
    renumber(packets)
    return {"packets": packets}


def renumber(packets):
    """Arrows by first appearance: XProf goes over devices in the order of a hash."""
    seen = {}

    def fresh(value):
        if isinstance(value, list):
            return [fresh(v) for v in value]
        return seen.setdefault(value, len(seen) + 1)

    for packet in packets:
        args = packet.get("args") or {}
        for key in ("flow_in", "flow_out"):
            if key in args:
                args[key] = fresh(args[key])
        for key in ("flows", "ends"):
            if key in packet:
                packet[key] = fresh(packet[key])
