"""Compiles a program of a dump again for a described TPU, as it is and with cures. No device is needed.

One argument, JSON: path (HLO text before optimisation), topology, limit_kib (of scoped VMEM, where a flag set it), tries [{id, kib, times}], times: how many times smaller, or in how many
parts. Each answer is a line of stdout that begins with MARK, so that what the compiler prints does not disturb.
"""

import json
import os
import re
import sys

MARK = "haloscope-oom-try "
# A limit that the compiler then finds too small is raised to what it asks for so many times.
RAISES = 4
# What does not suffice is halved again so many times.
HALVES = 3
# A pod has no more devices of any generation than so many.
MOST_DEVICES = 256
# So many arguments are named.
SHOWN = 8
# Smaller arguments are not donated: they save nothing.
LEAST_BYTES = 1 << 20


def say(**answer):
    print("\n" + MARK + json.dumps(answer), flush=True)


def first_line(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    scoped = re.search(r"Scoped allocation with size [^.]*(\.\d[^.]*)*\.", str(error))
    if scoped:
        lines = [lines[0], scoped[0]]
    return " ".join(lines[:2])[:600] if lines else type(error).__name__


def listed(numbers):
    """Some of the numbers in words, and how many more there are."""
    shown = ", ".join(map(str, numbers[:SHOWN]))
    return shown if len(numbers) <= SHOWN else "%s and %d more" % (shown, len(numbers) - SHOWN)


def raised(error, kib):
    """The limit in KiB that a message of scoped VMEM asks for, a MiB above; None where it does not say or asks for no more."""
    found = re.search(r"Scoped allocation with size ([0-9.]+)([KMG]?)", str(error))
    if not found:
        return None
    need = float(found[1]) * {"": 1 / 1024, "K": 1, "M": 1024, "G": 1024 * 1024}[found[2]]
    need = (int(need) // 1024 + 1) * 1024
    return need if need > kib else None


def donated(text, computation):
    """The text with arguments that a result could replace given to it, and what was given; None where there is none."""
    if "input_output_alias=" in text.split("\n", 1)[0]:
        return None
    shape = computation.program_shape()
    result = shape.result_shape()
    results = result.tuple_shapes() if result.is_tuple() else [result]
    key = lambda s: (s.is_array() and str(s.element_type()), s.is_array() and tuple(s.dimensions()))

    def size(s):
        count = s.numpy_dtype().itemsize
        for extent in s.dimensions():
            count *= extent
        return count

    free = list(range(len(results)))
    pairs = []
    for number, parameter in enumerate(shape.parameter_shapes()):
        if not parameter.is_array() or size(parameter) < LEAST_BYTES:
            continue
        match = next((i for i in free if results[i].is_array() and key(results[i]) == key(parameter)), None)
        if match is not None:
            free.remove(match)
            pairs.append((match if result.is_tuple() else None, number))
    if not pairs:
        return None
    index = lambda i: "{}" if i is None else "{%d}" % i
    alias = ", ".join("%s: (%d, {}, may-alias)" % (index(out), number) for out, number in pairs)
    changed = text.replace(", entry_computation_layout=", ", input_output_alias={ %s }, entry_computation_layout=" % alias, 1)
    if changed == text:
        return None
    return changed, "argument " + listed([number for _, number in pairs])


def gone_through(module):
    """The dimensions of arguments that loops take slices of: cut along these, all would be gathered."""
    classes = Classes(module)
    sliced = set()
    for own in module.reached():
        for op in own.ops.values():
            if op.code in ("dynamic-slice", "dynamic-update-slice"):
                whole, part = own.ops[op.operands[0]].shape.dims, (op if op.code == "dynamic-slice" else own.ops[op.operands[1]]).shape.dims
                sliced |= {classes.find((own.name, op.operands[0], None, i)) for i in range(len(whole)) if part[i] != whole[i]}
    nodes = [(op, node) for op in module.entry.parameters() for node in classes.nodes(module.entry, op.name)]
    return {(int(op.literal), node[3]) for op, node in nodes if classes.find(node) in sliced}


def sharded(text, parts):
    """The text with arguments cut into so many parts along their first dimension that can be, and which these are."""
    looped = gone_through(Module(text))
    head, rest = text.split("\n", 1)
    if "num_partitions=" not in head:
        head = head.replace(", entry_computation_layout=", ", num_partitions=%d, entry_computation_layout=" % parts, 1)
    start = rest.rindex("ENTRY ")
    given = []

    def cut(line):
        found = re.match(r"\s*(?:ROOT )?%\S+ = \w+\[([\d,]*)\]\S* parameter\((\d+)\)", line)
        if not found or ("sharding={" in line and "sharding={replicated}" not in line):
            return line
        extents, number = [int(extent) for extent in found[1].split(",") if extent], int(found[2])
        order = sorted(range(len(extents)), key=lambda i: (number, i) in looped)
        at = next((i for i in order if extents[i] % parts == 0), None)
        if at is None:
            return line
        tiles = ",".join(str(parts if i == at else 1) for i in range(len(extents)))
        given.append(number)
        line = re.sub(r', frontend_attributes=\{xla\.sdy\.sharding="(?:[^"\\]|\\.)*"\}', "", line)
        line = line.replace(", sharding={replicated}", "")
        return re.sub(r"(parameter\(\d+\))", r"\1, sharding={devices=[%s]<=[%d]}" % (tiles, parts), line, count=1)

    entry = "\n".join(cut(line) for line in rest[start:].split("\n"))
    return head + "\n" + rest[:start] + entry, sorted(given)


def larger(topology, devices, wanted):
    """A topology of at least so many devices: extents are doubled, the smallest first, the last of equal ones."""
    name, extents = topology.split(":")
    extents = [int(extent) for extent in extents.split("x")]
    while devices < wanted:
        at = min(reversed(range(len(extents))), key=lambda i: extents[i])
        extents[at] *= 2
        devices *= 2
    return "%s:%s" % (name, "x".join(map(str, extents))), devices


def with_donors(ir, module, text):
    """Marks the arguments that are donated without a result of their own, which the conversion leaves out."""
    head = text.split("\n", 1)[0]
    at = head.find("buffer_donor=")
    if at < 0:
        return
    at = head.index("{", at)
    main = next(op for op in module.body.operations if ir.StringAttr(op.attributes["sym_name"]).value == "main")
    if "arg_attrs" not in main.attributes:
        return
    attributes = list(ir.ArrayAttr(main.attributes["arg_attrs"]))
    for number in re.findall(r"\((\d+), \{", head[at : closing(head, at)]):
        held = {one.name: one.attr for one in ir.DictAttr(attributes[int(number)])}
        attributes[int(number)] = ir.DictAttr.get({**held, "jax.buffer_donor": ir.BoolAttr.get(True)})
    main.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)


def with_limit_of_kernels(text, kib):
    """The text with what kernels themselves say of scoped VMEM raised to a limit in KiB."""
    size = lambda found: found[1] + str(max(int(found[2]), kib * 1024))
    return re.sub(r'("scoped_memory_configs":\[\{"memory_space":1,"offset":0,"size":)(\d+)', size, text)


# Cures that change the program, by the names of the report: what makes the change, and whether halves of it can be had.
CHANGES = {
    "checkpoint": (lambda module, times: checkpoint(module, 1), False),
    "checkpoint in groups": (checkpoint, False),
    "blockwise": (blockwise, True),
    "chunked loss": (chunked_loss, True),
    "smaller batch": (smaller_batch, True),
    "smaller blocks": (smaller_blocks, True),
    "narrower": (lambda module, times: narrower(module), False),
    "no f64": (lambda module, times: narrower(module), False),
    "keep sharded": (lambda module, times: keep_sharded(module), False),
    "fewer buffers": (lambda module, times: fewer_buffers(module), False),
}


def main():
    plan = json.loads(sys.argv[1])
    os.environ.update(TPU_SKIP_MDS_QUERY="1", ALLOW_MULTIPLE_LIBTPU_LOAD="1", JAX_PLATFORMS="cpu")
    os.environ.pop("XLA_FLAGS", None)
    try:
        from importlib.metadata import version

        import jax
        import numpy as np
        from jax._src import compiler
        from jax._src.interpreters import mlir
        from jax._src.lib import xla_client as xc
        from jax._src.lib.mlir import ir
        from jax.experimental import topologies

        devices = topologies.get_topology_desc(plan["topology"], "tpu").devices
        to_stablehlo = xc._xla.mlir.hlo_to_stablehlo
        from_text = xc.hlo.hlo_module_from_text
        libtpu = version("libtpu")
    except Exception as error:
        say(id="setup", verdict="failed", why="%s: %s" % (type(error).__name__, first_line(error)))
        return
    say(id="setup", verdict="ready", why="JAX %s, libtpu %s" % (jax.__version__, libtpu))
    with open(plan["path"], encoding="utf-8") as file:
        text = file.read()
    # The compiler prints what the parser of JAX reads under another name.
    text = re.sub(r"\border=TOTAL\b", "type=TOTALORDER", text)
    # That parser does not know the word for which of equal values topk keeps, which takes no memory.
    text = re.sub(r"(?m)^(.* topk\(.*), is_stable=(?:true|false)\b", r"\1", text)
    limit = lambda kib: {"xla_tpu_scoped_vmem_limit_kib": str(kib)}
    given_options = limit(plan["limit_kib"]) if plan.get("limit_kib") else {}
    head = text.split("\n", 1)[0]
    count = lambda name: int((re.search(name + r"=(\d+)", head) or [0, "1"])[1])
    partitions, replicas = count("num_partitions"), count("replica_count")
    if partitions > len(devices):
        try:
            name, _ = larger(plan["topology"], len(devices), partitions)
            devices = topologies.get_topology_desc(name, "tpu").devices
        except Exception as error:
            say(id="program", verdict="failed", why="it is for %d devices, and so many cannot be described: %s" % (partitions, first_line(error)))
            return
    if replicas > 1:
        say(id="program", verdict="failed", why="it is for %d replicas, and one is compiled" % replicas)
        return

    def compile(text, options, partitions, is_cut, devices):
        proto = from_text(text).as_serialized_hlo_module_proto()
        settings = compiler.get_compile_options(
            num_replicas=1,
            num_partitions=partitions,
            device_assignment=np.arange(partitions).reshape(1, partitions),
            env_options_overrides=options,
        )
        if is_cut:
            # The annotations are those of GSPMD.
            settings.executable_build_options.use_spmd_partitioning = True
            settings.executable_build_options.use_shardy_partitioner = False
        if is_cut or "allow_spmd_sharding_propagation_to_output={true" in text.split("\n", 1)[0]:
            # Results stay where they are computed, as jit leaves them without out_shardings: gathered they would not fit.
            settings.executable_build_options.allow_spmd_sharding_propagation_to_output = [True]
        with mlir.make_ir_context():
            module = ir.Module.parse(to_stablehlo(proto))
            with_donors(ir, module, text)
            done = devices[0].client.compile(module, xc.DeviceList(tuple(devices[:partitions])), settings)
        stats = done.get_compiled_memory_stats()
        return stats.argument_size_in_bytes + stats.output_size_in_bytes - stats.alias_size_in_bytes + stats.temp_size_in_bytes

    def attempt(id, what, text, options, partitions=partitions, is_cut=False, devices=devices):
        """Says whether it compiles; gives the error where it does not."""
        try:
            needed = compile(text, options, partitions, is_cut, devices)
        except jax.errors.JaxRuntimeError as error:
            is_memory = "RESOURCE_EXHAUSTED" in str(error) or "Ran out of memory" in str(error)
            return dict(id=id, what=what, verdict="does not fit" if is_memory else "failed", why=first_line(error)), error
        except Exception as error:
            return dict(id=id, what=what, verdict="failed", why="%s: %s" % (type(error).__name__, first_line(error))), None
        return dict(id=id, what=what, verdict="compiles", needed_bytes=needed, why=""), None

    def in_parts(times):
        """In how many parts arguments are cut, and the devices: as many as the program has; else as many as the cure names, then twice and four times as many; where it names more than a pod has, those at hand."""
        if partitions > 1:
            yield partitions, devices
            return
        parts = 1 << ((times or len(devices)) - 1).bit_length()
        if parts > MOST_DEVICES:
            yield len(devices), devices
            return
        for _ in range(HALVES):
            try:
                name, count = larger(plan["topology"], len(devices), parts)
                described = topologies.get_topology_desc(name, "tpu").devices if count > len(devices) else devices
            except Exception:
                name, described = plan["topology"], devices
            yield min(parts, len(described)), described
            if parts > len(described) or 2 * parts > MOST_DEVICES:
                return
            parts *= 2

    with_limit = " with xla_tpu_scoped_vmem_limit_kib=%s" % plan["limit_kib"] if given_options else ""
    said, _ = attempt("program", "as it was dumped" + with_limit, text, given_options)
    say(**said)
    if said["verdict"] != "does not fit":
        return
    for one in plan["tries"]:
        if one["id"] == "donate":
            try:
                changed = donated(text, xc.XlaComputation(from_text(text).as_serialized_hlo_module_proto()))
            except Exception as error:
                say(id="donate", verdict="failed", what="", why=first_line(error))
                continue
            if changed is None:
                say(id="donate", verdict="not tried", what="", why="no argument of a MiB or more has the type and shape of a free result of the program")
                continue
            said, _ = attempt("donate", changed[1] + " is donated", changed[0], given_options)
        elif one["id"] == "shard":
            said = None
            for parts, described in in_parts(one.get("times")):
                try:
                    changed, given = sharded(text, parts)
                except Exception as error:
                    said = said or dict(id="shard", verdict="failed", what="", why="%s: %s" % (type(error).__name__, first_line(error)))
                    break
                if not given:
                    said = said or dict(id="shard", verdict="not tried", what="", why="no argument that is whole on each device can be cut into %d" % parts)
                    break
                what = "arguments %s in %d parts, on as many devices" % (listed(given), parts)
                said, _ = attempt("shard", what, changed, given_options, parts, True, described)
                if said["verdict"] != "does not fit":
                    break
        elif one["id"] in CHANGES:
            change, is_in_halves = CHANGES[one["id"]]
            times, said = one.get("times") or 2, None
            for _ in range(HALVES if is_in_halves else 1):
                try:
                    module = Module(text)
                    what = change(module, times)
                    changed = module.text()
                except Cannot as error:
                    said = said or dict(id=one["id"], verdict="not tried", what="", why="it can't be made in the program of the dump, but in its source: " + str(error))
                    break
                except Exception as error:
                    said = said or dict(id=one["id"], verdict="not tried", what="", why="the program of the dump could not be changed: %s: %s" % (type(error).__name__, first_line(error)))
                    break
                said, _ = attempt(one["id"], what, changed, given_options, is_cut=one["id"] == "keep sharded")
                if said["verdict"] != "does not fit":
                    break
                times *= 2
        else:
            kib = one["kib"]
            for _ in range(RAISES):
                said, error = attempt(one["id"], "xla_tpu_scoped_vmem_limit_kib=%d" % kib, with_limit_of_kernels(text, kib), limit(kib))
                more = raised(error, kib) if said["verdict"] == "does not fit" else None
                if more is None:
                    break
                kib = more
        say(**said)


main()
