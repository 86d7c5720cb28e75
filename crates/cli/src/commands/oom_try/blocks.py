# ---- a loop over blocks of a large value


def reach(own, starts, next_of):
    seen, stack = set(starts), list(starts)
    while stack:
        for o in next_of(stack.pop()):
            if o not in seen:
                seen.add(o)
                stack.append(o)
    return seen


def in_blocks(module, own, is_meant, choose, n):
    """Makes the values of a computation that are meant, and what only they need, by n blocks of one of their dimensions, in a loop. `choose` gives the dimensions to try of a value's extents."""
    users = own.users()
    below = lambda name: users[name]
    above = lambda name: own.ops[name].operands
    count = lambda name: own.ops[name].shape.count() if isinstance(own.ops[name].shape, Array) else 0
    seeds = [op for op in own.ops.values() if op.code not in ("parameter", "constant") and isinstance(op.shape, Array) and is_meant(op)]
    if not seeds:
        raise Cannot("no such value is in the program before it is optimised")
    size = max(op.shape.count() for op in seeds)
    target = next(op for op in seeds if op.shape.count() == size)
    # What needs no argument is made in each block anew.
    rooted = reach(own, [op.name for op in own.ops.values() if op.code in ("parameter", "while", "rng", "rng-bit-generator", "infeed")], below)
    large = {name for name in own.ops if count(name) == size and own.ops[name].code not in ("parameter", "constant", "get-tuple-element") and name in rooted}
    region = set(large)
    while True:
        grown = region | {u for name in region if count(name) == size for u in users[name]}
        grown = reach(own, grown, below) & reach(own, grown, above) | grown
        if grown == region:
            break
        region = grown
    sourceless = lambda name: name not in rooted and isinstance(own.ops[name].shape, Array) and own.ops[name].code != "constant"
    for name in list(region):
        region |= {a for a in reach(own, [o for o in own.ops[name].operands if sourceless(o)], above) if sourceless(a)}
    why = None
    for dim in choose(target.shape.dims):
        if target.shape.dims[dim] % n or target.shape.dims[dim] < n:
            continue
        try:
            return blocks_of(module, own, region, target, dim, n, size, users)
        except Cannot as error:
            why = why or str(error)
    raise Cannot(why or "no dimension of %s can be cut into %d" % (target.shape, n))


