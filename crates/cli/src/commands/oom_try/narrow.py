# ---- narrower numbers, weights that stay in parts, kernels

WIDE = {"bitcast-convert", "custom-call", "fft", "rng", "rng-bit-generator", "cholesky", "triangular-solve", "infeed", "outfeed"}
# Complex numbers are pairs of f32 or f64, and what goes into and out of them is too.
COMPLEX, OF_COMPLEX = {"c64", "c128"}, {"abs", "complex", "imag", "real"}
LARGEST_BF16 = 3.38e38


def narrower(module):
    """Every f32 of a program in bf16; where it has f64, that in f32."""
    everything = [(own, op) for own in module.reached() for op in list(own.ops.values())]
    kinds = lambda shape: {shape.kind} if isinstance(shape, Array) else set().union(*(kinds(p) for p in shape.parts)) if isinstance(shape, Tuple) else set()
    wide, narrow = ("f64", "f32") if any("f64" in kinds(op.shape) for _, op in everything) else ("f32", "bf16")

    def small(shape):
        if isinstance(shape, Tuple):
            return Tuple([small(p) for p in shape.parts])
        return shape.of(shape.dims, narrow) if isinstance(shape, Array) and shape.kind == wide else shape

    for own, op in everything:
        if op.name not in own.ops:
            continue
        values = [op.shape] + [own.ops[o].shape for o in op.operands]
        if op.code in WIDE or (op.code in OF_COMPLEX and any(kinds(shape) & COMPLEX for shape in values)):
            for k, o in enumerate(op.operands):
                held = own.ops[o].shape
                if isinstance(held, Array) and held.kind == narrow and o in own.ops and getattr(own.ops[o], "was_wide", False):
                    op.operands[k] = own.add(Op(module.name("wide"), held.of(held.dims, wide), "convert", [o]))
                elif isinstance(held, Array) and held.kind == wide:
                    # It becomes narrow later: a convert of what is wide already changes nothing.
                    op.operands[k] = own.add(Op(module.name("wide"), held.of(held.dims, wide), "convert", [o]))
            if isinstance(op.shape, Tuple):
                for part in [p for p in own.ops.values() if p.code == "get-tuple-element" and p.operands[0] == op.name]:
                    part.is_kept = True
            elif isinstance(op.shape, Array) and op.shape.kind == wide:
                new = own.add(Op(module.name("narrow"), small(op.shape), "convert", [op.name]))
                own.ops[new].was_wide = True
                own.replace(op.name, new, but=(new,))
            continue
        if getattr(op, "is_kept", False):
            if isinstance(op.shape, Array) and op.shape.kind == wide:
                new = own.add(Op(module.name("narrow"), small(op.shape), "convert", [op.name]))
                own.ops[new].was_wide = True
                own.replace(op.name, new, but=(new,))
            continue
        if op.code == "constant" and op.shape.kind == wide and narrow == "bf16":
            clip = lambda found: found[0] if abs(float(found[0])) < LARGEST_BF16 else ("-" if found[0][0] == "-" else "") + "3.38e+38"
            op.literal = re.sub(r"-?\d[\d.]*(?:[eE][-+]?\d+)?", clip, op.literal)
        op.was_wide = wide in kinds(op.shape)
        op.shape = small(op.shape)
    return "every %s of the program is %s" % (wide, narrow)


def keep_sharded(module):
    """What asks for all of a value on each device is left out."""
    made, names = 0, []
    for own in module.reached():
        users = own.users()
        for op in list(own.ops.values()):
            target = op.attrs.get("custom_call_target", "")
            if op.code != "custom-call" or "Sharding" not in target or op.attrs.get("sharding") != "{replicated}":
                continue
            source = own.ops[op.operands[0]]
            tiles = re.fullmatch(r"\{devices=\[([\d,]+)\]<=\[(\d+)\]\}", source.attrs.get("sharding", ""))
            for u in users[op.name]:
                user = own.ops[u]
                # Where a product sums over what is cut, its other operand is cut alike.
                if user.code != "dot" or not tiles or len(user.operands) != 2:
                    continue
                parts = [int(p) for p in tiles[1].split(",")]
                mine = user.operands.index(op.name)
                gone = [user.ints("lhs_contracting_dims"), user.ints("rhs_contracting_dims")]
                for a, b in zip(gone[mine], gone[1 - mine]):
                    if a < len(parts) and parts[a] > 1:
                        other = own.ops[user.operands[1 - mine]]
                        cut = ",".join(str(parts[a] if i == b else 1) for i in range(len(other.shape.dims)))
                        attrs = {"custom_call_target": '"Sharding"', "sharding": "{devices=[%s]<=[%s]}" % (cut, tiles[2])}
                        user.operands[1 - mine] = own.add(Op(module.name("cut"), other.shape, "custom-call", [other.name], attrs=attrs))
            own.replace(op.name, op.operands[0])
            del own.ops[op.name]
            made += 1
            names.append(source.path or source.name)
    if not made:
        raise Cannot("no constraint asks for all of a value: it is gathered by the partitioner, or by a collective of the source")
    return "the constraint that asks for all of %s on each device is left out" % words(names)


