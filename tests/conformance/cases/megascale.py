"""Collectives between slices: megascale_stats as a table, and as a Perfetto trace."""
from cases import case
from cases.buffers import shape
from wire import Ref, Space, Uint, message, packed

US = 1_000_000
TABLE = ("megascale_stats",)
TRACE = ("megascale_stats?perfetto=true", "=megascale_stats?perfetto=true&group_tiny_events=false")

# ShapeProto's numbers of element types.
F32, U32, TUPLE, TOKEN = 11, 8, 13, 17


def tuple_of(*parts):
    return message((2, TUPLE), (4, list(parts)))


def attributes(**words):
    return message((1, [message((1, k), (2, v)) for k, v in words.items()]))


def transfer(number, name, opcode, result, operands, channel, words, host=True):
    return message(
        (1, name), (2, opcode), (3, result), (26, channel), (35, number), (36, packed(operands)), (47, int(host)),
        (68, attributes(**words) if words else None),
    )  # fmt: skip


def module(*collectives):
    """A module with a send and a receive for each (channel, rendezvous, kind, elements)."""
    token = message((2, TOKEN))
    body = [message((1, "p.0"), (2, "parameter"), (3, shape(64)), (35, 1)), message((1, "after.0"), (2, "after-all"), (3, token), (35, 2))]
    for i, (channel, rendezvous, kind, size) in enumerate(collectives):
        number = 10 * (i + 1)
        data = shape(size)
        body.append(message((1, f"data.{i}"), (2, "broadcast"), (3, data), (35, number), (36, packed([1 + 0 * i]))))
        body[-1] = message((1, f"data.{i}"), (2, "parameter"), (3, data), (9, i + 1), (35, number))
        words = {"_xla_host_transfer_rendezvous": rendezvous}
        if kind:
            words["_xla_megascale_transfer_type"] = kind
        sending = tuple_of(data, message((2, U32), (5, message())), token)
        body.append(transfer(number + 1, f"send.{i}", "send", sending, [number, 2], channel, words))
        body.append(transfer(number + 2, f"send-done.{i}", "send-done", token, [number + 1], channel, {}))
        body.append(transfer(number + 3, f"recv.{i}", "recv", sending, [2], channel, words))
        body.append(transfer(number + 4, f"recv-done.{i}", "recv-done", tuple_of(data, token), [number + 3], channel, {}))
        body.append(message((1, f"got.{i}"), (2, "get-tuple-element"), (3, data), (35, number + 5), (36, packed([number + 4]))))
    root = 10 * len(collectives) + 5
    parameters = [shape(64)] + [shape(c[3]) for c in collectives]
    signature = message((1, parameters), (2, shape(collectives[-1][3])), (3, [f"p{i}" for i in range(len(parameters))]))
    computation = message((1, "main"), (2, body), (4, signature), (5, 1), (6, root))
    return message((1, message((1, "jit_f"), (2, "main"), (3, computation), (4, signature), (5, 7), (6, 1))))


def groups(*sizes, pairs=0):
    """A DcnCollectiveInfoProto: groups of end points, or pairs."""
    ends = [message((1, [message((1, i), (2, i)) for i in range(size)])) for size in sizes]
    return message((2, ends), (3, [message((1, message((1, 1))), (2, message((1, 2)))) for _ in range(pairs)]))


def run(collectives, places, host="host0", marked=True, sizes=2, pairs=0, start_ns=0):
    """Places are (op, start in us, length in us) of ops of the module."""
    space = Space(host)
    space.plane("/host:metadata").metadata("jit_f(7)", number=7, **{"Hlo Proto": module(*collectives)})
    plane = space.plane("/device:TPU:0", device_type_string="TPU v4")
    end = max(start + length for _, start, length in places) + 10
    plane.line("XLA Modules", 1, start_ns).event("jit_f(7)", 0, int(end * US), meta=dict(program_id=7), run_id=Uint(1))
    line = plane.line("XLA Ops", 2, start_ns)
    for number, (name, start, length) in enumerate(places):
        category = "host " + name.split(".")[0]
        info = dict(dcn_collective_info=groups(*([] if pairs else [sizes]), pairs=pairs)) if name.startswith("send.") else {}
        meta = dict(program_id=7, symbol_id=number, hlo_category=category, **info)
        line.event(f"%{name} = f32[8] {category}", int(start * US), int(length * US), meta=meta, display=name)
    line = space.plane("/host:CPU").line("main")
    line.event("MegaScale: Communication Transport Receive" if marked else "other", 0, US)
    return space


