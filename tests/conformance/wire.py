"""XSpaces written from scratch: the protobuf wire format and the six messages of a profile. Standard library only."""
import struct


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    """A field of a message: int and bool as varints, float as a double, str and bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    raw = value.encode() if isinstance(value, str) else bytes(value)
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def message(*fields):
    """A message of (number, value) pairs in that order. None and empty repeated values are left out."""
    out = bytearray()
    for number, value in fields:
        for one in value if isinstance(value, list) else [value]:
            if one is not None:
                out += field(number, one)
    return bytes(out)


def packed(values):
    """A packed repeated integer field's bytes."""
    return b"".join(varint(v) for v in values)


class Uint(int):
    """An unsigned stat; a plain int is a signed one."""


class Ref(str):
    """A string stat that refers to the name of a stat metadata."""


class Space:
    """An XSpace that grows plane by plane."""

    def __init__(self, *hostnames, errors=()):
        self.planes, self.hostnames, self.errors = [], hostnames, errors

    def plane(self, name, **stats):
        plane = Plane(len(self.planes), name, stats)
        self.planes.append(plane)
        return plane

    def bytes(self):
        fields = [(1, plane.bytes()) for plane in self.planes]
        return message(*fields, (2, list(self.errors)), (4, list(self.hostnames)))


class Plane:
    def __init__(self, number, name, stats):
        self.id, self.name, self.lines = number, name, []
        self.events, self.stats = {}, {}
        self.own = self.encode(stats)

    def line(self, name, number=None, start_ns=0, display=""):
        line = Line(self, len(self.lines) if number is None else number, name, start_ns, display)
        self.lines.append(line)
        return line

    def stat(self, name):
        return self.stats.setdefault(name, len(self.stats) + 1)

    def encode(self, stats):
        out = []
        for name, value in stats.items():
            key = (1, self.stat(name))
            if isinstance(value, Ref):
                out.append(message(key, (7, self.stat(str(value)))))
            elif isinstance(value, Uint):
                out.append(message(key, (3, int(value))))
            elif isinstance(value, (int, float, str, bytes)):
                number = {int: 4, bool: 4, float: 2, str: 5, bytes: 6}[type(value)]
                out.append(message(key, (number, value)))
            else:
                raise TypeError(f"a stat cannot hold {value!r}")
        return out

    def metadata(self, name, display=None, number=None, children=(), **stats):
        """The id of an event metadata; the same words give the same one."""
        key = (name, display, repr(sorted(stats.items())), number)
        if key not in self.events:
            number = len(self.events) + 1 if number is None else number
            body = message((1, number), (2, name), (4, display), (5, self.encode(stats)))
            if children:
                body += message((6, packed(children)))
            self.events[key] = (number, body)
        return self.events[key][0]

    def bytes(self):
        fields = [(1, self.id), (2, self.name)]
        fields += [(3, line.bytes()) for line in self.lines]
        fields += [(4, message((1, number), (2, body))) for number, body in self.events.values()]
        fields += [(5, message((1, i), (2, message((1, i), (2, name))))) for name, i in self.stats.items()]
        return message(*fields, (6, self.own))


class Line:
    def __init__(self, plane, number, name, start_ns, display):
        self.plane, self.id, self.name, self.start_ns, self.display = plane, number, name, start_ns, display
        self.all = []

    def event(self, name, start_ps=0, duration_ps=0, meta=None, display=None, metadata=None, **stats):
        """An event; `meta` are the stats of its metadata, `stats` its own. Returns the line."""
        if metadata is None:
            metadata = self.plane.metadata(name, display, **(meta or {}))
        self.all.append(message((1, metadata), (2, start_ps), (3, duration_ps), (4, self.plane.encode(stats))))
        return self

    def bytes(self):
        return message((1, self.id), (2, self.name), (3, self.start_ns), (4, self.all), (11, self.display or None))