def blocks_of(module, own, region, target, dim, n, size, users):
    order = [name for name in own.order() if name in region]
    place = {name: t for name, t in ((name, ties(module, own, own.ops[name])) for name in order)}
    marks, outer, stack = {target.name: {dim}}, {}, [(target.name, dim)]

    def mark(name, d):
        held = marks if name in region else outer
        if d not in held.setdefault(name, set()):
            held[name].add(d)
            if name in region:
                stack.append((name, d))

    while stack:
        name, d = stack.pop()
        t, op = place[name], own.ops[name]
        for k, i, e, j in t.same:
            if e is None and j == d:
                mark(op.operands[k], i)
        for u in users[name]:
            if u not in region:
                continue
            op = own.ops[u]
            for k, i, e, j in place[u].same:
                if e is None and op.operands[k] == name and i == d:
                    mark(u, j)
            for group in place[u].summed:
                if any(op.operands[k] == name and i == d for k, i in group):
                    for k, i in group:
                        mark(op.operands[k], i)
    for held in (marks, outer):
        for name, of in held.items():
            if len(of) > 1:
                raise Cannot("%s would be cut along two of its dimensions" % (own.ops[name].path or name))
    at = {name: next(iter(of)) for held in (marks, outer) for name, of in held.items()}
    summing, body = {}, []
    for name in order:
        op, t = own.ops[name], place[name]
        cut = [(k, at[o]) for k, o in enumerate(op.operands) if o in at]
        if name in marks:
            known = {(k, i) for k, i, e, j in t.same}
            inside = [c for c in cut if c not in known]
            free = (None, at[name]) in t.free
            if inside or not (free or any(e is None and j == at[name] and (k, i) in cut for k, i, e, j in t.same)):
                raise Cannot("%s needs all of it at once" % (op.path or name))
            body.append(name)
        elif cut:
            if not any(set(cut) <= set(group) for group in t.summed) and op.code != "scatter":
                raise Cannot("%s needs all of it at once" % (op.path or name))
            code = root_code(module, op) if op.code in ("reduce", "scatter") else "add"
            if code not in ORDER or isinstance(op.shape, Tuple) or (op.code == "scatter" and 0 in [k for k, _ in cut]):
                raise Cannot("%s needs all of it at once" % (op.path or name))
            summing[name] = code
            body.append(name)
    # What is not cut stands before the loop, or after it where it needs what the loop sums up.
    after = reach(own, summing, lambda name: users[name]) - set(summing)
    if any(name in after for name in body):
        raise Cannot("%s needs what is summed over all blocks" % (own.ops[next(name for name in body if name in after)].path or "an instruction"))
    inside = set(body)
    results = [name for name in body if name in summing or name == own.root or any(u not in inside for u in users[name])]
    for name in results:
        if name not in summing and own.ops[name].shape.count() >= size:
            raise Cannot("%s is needed whole: it is a result, or another loop takes it" % (own.ops[name].path or name))
    inputs = []
    for name in body:
        for o in own.ops[name].operands:
            if o not in inside and o not in inputs and own.ops[o].code != "constant":
                inputs.append(o)
    begin = []
    for name in results:
        op = own.ops[name]
        if op.code == "scatter" and name in summing:
            begin.append(op.operands[0])
        elif op.code == "reduce" and name in summing:
            first = own.ops[op.operands[1]]
            begin.append(own.add(Op(module.name("first"), op.shape, "broadcast", [first.name], attrs={"dimensions": "{}"})) if op.shape.dims else first.name)
        else:
            begin.append(module.filled(own, op.shape))
    constants = {o for name in body for o in own.ops[name].operands if o not in inside and own.ops[o].code == "constant"}
    extents = {name: (own.ops[name].shape.dims[at[name]], at[name]) for name in list(inside & set(marks)) + [i for i in inputs if i in at]}
    for name, (extent, _) in extents.items():
        if extent % n:
            raise Cannot("an extent of %s can't be divided by %d" % (own.ops[name].path or name, n))
    for name in constants & set(at):
        raise Cannot("a constant would have to be cut")
    old = {name: own.ops[name] for name in body}
    fixed = {name: own.ops[name] for name in constants}

    def make(inner, index, names):
        given = dict(zip(inputs, names[: len(inputs)]))
        held = dict(zip(results, names[len(inputs) :]))
        new, starts = {}, {}

        def start(extent):
            if extent not in starts:
                starts[extent] = module.binary(inner, "multiply", index, module.constant(inner, extent // n))
            return starts[extent]

        def value(o):
            if o in new:
                return new[o]
            if o in fixed:
                copy = fixed[o].copy()
                copy.name = module.name(o)
                new[o] = inner.add(copy)
            elif o in at:
                extent, d = extents[o]
                new[o] = module.sliced(inner, given[o], d, start(extent), extent // n)
            else:
                new[o] = given[o]
            return new[o]

        for name in body:
            op = old[name].copy()
            op.name = module.name(name)
            if name in summing and op.code == "scatter":
                op.operands = [held[name]] + [value(o) for o in op.operands[1:]]
                new[name] = inner.add(op)
                continue
            if name in summing and op.code == "reduce":
                op.operands = [value(op.operands[0]), value(op.operands[1])]
            else:
                op.operands = [value(o) for o in op.operands]
            if name in marks:
                extent, d = extents[name]
                op.shape = op.shape.of([extent // n if i == d else x for i, x in enumerate(op.shape.dims)])
                adapt(op, {d}, n)
                if op.code == "gather":
                    sizes, from_ = op.ints("slice_sizes"), old[name].operands[0]
                    if from_ in at:
                        op.attrs["slice_sizes"] = braces([s // n if i == at[from_] and s > 1 else s for i, s in enumerate(sizes)])
                inner.add(op)
                if op.code == "iota" and int(re.search(r"\d+", op.attrs["iota_dimension"])[0]) == d:
                    offset = start(extent)
                    if op.shape.kind != "s32":
                        offset = inner.add(Op(module.name("convert"), Array(op.shape.kind, ()), "convert", [offset]))
                    all_ = inner.add(Op(module.name("broadcast"), op.shape, "broadcast", [offset], attrs={"dimensions": "{}"}))
                    new[name] = module.binary(inner, "add", op.name, all_)
                else:
                    new[name] = op.name
            else:
                inner.add(op)
                new[name] = module.binary(inner, summing[name], held[name], op.name)
        ends = []
        for name in results:
            if name in summing:
                ends.append(new[name])
            else:
                extent, d = extents[name]
                ends.append(module.updated(inner, held[name], new[name], d, start(extent)))
        return [names[i] for i in range(len(inputs))] + ends

    done = module.loop(own, n, inputs + begin, make)
    for name, end in zip(results, done[len(inputs) :]):
        own.replace(name, end, but=inside)
    for name in body:
        if name in own.ops:
            own.ops.pop(name)
    return "%s in %d blocks of its dimension %d" % (target.shape, n, dim)


PAIRS = 1024
WORDS = 4096
OF_LOSS = ("log_softmax", "logsumexp", "cross_entropy", "nll_loss", "logits", "lm_head", "unembed")


def each_computation(module, change):
    """Makes a change in the first computation where it can be made."""
    why = None
    for own in list(module.all.values()):
        try:
            return change(own)
        except Cannot as error:
            why = str(error) if why is None or "no such value" in why else why
    raise Cannot(why)


def blockwise(module, n):
    is_pairs = lambda op: len(op.shape.dims) > 1 and op.shape.dims[-1] == op.shape.dims[-2] >= PAIRS
    rows_first = lambda dims: [len(dims) - 2] + list(range(len(dims) - 2)) + [len(dims) - 1]
    return each_computation(module, lambda own: in_blocks(module, own, is_pairs, rows_first, n))


def chunked_loss(module, n):
    wide = lambda op: len(op.shape.dims) > 1 and op.shape.dims[-1] >= WORDS
    said = {(op.shape.dims[-1], op.shape.count()) for own in module.all.values() for op in own.ops.values() if isinstance(op.shape, Array) and wide(op) and any(w in op.path for w in OF_LOSS)}
    is_logits = lambda op: wide(op) and (op.shape.dims[-1], op.shape.count()) in said
    tokens = lambda dims: sorted(range(len(dims) - 1), key=lambda d: -dims[d])
    return each_computation(module, lambda own: in_blocks(module, own, is_logits, tokens, n))