def once(i=0, start=100):
    return [(f"send.{i}", start, 2), (f"recv.{i}", start + 3, 1.5), (f"send-done.{i}", start + 20, 4), (f"recv-done.{i}", start + 50, 30.25)]


KINDS = ("ONE_TO_ONE", "ALL_GATHER", "ALL_REDUCE", "ALL_TO_ALL", "REDUCE_SCATTER", "UNKNOWN", None)
for kind in KINDS:
    case(*TABLE, name=f"table_{str(kind).lower()}")(
        lambda kind=kind: run([(3, "collective.1", kind, 4096)], once(), sizes=4, pairs=int(kind == "ONE_TO_ONE"))
    )


@case(*TABLE)
def table_interleaved():
    """Two collectives whose ops overlap each other's slack, three times over."""
    collectives = [(3, "collective.1", "ALL_GATHER", 4096), (4, "collective.2", "REDUCE_SCATTER", 1024)]
    places = []
    for i in range(3):
        start = 100 + 400 * i
        places += [("send.0", start, 2), ("recv.0", start + 2.5, 1), ("send.1", start + 5, 3 + i), ("recv.1", start + 10, 1)]
        places += [("send-done.0", start + 20, 2.125), ("send-done.1", start + 30, 1), ("recv-done.0", start + 90, 10 + i), ("recv-done.1", start + 150, 0)]
    return run(collectives, places, start_ns=1_700_000_000_000_000_000)


@case(*TABLE)
def table_without_slack():
    """The receiver waits at once: the bandwidth that it would take has no bound."""
    return run([(3, "collective.1", "ALL_GATHER", 4096)], [("send.0", 10, 2), ("recv-done.0", 12, 20)])


@case(*TABLE)
def table_of_a_receiver_alone():
    """A receiver whose sender was not captured."""
    return run([(3, "collective.1", "ALL_GATHER", 4096)], [("recv.0", 10, 2), ("recv-done.0", 30, 2)])


@case(*TABLE)
def table_without_messages():
    """Ops without the host's messages."""
    return run([(3, "collective.1", "ALL_GATHER", 4096)], once(), marked=False)


def hosts(marked=True):
    collectives = [(3, "collective.1", "ALL_GATHER", 4096)]
    return {
        "host0": run(collectives, once()),
        "host1": run(collectives, once(start=140) + once(start=300), host="host1", marked=marked),
    }


case(*TABLE, "megascale_stats?host=host1", hosts=("host0", "host1"), name="table_of_two_hosts")(hosts)


