"""The heap of a compiled module, replayed: memory_viewer and graph_viewer."""
from cases import case
from wire import Space, message, packed

MIB = 1 << 20
ALLOC, FREE, SHARE = 0, 1, 2


def shape(*dims, kind=11):
    """An array of F32 (11) with the natural layout."""
    layout = message((1, packed(reversed(range(len(dims)))) or None))
    return message((2, kind), (3, packed(dims)), (5, layout))


def instruction(number, name, opcode, dims, operands=(), **more):
    fields = [(1, name), (2, opcode), (3, shape(*dims))]
    fields += [(7, message((2, more["op_name"])))] if "op_name" in more else []
    fields += [(9, more["parameter"])] if "parameter" in more else []
    fields += [(43, more["backend_config"])] if "backend_config" in more else []
    return message(*fields, (35, number), (36, packed(operands) or None))


def program(buffers, events, color=0, indefinite=True):
    """Buffers are (id, instruction, offset, size); events (kind, buffer[, shared with])."""
    body = [instruction(1, "p.0", "parameter", (512, 512), parameter=0)]
    body += [
        instruction(i + 2, f"fusion.{i + 1}", "negate", (256, 256), (i + 1,), op_name=f"jit(f)/layer/op{i + 1}")
        for i in range(len(buffers))
    ]
    signature = message((1, shape(512, 512)), (2, shape(256, 256)), (3, "p.0"))
    computation = message((1, "main"), (2, body), (4, signature), (5, 1), (6, len(body)))
    module = message((1, "jit_f"), (2, "main"), (3, computation), (4, signature), (5, 7), (6, 1))
    logical = [
        message((1, number), (2, size), (3, message((4, at + 1))), (4, color or None)) for number, at, _, size in buffers
    ]
    assigned = [message((1, number), (2, offset), (3, size)) for number, _, offset, size in buffers]
    room = max(offset + size for _, _, offset, size in buffers)
    allocations = [message((1, 0), (2, room), (8, color or None), (9, assigned))]
    if indefinite:
        logical.append(message((1, 99), (2, MIB), (3, message((4, 1)))))
        parameter = message((1, 99), (2, 0), (3, MIB))
        allocations.append(message((1, 1), (2, MIB), (5, 1), (6, 0), (9, parameter)))
    trace = message((1, [message((1, e[0]), (2, e[1]), (5, e[2] if len(e) > 2 else None)) for e in events]), (3, 0))
    assignment = message((1, logical), (3, allocations), (4, trace))
    return message((1, module), (3, assignment))


def holding(hlo):
    space = Space("host0")
    plane = space.plane("/host:metadata")
    plane.metadata("jit_f(7)", number=7, **{"Hlo Proto": hlo})
    return space


MEMORY = ("memory_viewer?module_name=jit_f(7)&memory_space=0",)
GRAPH = ("graph_viewer?module_name=jit_f(7)&type=short_txt", "graph_viewer?module_name=jit_f(7)&type=adj_nodes&node_name=fusion.1")
HALF, QUARTER = MIB // 2, MIB // 4
CHAIN = [(1, 1, 0, HALF), (2, 2, 0, HALF), (3, 3, 0, HALF)]


@case(*MEMORY, *GRAPH, "tool_names")
def shared_while_held():
    """A buffer shared while its owner lives counts once."""
    return holding(program(CHAIN[:2], [(ALLOC, 1), (SHARE, 2, 1), (FREE, 1), (FREE, 2)]))


@case(*MEMORY)
def shared_after_release():
    """A buffer shared after its owner was freed."""
    return holding(program(CHAIN[:2], [(ALLOC, 1), (FREE, 1), (SHARE, 2, 1), (FREE, 2)]))


@case(*MEMORY)
def shared_in_a_chain():
    """The third shares with the second, which shared with the first."""
    events = [(ALLOC, 1), (SHARE, 2, 1), (FREE, 1), (FREE, 2), (SHARE, 3, 2), (FREE, 3)]
    return holding(program(CHAIN, events))


@case("memory_viewer?module_name=jit_f(7)&memory_space=1")
def shared_in_fast_memory():
    """The peak is named after the buffer that holds the room then."""
    buffers = [(1, 1, 0, QUARTER), (2, 2, 0, QUARTER), (3, 3, 0, QUARTER), (4, 4, QUARTER, HALF)]
    events = [(ALLOC, 1), (SHARE, 2, 1), (FREE, 1), (FREE, 2), (ALLOC, 4), (SHARE, 3, 2), (FREE, 3), (FREE, 4)]
    return holding(program(buffers, events, color=1))


@case(*MEMORY)
def small_buffers():
    """Buffers below 16 KiB are pooled."""
    buffers = [(1, 1, 0, MIB), (2, 2, MIB, 4096), (3, 3, MIB + 4096, 8192)]
    return holding(program(buffers, [(ALLOC, 1), (ALLOC, 2), (ALLOC, 3), (FREE, 2), (FREE, 3), (FREE, 1)]))