def each_kernel(module, change):
    """Makes a change in each Pallas kernel of a program, in the dialect in which JAX wrote it."""
    import base64
    import io

    from jax._src.interpreters import mlir
    from jax._src.lib import tpu
    from jaxlib.mlir import ir
    from jaxlib.mlir.passmanager import PassManager

    said = []
    for own in module.reached():
        for op in own.ops.values():
            config = op.attrs.get("backend_config", "")
            found = re.search(r'"body":"([^"]+)"', config)
            if "tpu_custom_call" not in op.attrs.get("custom_call_target", "") or not found:
                continue
            context = mlir.make_ir_context()
            tpu.register_dialect(context)
            with context, ir.Location.unknown():
                context.allow_unregistered_dialects = True
                kernel = ir.Module.parse(base64.b64decode(found[1]))
                PassManager.parse("builtin.module(mosaic-serde{serialize=false})").run(kernel.operation)
                new, what = change(ir, kernel)
                if what is None:
                    continue
                PassManager.parse("builtin.module(mosaic-serde{serialize=true})").run(new.operation)
                out = io.BytesIO()
                new.operation.write_bytecode(out, desired_version=0)
            op.attrs["backend_config"] = config.replace(found[1], base64.b64encode(out.getvalue()).decode(), 1)
            said.append(what)
    if not said:
        raise Cannot("no kernel of the program has such blocks")
    return "; ".join(dict.fromkeys(said))


def main_of(ir, kernel):
    return next((op for op in kernel.body.operations if "window_params" in op.attributes), None)


def fewer_buffers(module):
    def change(ir, kernel):
        main = main_of(ir, kernel)
        if main is None:
            return kernel, None
        one, made, windows = ir.Attribute.parse("#tpu.pipeline_mode<synchronous>"), 0, []
        for window in main.attributes["window_params"]:
            parts = {named.name: named.attr for named in window}
            if "window_bounds" in parts and str(parts.get("pipeline_mode")) != str(one):
                parts["pipeline_mode"] = one
                made += 1
            windows.append(ir.DictAttr.get(parts))
        main.attributes["window_params"] = ir.ArrayAttr.get(windows)
        return kernel, "one copy of %d blocks" % made if made else None

    return each_kernel(module, change)


def smaller_blocks(module, n):
    """Blocks n times smaller along one extent, and as many more steps of the grid."""

    def change(ir, kernel):
        main = main_of(ir, kernel)
        if main is None or "iteration_bounds" not in main.attributes:
            return kernel, None
        functions = {str(op.attributes["sym_name"]).strip('"'): op for op in kernel.body.operations}
        windows = []
        for window in main.attributes["window_params"]:
            parts = {named.name: named.attr for named in window}
            if "window_bounds" not in parts:
                continue
            index = functions[str(parts["transform_indices"]).lstrip("@")]
            block = index.regions[0].blocks[0]
            ends = list(block.operations)[-1].operands
            axes = [next((a.arg_number for a in block.arguments if a == end), None) for end in ends]
            windows.append((list(ir.DenseI64ArrayAttr(parts["window_bounds"])), axes))
        extents = sorted({d for bounds, _ in windows for d in bounds}, reverse=True)
        why = "no extent of a block is that of one or several dimensions of the grid alone"
        for extent in extents:
            axes = {axis for bounds, own in windows for d, axis in zip(bounds, own) if d == extent}
            if extent % n or None in axes or extent // n in (1, 2, 4) or (extent // n) % 8:
                continue
            bounds = list(ir.DenseI64ArrayAttr(main.attributes["iteration_bounds"]))
            more = [b * n if i in axes else b for i, b in enumerate(bounds)]
            text = kernel.operation.get_asm(print_generic_op_form=False)
            start = text.index("func.func @" + str(main.attributes["sym_name"]).strip('"'))
            later = [text.index("func.func @" + name) for name in functions if text.index("func.func @" + name) > start]
            end = min(later, default=len(text))
            body = text[start:end]
            small = lambda found: re.sub(r"(?<![\d])%d(?=x)" % extent, str(extent // n), found[0])
            body = re.sub(r"(?:memref|vector)<[^>]*", small, body)
            list_ = lambda found: found[1] + ", ".join(str(int(d) // n) if int(d) == extent else d for d in found[2].split(", ")) + ">"
            body = re.sub(r"(window_bounds = array<i64: )([\d, ]+)>", list_, body)
            body = re.sub(r"iteration_bounds = array<i64: [\d, ]+>", "iteration_bounds = array<i64: %s>" % ", ".join(map(str, more)), body)
            try:
                new = ir.Module.parse(text[:start] + body + text[end:])
            except Exception:
                why = "the kernel says more of its blocks than their extents"
                continue
            return new, "blocks and scratch of extent %d become %d, with %s steps of the grid" % (extent, extent // n, " x ".join(map(str, more)))
        raise Cannot(why)

    return each_kernel(module, change)