def trace(tiny=True, devices=2, graphs=3, done=True):
    space = Space("host0")
    for number in range(devices):
        plane = space.plane(f"/device:TPU:{number}", device_type_string="TPU v4")
        plane.line("Steps", 0, 5_000).event("1", 0, 900 * US)
        modules = plane.line("XLA Modules", 1, 5_000)
        modules.event("jit_f(7)", 0, 400 * US, meta=dict(program_id=7), run_id=Uint(77))
        modules.event("jit_f(7)", 450 * US, 400 * US, meta=dict(program_id=7))
        ops, extra = plane.line("XLA Ops", 2, 5_000), plane.line("XLA TraceMe", 3, 5_000)
        plane.line("Async XLA Ops", 4, 5_000).event("unseen", 0, US)
        for base in (0, 450):
            for name, start, length in (("send.4", 10, 2), ("recv.5", 13, 1), ("send-done.4", 100, 5), ("recv-done.5", 200, 30)):
                long = f'%{name} = x, frontend_attributes={{_xla_host_transfer_rendezvous="myrendezvous_0"}}'
                if not done and name == "recv-done.5":
                    continue
                meta = dict(program_id=7, symbol_id=len(name), hlo_category="host send", flops=5, tf_op="jit(f)/send", ratio=0.5)
                ops.event(long, (base + start) * US, length * US, meta=meta, display=name, note=f"n{start}", count=Uint(3))
            for i in range(3 if tiny else 0):
                ops.event(f"tiny.{i}", (base + 300) * US + 200 * i, 100)
                extra.event(f"mark.{i}", (base + 300) * US + 300 * i, 0)
            ops.event("send.9", (base + 310) * US, 500).event("alone.1", (base + 320) * US, 300)
    plane = space.plane("/device:CUSTOM:Megascale Trace")
    for device in range(graphs):
        line = plane.line(f"graph {device}", device, 5_000)
        for turn, base in ((0, 0), (1, 450)):
            key = f"device_{200000 + device}_gid_myrendezvous_0$1^i{turn}"
            common = dict(graph_key=Ref(key), launch_id=turn)
            line.event(f"device_{200000 + device}_gid_myrendezvous_0", (base + 20) * US, 150 * US, input_size=4096, **common)
            line.event("DeviceToHost START", (base + 21) * US, 0, action_index=0, **common)
            line.event("DeviceToHost END", (base + 30) * US, 2 * US, action_index=0, **common)
            line.event("NetworkSend END", (base + 60) * US, US, action_duration_ns=20_000, buffer_sizes="s1->2d|$c0=100000;s1->1d|$c1=7", **common)
            line.event("NetworkReceive END", (base + 80) * US, US, network_transport_latency_us=Uint(25), buffer_sizes="s2->1d|$c0=100000 s3->1d|$c12=50", **common)
            line.event("HostToDevice START", (base + 110) * US, US, action_index=0, **common)
            line.event("HostToDevice START", (base + 115) * US, US, action_index=1, **common)
            line.event("HostToDevice END", (base + 120) * US, US, action_index=0, **common)
            line.event("HostToDevice END", (base + 140) * US, 5 * US, action_index=1, **common)
        line.event("no key", 0, US)
    return space


case(*TRACE, name="trace")(trace)
case(*TRACE, name="trace_of_one_device")(lambda: trace(tiny=False, devices=1, graphs=1))
case(*TRACE, name="trace_without_graphs")(lambda: trace(graphs=0, done=False))


@case(*TRACE)
def trace_of_nothing():
    """A profile without TPUs."""
    space = Space("host0")
    space.plane("/host:CPU").line("main").event("MegaScale: x", 0, US)
    return space


@case(*TRACE)
def trace_with_odd_transfers():
    """Rates that are too high, missing stats, repeated stats, sizes that cannot be read."""
    space = Space("host0")
    plane = space.plane("/device:TPU:3")
    plane.line("XLA Modules", 1).event("m", 0, 90 * US)
    plane.line("XLA Ops", 2).event("a", 5 * US, 10 * US).event("b", 5 * US, 20 * US).event("send", 6 * US, 0).event("send-done", 50 * US, 0)
    line = space.plane("/device:CUSTOM:Megascale Trace").line("x", 1)
    key = dict(graph_key="device_100003_gid_op_name.123_0$l456^i78")
    line.event("NetworkSend END", 10 * US, US, action_duration_ns=1, buffer_sizes="s1->2d|$c0=1000000", **key)
    line.event("NetworkSend END", 12 * US, US, action_duration_ns=0, buffer_sizes="s1->2d|$c0=1000", **key)
    line.event("NetworkSend END", 13 * US, US, buffer_sizes="s1->2d|$c0=1000", **key)
    line.event("NetworkSend END", 14 * US, US, action_duration_ns=100, **key)
    line.event("NetworkReceive END", 20 * US, US, network_transport_latency_us=5, buffer_sizes="s1->2d|$c0=1000", **key)
    line.event("NetworkReceive END", 22 * US, US, network_transport_latency_us=Uint(5), buffer_sizes="nothing", **key)
    line.event("NetworkReceive END", 24 * US, US, network_transport_latency_us=Uint(5), buffer_sizes="s1->2d|$c0=9xs4->5d|$c3=8", **key)
    line.event("bytes", 26 * US, US, meta=dict(shared=1), raw=b"ab", shared=2, _r=1, flops=3, **key)
    line.event("other", 27 * US, US, graph_key="no device here")
    return space
