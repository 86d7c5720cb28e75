"""Files that stand for much more than they are: small on disk, and large or slow for who believes them. Standard library only.

`all_of(scale)` gives names and bytes: some 200 files of tens of kilobytes to two megabytes at scale 1, as many times larger beyond.
"""
import gzip
import pathlib
import struct
import sys
import zlib

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "conformance"))
from wire import field, packed, varint  # noqa: E402

from highway import highway  # noqa: E402

HUGE = [0, 1, 10**18, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
SMALL_CHUNK = 1 << 17


# What an XSpace is made of.
def metadata(number, name, extra=b""):
    return field(4, field(1, number) + field(2, field(1, number) + field(2, name) + extra))


def stat_metadata(number, name):
    return field(5, field(1, number) + field(2, field(1, number) + field(2, name)))


def event(meta, offset, duration, stats=b""):
    return field(4, field(1, meta) + field(2, offset) + field(3, duration) + stats)


def line(number, name, events, start=0):
    return field(3, field(1, number) + field(2, name) + field(3, start) + events)


def plane(name, body, number=1):
    return field(1, field(1, number) + field(2, name) + body)


def spaces(scale):
    """Profiles as they are."""
    for place in ("/device:TPU:0", "/device:GPU:0", "/host:CPU"):
        short = place[1:].replace(":", "-").replace("/", "-")
        for n in (50_000, 400_000 * scale):
            yield f"lines-{short}-{n}", plane(place, b"\x1a\x00" * n)
            yield f"lines-with-id-{short}-{n}", plane(place, b"\x1a\x02\x08\x01" * n)
            yield f"events-{short}-{n}", plane(place, line(1, "XLA Ops", b"\x22\x00" * n) + metadata(1, "a"))
            yield f"short-events-{short}-{n}", plane(place, line(1, "XLA Ops", b"\x22\x04\x08\x01\x18\x09" * n) + metadata(1, "a"))
    n = 200_000 * scale
    yield "counted-events", plane("/device:TPU:0", line(1, "XLA Ops", b"\x22\x04\x08\x01\x28\x01" * n) + metadata(1, "a"))
    yield "planes", b"\x0a\x00" * n
    yield "named-planes", plane("/device:TPU:0", b"") * (n // 8)
    # As many devices as the largest pods have hosts.
    yield "devices", plane("/device:TPU:0", line(1, "XLA Ops", event(1, 0, 5)) + metadata(1, "a")) * (n // 100)
    yield "hosts-of-one-name", plane("/host:CPU", line(1, "t", event(1, 0, 5)) + metadata(1, "a")) * (n // 40)
    yield "event-metadata", plane("/device:TPU:0", b"\x22\x00" * n)
    yield "event-metadata-keys", plane("/device:TPU:0", b"".join(field(4, field(1, i)) for i in range(n // 4)))
    yield "event-metadata-names", plane("/host:CPU", b"".join(metadata(i, f"n{i}") for i in range(1, n // 8)) + line(1, "t", event(1, 0, 5)))
    yield "stat-metadata", plane("/device:TPU:0", b"\x2a\x00" * n)
    yield "stat-metadata-names", plane("/device:TPU:0", b"".join(stat_metadata(i, f"s{i}") for i in range(1, n // 8)))
    yield "plane-stats", plane("/device:TPU:0", b"\x32\x02\x08\x01" * n)
    yield "plane-texts", plane("/device:TPU:0", field(6, field(1, 1) + field(5, "t")) * (n // 4) + stat_metadata(1, "x"))
    yield "hostnames", plane("/host:CPU", b"") + b"\x22\x00" * n
    yield "errors", plane("/host:CPU", b"") + b"\x12\x01e" * n
    yield "warnings", plane("/host:CPU", b"") + b"\x1a\x01w" * n
    yield "unknown-fields", plane("/device:TPU:0", b"\x78\x01" * n) + b"\xf8\x01\x01" * n
    yield "groups", b"\x0b" * n
    yield "huge-length", varint(1 << 3 | 2) + varint(2**63 - 1) + b"x" * 100
    yield "huge-length-of-lines", plane("/device:TPU:0", varint(3 << 3 | 2) + varint(2**64 - 1))
    deep = b""
    while len(deep) < 200_000:
        deep = field(1, deep)
    yield "deep", field(1, deep)
    numbers = b"".join(event(1 + i % 3, o, d) for i, (o, d) in enumerate((o, d) for o in HUGE for d in HUGE for _ in range(40)))
    body = b"".join(
        line(i, name, numbers, start)
        for i, (name, start) in enumerate(
            [("XLA Modules", 2**63 - 1), ("XLA Ops", 2**64 - 1), ("Steps", 0), ("Async XLA Ops", 10**18), ("Stream #1(Compute)", 2**62)]
        )
    ) + b"".join(metadata(i, name) for i, name in [(1, "jit_f(1)"), (2, "fusion.1"), (3, "all-reduce.1")])
    yield "extremes", b"".join(plane(p, body, i) for i, p in enumerate(["/device:TPU:0", "/device:GPU:0", "/host:CPU"]))
    n = 20_000 * scale
    nested = b"".join(event(2, i, 2**50 - 2 * i) for i in range(n))
    names = metadata(1, "jit_f(1)") + metadata(2, "f")
    yield "nested", plane("/device:TPU:0", line(1, "XLA Modules", event(1, 0, 2**50)) + line(2, "XLA Ops", nested) + names)
    yield "nested-host", plane("/host:CPU", line(2, "python", nested) + names)
    yield "overlapping", plane("/device:TPU:0", line(2, "XLA Ops", b"".join(event(2, i, 2**64 - 1) for i in range(n))) + names)
    yield "crossing", plane("/device:GPU:0", line(2, "Stream #1", b"".join(event(2, i * 10, 10_000) for i in range(n))) + names)
    backwards = b"".join(event(2, (n - i) * 1000, 900) for i in range(n))
    yield "backwards", plane("/device:TPU:0", line(2, "XLA Ops", backwards) + names)
    each = [b"".join(event(m, i * 1000, 900) for i in range(n)) for m in (1, 2)]
    steps = b"".join(event(3, i * 1000, 900, field(4, field(1, 1) + field(4, i))) for i in range(n))
    more = metadata(3, "1") + stat_metadata(1, "step_num")
    yield "steps", plane("/device:TPU:0", line(0, "Steps", steps) + line(1, "XLA Modules", each[0]) + line(2, "XLA Ops", each[1]) + names + more)
    gaps = b"".join(event(2, i * 20_000_000, 900) for i in range(n))
    yield "gaps", plane("/device:TPU:0", line(1, "XLA Modules", event(1, 0, n * 20_000_000)) + line(2, "XLA Ops", gaps) + names)
    yield "programs", plane(
        "/device:TPU:0",
        line(1, "XLA Modules", b"".join(event(i + 1, i * 1000, 900) for i in range(n)))
        + line(2, "XLA Ops", b"".join(event(i + 1, i * 1000, 900) for i in range(n)))
        + b"".join(metadata(i + 1, f"jit_f{i}({i})") for i in range(n)),
    )
    yield "ops-of-one-run", plane(
        "/device:TPU:0",
        line(1, "XLA Modules", event(n + 1, 0, n * 1000)) + line(2, "XLA Ops", b"".join(event(i + 1, i * 1000, 900) for i in range(n)))
        + b"".join(metadata(i + 1, f"%fusion.{i} = f32[8] fusion()") for i in range(n)) + metadata(n + 1, "jit_f(1)"),
    )
    yield "collectives", plane(
        "/device:TPU:0",
        line(1, "XLA Modules", event(n + 1, 0, n * 1000)) + line(2, "XLA Ops", b"".join(event(i + 1, i * 1000, 900) for i in range(n)))
        + b"".join(metadata(i + 1, f"%all-reduce.{i} = f32[8] all-reduce(), replica_groups={{}}") for i in range(n)) + metadata(n + 1, "jit_f(1)"),
    )
    yield "long-name", plane("/device:TPU:0", line(2, "XLA Ops", event(1, 0, 10) * 100) + metadata(1, "A" * (1_000_000 * scale)))
    yield "long-names", plane(
        "/device:TPU:0", line(2, "XLA Ops", b"".join(event(i % 50 + 1, i * 10, 9) for i in range(5000))) + b"".join(metadata(i + 1, f"B{i}" + "x" * 20_000) for i in range(50))
    )
    yield "children", plane("/device:TPU:0", line(2, "XLA Ops", event(1, 0, 10) * 100) + metadata(1, "a", field(6, 2)) + metadata(2, "b", field(6, 1)))
    yield "references", plane(
        "/device:TPU:0", line(2, "XLA Ops", b"".join(event(10**9 + i, i * 100, 90, field(4, field(1, 10**9) + field(7, 2**64 - 1))) for i in range(5000)))
    )
    texts = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed_text = texts.compress(b"x" * 20_000_000) + texts.flush()
    many = b"".join(metadata(i + 1, f"f{i}", field(5, field(1, 1) + field(8, packed_text))) for i in range(20))
    yield "packed-texts", plane("/device:TPU:0", line(2, "XLA Ops", b"".join(event(i % 20 + 1, i * 10, 9) for i in range(500))) + many + stat_metadata(1, "long_name"))
    for value in ("nan", "inf", "-inf", "-1", "5e-324", "1e308"):
        number = struct.pack("<d", float(value))
        double = lambda key: field(5, field(1, key) + b"\x11" + number)  # noqa: E731
        stats = stat_metadata(1, "flops") + stat_metadata(2, "bytes_accessed") + stat_metadata(3, "peak_teraflops_per_second")
        own = field(6, field(1, 3) + b"\x11" + number)
        yield f"numbers-{value}", plane(
            "/device:TPU:0", line(2, "XLA Ops", event(1, 0, 90) * 500) + line(1, "XLA Modules", event(9, 0, 100_000)) + metadata(9, "jit_f(1)")
            + stats + metadata(1, "fusion.1", double(1) + double(2)) + own,
        )


# What an HLO module is made of.
def instruction(name, opcode, number, *more):
    return field(2, field(1, name) + field(2, opcode) + field(3, field(2, 11)) + field(35, number) + b"".join(more))


def computation(name, number, instructions, root):
    return field(3, field(1, name) + instructions + field(5, number) + field(6, root))


def module(computations, entry=1, more=b""):
    return field(1, field(1, "m") + field(2, "main") + computations + field(6, entry) + field(5, 1) + more)


def programs(scale):
    """HLO protos and HLO text."""
    n = 100_000 * scale
    for label, part in [
        ("instructions", b"\x12\x00" * n),
        ("instructions-with-id", b"\x12\x03\x98\x02\x01" * n),
        ("instructions-with-shape", b"\x12\x02\x1a\x00" * n),
        ("instructions-with-attributes", b"\x12\x02\x48\x01" * n),
        ("shapes", field(2, field(3, b"\x22\x00" * n))),
        ("layouts", field(2, field(3, field(5, b"\x32\x00" * n)))),
        ("groups", field(2, b"\x8a\x03\x00" * n)),
        ("operand-shapes", field(2, b"\xca\x03\x00" * n)),
        ("maps", field(2, field(68, b"".join(field(1, field(1, f"{i}")) for i in range(n // 4))))),
        ("operands", instruction("p", "parameter", 1) + instruction("t", "tuple", 2, field(36, packed([1] * n)))),
    ]:
        yield f"hlo-{label}.hlo_proto.pb", module(computation("main", 1, part, 2))
    yield "hlo-computations.hlo_proto.pb", module(b"\x1a\x00" * n)
    for number, label in [(4, "program-shape"), (7, "schedule"), (8, "aliases"), (15, "devices"), (17, "frames"), (18, "donors"), (22, "payloads")]:
        part = field(number, b"\x0a\x00" * n) if number != 22 else b"\xb2\x01\x00" * n
        yield f"hlo-{label}.hlo_proto.pb", module(computation("main", 1, instruction("a", "add", 1), 1), 1, part)
    yield "hlo-buffers.hlo_proto.pb", module(computation("main", 1, instruction("a", "add", 1), 1)) + field(3, b"\x0a\x00" * n)
    chain = b"".join(instruction(f"i{k}", "negate", k, field(36, packed([k - 1]))) for k in range(1, n // 10))
    yield "hlo-chain.hlo_proto.pb", module(computation("main", 1, chain, n // 10 - 1))
    rounds = b"".join(instruction(f"a{i}", "add", i, field(36, packed([i % 1000 + 1, (i + 1) % 1000 + 1]))) for i in range(1, 1001))
    yield "hlo-circle.hlo_proto.pb", module(computation("main", 1, rounds, 1))
    yield "hlo-square.hlo_proto.pb", module(
        computation("main", 1, instruction("p", "parameter", 1) + b"".join(instruction(f"t{k}", "tuple", k, field(36, packed(range(1, k)))) for k in range(2, 800)), 799)
    )
    for opcode in ("call", "fusion", "while", "conditional"):
        own = lambda k: instruction(f"i{2 * k}", opcode, 2 * k, field(38, packed([k + 1]))) + instruction(f"i{2 * k + 1}", opcode, 2 * k + 1, field(38, packed([k + 1])))  # noqa: E731
        parts = b"".join(computation(f"c{k}", k, own(k), 2 * k) for k in range(1, 60))
        yield f"hlo-calls-{opcode}.hlo_proto.pb", module(parts + computation("c60", 60, instruction("z", "add", 120), 120))
        yield f"hlo-itself-{opcode}.hlo_proto.pb", module(computation("main", 1, instruction("w", opcode, 1, field(38, packed([1, 1]))), 1))
    deep = b"".join(computation(f"c{k}", k, instruction(f"i{k}", "call", k, field(38, packed([k + 1]))), k) for k in range(1, n // 10))
    yield "hlo-deep-calls.hlo_proto.pb", module(deep + computation("last", n // 10, instruction("z", "add", n // 10), n // 10))
    shape = field(2, 11)
    for _ in range(3000):
        shape = field(2, 13) + field(4, shape)
    yield "hlo-deep-shape.hlo_proto.pb", module(computation("main", 1, field(2, field(1, "p") + field(2, "parameter") + field(3, shape) + field(35, 1)), 1))
    sizes = field(3, field(2, 11) + field(3, packed([2**63 - 1] * 20)))
    wide = field(2, field(1, "p") + field(2, "parameter") + sizes + field(35, 1)) + field(2, field(1, "d") + field(2, "dot") + sizes + field(35, 2) + field(36, packed([1, 1])))
    yield "hlo-wide.hlo_proto.pb", module(computation("main", 1, wide, 2))
    start = "HloModule m\n\nENTRY main {\n"
    yield "hlo-instructions.txt", start + "a = f32[] b()\n" * n + "}\n"
    yield "hlo-tuple.txt", start + "  ROOT p = " + "(" * n + "f32[]" + ")" * n + " parameter(0)\n}\n"
    yield "hlo-shapes.txt", start + "  ROOT p = (" + "f32[]," * n + "f32[]) parameter(0)\n}\n"
    yield "hlo-config.txt", start + "  ROOT p = f32[] custom-call(), backend_config=" + '{"a":' * n + "1" + "}" * n + "\n}\n"
    yield "hlo-wide.txt", start + "  p = f32[" + ",".join(["9223372036854775807"] * 1000) + "] parameter(0)\n  ROOT d = f32[] dot(p,p), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n}\n"
    yield "hlo-calls.txt", "HloModule m\n\n" + "".join(f"c{k} {{\n  ROOT r = f32[] call(), to_apply=c{k + 1}\n}}\n\n" for k in range(n // 20)) + "ENTRY main {\n  ROOT p = f32[] call(), to_apply=c0\n}\n"
    yield "hlo-circle.txt", start + "  a = f32[] add(b,b)\n  ROOT b = f32[] add(a,a)\n}\n"
    yield "hlo-constant.txt", start + "  ROOT c = f32[1000000000000] constant({" + "1," * n + "1})\n}\n"


def traces(scale):
    """Trace event JSON."""
    n = 20_000 * scale
    one = '{"ph":"X","name":"%s","ts":%s,"dur":%s,"pid":%s,"tid":%s%s}'
    trace = lambda entries, more="": '{"traceEvents":[' + ",".join(entries) + "]" + more + "}"  # noqa: E731
    yield "threads", trace(one % ("a", i, 1, i, i, "") for i in range(n))
    yield "threads-of-one", trace(one % ("a", i, 1, 1, i, "") for i in range(n))
    yield "names", trace(one % (f"name{i}", i, 1, 1, 1, "") for i in range(n))
    yield "counters", trace('{"ph":"C","name":"c%d","ts":%d,"pid":1,"args":{"a":1,"b":2}}' % (i, i) for i in range(n))
    yield "begins", trace(['{"ph":"B","name":"a","ts":1,"pid":1,"tid":1}'] * n)
    yield "begins-with-arguments", trace(['{"ph":"B","name":"a","ts":1,"pid":1,"tid":1,"args":{"a":"b","c":"d","e":"f"}}'] * n)
    yield "ends", trace(['{"ph":"E","name":"a","ts":1,"pid":1,"tid":1}'] * n)
    yield "arguments", trace([one % ("a", 1, 1, 1, 1, ',"args":{' + ",".join(f'"k{i}":{i}' for i in range(n)) + "}")])
    yield "keys", trace(one % ("a", i, 1, 1, 1, ',"args":{"k%d":%d}' % (i, i)) for i in range(n))
    yield "texts", trace(one % ("a", i, 1, 1, 1, ',"args":{"k":"t%d"}' % i) for i in range(n))
    yield "long-text", trace([one % ("a" * (50 * n), 1, 1, 1, 1, "")])
    yield "long-key", '{"' + "k" * (50 * n) + '":1,"traceEvents":[' + one % ("a", 1, 1, 1, 1, "") + "]}"
    yield "deep", '{"traceEvents":' + "[" * n + "]" * n + "}"
    yield "deep-arguments", trace([one % ("a", 1, 1, 1, 1, ',"args":' + '{"a":' * n + "1" + "}" * n)])
    yield "beside", trace([one % ("a", 1, 1, 1, 1, "")], ',"other":[' + "1," * (10 * n) + "1]")
    values = ["1e308", "-1e308", "9223372036854775808", "-1", "0.1", '"x"', "null", '"NaN"']
    yield "numbers", trace(one % ("a", x, y, z, w, "") for x in values for y in values for z in ("1", '"p"', "-1") for w in ("1", "99999999999999999999"))
    yield "flows", trace(['{"ph":"s","name":"a","ts":1,"pid":1,"tid":1,"id":1}'] * n)
    yield "objects", trace(["{}"] * n)
    yield "instants", trace('{"ph":"i","name":"a%d","ts":%d,"pid":%d,"tid":1}' % (i, i, i % 7) for i in range(n))
    yield "processes", trace('{"ph":"M","name":"process_name","pid":%d,"args":{"name":"p%d"}}' % (i, i) for i in range(n))


def chunked(data):
    """Data as zstd of blocks that repeat one byte each: 4 bytes for 128 KiB."""
    out = b"\x28\xb5\x2f\xfd" + b"\xa0" + struct.pack("<I", len(data))
    for at in range(0, len(data), SMALL_CHUNK):
        part = data[at : at + SMALL_CHUNK]
        is_last = at + SMALL_CHUNK >= len(data)
        if part == part[:1] * len(part):
            out += struct.pack("<I", int(is_last) | 1 << 1 | len(part) << 3)[:3] + part[:1]
        else:
            out += struct.pack("<I", int(is_last) | len(part) << 3)[:3] + part
    return varint(len(data)) + out


class Records:
    """A file of Riegeli records that grows by chunks."""

    def __init__(self):
        self.out = b""
        self.chunk(b"s", 0, 0, b"")

    def chunk(self, kind, records, decoded, data):
        begin = len(self.out)
        head = struct.pack("<QQQQ", len(data), highway(data), kind[0] | records << 8, decoded)
        rest = struct.pack("<Q", highway(head)) + head + data
        end, left = begin, len(rest)
        while left > 0:
            end += 24 if end % 65536 == 0 else 0
            part = min(left, 65536 - end % 65536)
            end, left = end + part, left - part
        while rest:
            at = len(self.out)
            if at % 65536 == 0:
                head = struct.pack("<QQ", at - begin, end - at)
                self.out += struct.pack("<Q", highway(head)) + head
                at += 24
            room = 65536 - at % 65536
            self.out += rest[:room]
            rest = rest[room:]
        return self

    def simple(self, records, sizes, data, decoded, compression=0):
        letter = bytes([compression])
        return self.chunk(b"r", records, decoded, letter + varint(len(sizes)) + sizes + data)


def riegeli(scale):
    """Files of records."""
    n = 1 << 20
    good = plane("/device:TPU:0", line(1, "XLA Ops", event(1, 0, 5) * 100) + metadata(1, "a"))
    whole = lambda: Records().simple(1, varint(len(good)), good, len(good))  # noqa: E731
    for many in (n, 1 << 30, 1 << 40, 2**55):
        yield f"stated-records-{many}", whole().simple(many, varint(0), b"", 0).out
        yield f"stated-bytes-{many}", whole().simple(1, varint(many), good, many).out
        yield f"stated-transposed-{many}", whole().chunk(b"t", many, many, b"\x00\x01\x00").out
    for much in (4 << 20, 16 << 20, (32 << 20) * scale):
        zeros = chunked(bytes(much))
        yield f"sizes-zstd-{much}", Records().simple(much, zeros, varint(0), 0, ord("z")).out
        yield f"sizes-beside-a-good-one-{much}", whole().simple(much, zeros, varint(0), 0, ord("z")).out
        yield f"bytes-zstd-{much}", Records().simple(1, chunked(varint(much)), zeros, much, ord("z")).out
        yield f"header-zstd-{much}", Records().chunk(b"t", 1, 100, b"z" + varint(len(zeros)) + zeros).out
        lines = plane("/device:TPU:0", b"\x1a\x00" * (much // 64))
        yield f"lines-{much}", Records().simple(1, varint(len(lines)), lines, len(lines)).out
    yield "records", Records().simple(200_000, varint(0) * 200_000, b"", 0).out
    yield "records-of-two-bytes", Records().simple(100_000, varint(2) * 100_000, b"\x0a\x00" * 100_000, 200_000).out
    yield "pieces", Records().simple(2000, varint(len(good)) * 2000, good * 2000, 2000 * len(good)).out
    many = Records()
    for _ in range(300):
        many.simple(1, varint(len(good)), good, len(good))
    yield "chunks", many.out


def zipped(data):
    return gzip.compress(data, 9, mtime=0)


def packed_ones(scale):
    """Gzip files: bombs by their ratio, and what is packed of the others."""
    for much in (1 << 20, 8 << 20, 32 << 20, (64 << 20) * scale):
        for label, unit in [("zeros", b"\x00"), ("lines", b"\x1a\x00"), ("events", b"\x22\x04\x08\x01\x18\x09"), ("planes", b"\x0a\x00")]:
            body = unit * (much // len(unit))
            yield f"{label}-{much}.xplane.pb.gz", zipped(body if label == "zeros" else plane("/device:TPU:0", line(1, "XLA Ops", body) if label == "events" else body) if label != "planes" else body)
    member = zipped(b"\x1a\x00" * 100_000)
    yield "members.xplane.pb.gz", member * 200
    yield "empty-members.xplane.pb.gz", zipped(b"") * 20_000
    yield "bomb-in-a-bomb.xplane.pb.gz", zipped(zipped(bytes(64 << 20)))
    noise = bytes((i * 2654435761 >> 13) & 255 for i in range(100_000))
    for much in (2 << 20, 10 << 20):
        body = plane("/device:TPU:0", line(1, "XLA Ops", b"".join(event(i % 100, i * 1000, 900) for i in range(much // 12))) + field(15, noise))
        yield f"well-packed-{much}.xplane.pb.gz", zipped(body)
    for label, text in traces(scale):
        yield f"{label}.trace.json.gz", zipped(text.encode())
    yield "spaces.trace.json.gz", zipped(b'{"traceEvents":[' + b" " * (64 << 20) + b"]}")
    yield "text.trace.json.gz", zipped(b'{"traceEvents":[{"ph":"X","name":"' + b"a" * (64 << 20) + b'"}]}')
    yield "instructions.hlo_proto.pb.gz", zipped(module(computation("main", 1, b"\x12\x00" * 2_000_000, 2)))
    # Formats within gzip: what they unpack to is no measure of what they may take.
    n = 100_000
    noise_text = "".join(f"{i * 2654435761 % 2**32:08x}" for i in range(2000))
    yield "stated.xplane.riegeli.gz", zipped(Records().simple(1, varint(600_000), plane("/device:TPU:0", field(15, bytes(599_000))).ljust(600_000, b"\0"), 600_000).simple(1, varint(5), b"", 20 << 20).out)
    lines = plane("/device:TPU:0", b"\x1a\x00" * n)
    yield "lines.xplane.riegeli.gz", zipped(Records().simple(1, varint(len(lines)), lines, len(lines)).out)
    yield "long-lines.txt.gz", zipped(("HloModule m\n\n// " + noise_text + "\n\nENTRY main {\n" + '  a = f32[] constant(1), metadata={op_name="xxxxxxxxx"}\n' * 40_000 + "}\n").encode())
    threads = ",".join('{"ph":"X","name":"a","ts":1,"dur":1,"pid":1,"tid":%d%s}' % (i, " " * 400) for i in range(60_000))
    yield "threads.json.gz", zipped(f"[{threads}]".encode())
    # Modules that are within what one may take, a hundred of them.
    part = module(computation("main", 1, b"\x12\x00" * 79_000, 2))
    many = b"".join(metadata(i + 1, f"jit_f({i})", field(5, field(1, 1) + field(6, part))) for i in range(100))
    yield "modules.xplane.pb.gz", zipped(plane("/host:metadata", many + stat_metadata(1, "Hlo Proto")) + field(15, noise))
    yield "text.txt.gz", zipped(b"HloModule m\n\nENTRY main {\n" + b"a = f32[] b()\n" * 1_000_000 + b"}\n")


def all_of(scale=1):
    """Name and bytes of every file."""
    for name, data in spaces(scale):
        yield f"{name}.xplane.pb", data
    for name, data in programs(scale):
        yield name, data.encode() if isinstance(data, str) else data
    for name, text in traces(scale):
        yield f"{name}.trace.json", text.encode()
    for name, data in riegeli(scale):
        yield f"{name}.xplane.riegeli", data
    yield from packed_ones(scale)


def sessions(scale):
    """Name of a session, and the files of which it is made."""
    member = zipped(plane("/device:TPU:0", b"\x1a\x00" * 16_000))
    yield "many-small", {f"h{i:04}.xplane.pb.gz": member for i in range(1000 * scale)}
    dense = plane("/device:TPU:0", line(1, "XLA Ops", b"\x22\x00" * 2_000_000))
    good = plane("/device:TPU:0", line(1, "XLA Ops", event(1, 0, 5) * 1000) + metadata(1, "a"))
    yield "dense-one-of-four", {"a.xplane.pb": good, "b.xplane.pb": dense, "c.xplane.pb": good, "d.xplane.pb": good}


def main(folder, scale, only):
    """Writes each into a log folder of its own."""
    for name, files in sessions(scale):
        if only in name:
            for file, data in files.items():
                path = folder / f"session-{name}" / "plugins" / "profile" / "run" / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
    for name, data in all_of(scale):
        if only in name:
            path = folder / name.replace(".", "_") / "plugins" / "profile" / "run" / name
            path.parent.mkdir(parents=True)
            path.write_bytes(data)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
