# ---- a loop over blocks of a large value


def reach(own, starts, next_of):
    seen, stack = set(starts), list(starts)
    while stack:
        for o in next_of(stack.pop()):
            if o not in seen:
                seen.add(o)
                stack.append(o)
    return seen


# What a group of large values doesn't go through: products, and what takes or gives several values.
BOUNDS = ("dot", "convolution", "parameter", "constant", "while", "conditional", "tuple", "opt-barrier")


def rooted_in(own):
    """The values that arguments or other sources go into; what needs none is made in each block anew."""
    users = own.users()
    sources = ("parameter", "while", "conditional", "rng", "rng-bit-generator", "infeed")
    return reach(own, [op.name for op in own.ops.values() if op.code in sources], lambda name: users[name])


def meant(own, is_meant):
    """The values of a computation that are to be made in blocks."""
    rooted = rooted_in(own)
    is_value = lambda op: op.code not in ("parameter", "constant", "get-tuple-element") and isinstance(op.shape, Array)
    return [op for op in own.ops.values() if op.name in rooted and is_value(op) and is_meant(op)]


def in_blocks(module, own, is_meant, choose, n, least):
    """Makes the values of a computation that are meant and have at least so many elements by n blocks of one of their dimensions, in loops: one for all that hang together. `choose` gives the dimensions to try of a value's extents. Gives what was made, and why others were not."""
    said, why, refused = [], None, set()
    while True:
        left = [op for op in meant(own, is_meant) if op.name not in refused and op.shape.count() >= least]
        if not left:
            return said, why
        target = max(left, key=lambda op: op.shape.count())
        large = together(own, target)
        if not is_made_of_less(own, large):
            refused |= large
            continue
        try:
            said.append(group_in_blocks(module, own, target, large, choose, n))
        except Cannot as error:
            why = why or str(error)
            refused |= large


def together(own, target):
    """The values at least as large as a value that hang together with it without a product between."""
    users, rooted, size = own.users(), rooted_in(own), target.shape.count()

    def is_large(name):
        op = own.ops[name]
        held = op.code not in ("parameter", "constant", "get-tuple-element") and isinstance(op.shape, Array) and op.shape.count() >= size
        return held and name in rooted

    def beside(name):
        from_ = [] if own.ops[name].code in BOUNDS else own.ops[name].operands
        return [o for o in from_ if is_large(o)] + [u for u in users[name] if is_large(u) and own.ops[u].code not in BOUNDS]

    return reach(own, [target.name], beside)


def is_made_of_less(own, large):
    """Whether large values are made of smaller ones, as those of pairs are, and weights and their gradients are not."""
    rooted, count = rooted_in(own), lambda name: own.ops[name].shape.count()

    def is_wider(op):
        from_ = [o for o in op.operands if o in rooted]
        return op.code in ("dot", "broadcast") and from_ and all(count(o) < count(op.name) for o in from_)

    return any(is_wider(own.ops[name]) for name in large)


def group_in_blocks(module, own, target, large, choose, n):
    """One loop, or several behind one another, for large values that hang together, and what only they need."""
    users, rooted = own.users(), rooted_in(own)
    above = lambda name: own.ops[name].operands
    below = lambda name: users[name]
    held = large | {u for name in large for u in users[name]}
    # Other large values between them, as those of other layers, stay as they are.
    is_large = lambda name: isinstance(own.ops[name].shape, Array) and own.ops[name].shape.count() >= target.shape.count()
    region = held | {name for name in reach(own, held, below) & reach(own, held, above) if not is_large(name)}
    sourceless = lambda name: name not in rooted and isinstance(own.ops[name].shape, Array) and own.ops[name].code != "constant"
    for name in list(region):
        region |= {a for a in reach(own, [o for o in own.ops[name].operands if sourceless(o)], above) if sourceless(a)}
    # What is small is cut with the rest, or is put together block by block and used whole: first entries that are picked, then all
    # that is not made of large values.
    picks = {name for name in region if own.ops[name].code == "gather" and own.ops[name].operands[0] in large}
    small = {name for name in region if isinstance(own.ops[name].shape, Array) and not any(is_large(o) for o in [name] + above(name))}
    why = None
    for dim in choose(target.shape.dims):
        if target.shape.dims[dim] % n or target.shape.dims[dim] < n:
            continue
        for whole in (set(), picks, small, picks | small):
            if whole or why is None:
                try:
                    return blocks_of(module, own, region, target, dim, n, large, users, whole, picks)
                except Cannot as error:
                    why = why or str(error)
    raise Cannot(why or "no dimension of %s can be cut into %d" % (target.shape, n))


# Times that what is cut is made: once for each sum that a later one needs.
PASSES = 4


def is_pick(op, d):
    """Whether a gather or scatter takes single entries of a dimension by their indices."""
    if op.code == "gather":
        return d in op.ints("start_index_map") and d in op.ints("collapsed_slice_dims") and op.ints("slice_sizes")[d] == 1
    return op.code == "scatter" and len(op.operands) == 3 and d in op.ints("scatter_dims_to_operand_dims") and d in op.ints("inserted_window_dims")


def shifted(module, inner, op, indices, d, extent, start, part):
    """The indices of a gather or scatter as they are in a part of the dimension; of a gather also which of them lie in that part."""
    shape = inner.ops[indices].shape
    key = "start_index_map" if op.code == "gather" else "scatter_dims_to_operand_dims"
    at, vector = op.ints(key).index(d), int(op.attrs["index_vector_dim"])
    if shape.kind != "s32":
        indices = inner.add(Op(module.name("convert"), shape.of(shape.dims, "s32"), "convert", [indices]))
    shape = inner.ops[indices].shape
    all_ = lambda value: inner.add(Op(module.name("broadcast"), shape, "broadcast", [value], attrs={"dimensions": "{}"})) if shape.dims else value
    number = lambda value: all_(module.constant(inner, value))
    choose = lambda flags, a, b: inner.add(Op(module.name("select"), shape, "select", [flags, a, b]))
    flags = Array("pred", shape.dims)
    if op.code == "gather":
        # An index beyond the end takes the last entry.
        held = inner.add(Op(module.name("clamp"), shape, "clamp", [number(0), indices, number(extent - 1)]))
    else:
        held = indices
    moved = module.binary(inner, "subtract", held, all_(start))
    mask = None
    if op.code == "gather":
        low = module.binary(inner, "compare", moved, number(0), flags, direction="GE")
        high = module.binary(inner, "compare", moved, number(part), flags, direction="LT")
        mask = module.binary(inner, "and", low, high)
    if vector < len(shape.dims):
        place = inner.add(Op(module.name("iota"), shape, "iota", literal="", attrs={"iota_dimension": vector}))
        is_it = module.binary(inner, "compare", place, number(at), flags, direction="EQ")
        moved = choose(is_it, moved, indices)
        if mask is not None:
            limits = ", ".join("[%d:%d]" % ((at, at + 1) if i == vector else (0, x)) for i, x in enumerate(shape.dims))
            own_ = [1 if i == vector else x for i, x in enumerate(shape.dims)]
            mask = inner.add(Op(module.name("slice"), Array("pred", own_), "slice", [mask], attrs={"slice": "{%s}" % limits}))
            mask = inner.add(Op(module.name("reshape"), Array("pred", [x for i, x in enumerate(shape.dims) if i != vector]), "reshape", [mask]))
    return moved, mask


def blocks_of(module, own, region, target, dim, n, large, users, whole, picks):
    order = [name for name in own.order() if name in region]
    place = {name: t for name, t in ((name, ties(module, own, own.ops[name])) for name in order)}
    marks, outer, stack = {target.name: {dim}}, {}, [(target.name, dim)]

    def mark(name, d):
        held = marks if name in region and name not in whole else outer
        if d not in held.setdefault(name, set()):
            held[name].add(d)
            if name in region and name not in whole:
                stack.append((name, d))

    while stack:
        name, d = stack.pop()
        t, op = place[name], own.ops[name]
        for k, i, e, j in t.same:
            if e is None and j == d:
                mark(op.operands[k], i)
        if op.code == "scatter" and is_pick(op, d):
            mark(op.operands[0], d)
        for u in users[name]:
            if u not in region or u in whole:
                continue
            op = own.ops[u]
            if op.code == "scatter" and op.operands[0] == name and is_pick(op, d):
                mark(u, d)
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
    # `parts` says which operands of an instruction are cut; others are taken whole.
    summing, body, parts = {}, [], {}
    for name in order:
        op, t = own.ops[name], place[name]
        cut = [(k, at[o]) for k, o in enumerate(op.operands) if o in at]
        must = {c for c in cut if op.operands[c[0]] in marks}
        refuse = lambda: Cannot("%s needs all of it at once" % (op.path or name))
        if name in marks:
            tied = {(k, i) for k, i, e, j in t.same if e is None and j == at[name]}
            if op.code == "scatter" and is_pick(op, at[name]):
                tied.add((0, at[name]))
            if not must <= tied or not ((None, at[name]) in t.free or tied & set(cut)):
                raise refuse()
            parts[name] = {k for k, i in cut if (k, i) in tied}
            body.append(name)
        elif name in whole and name not in picks:
            continue
        elif must:
            picked = op.code == "gather" and len(must) == 1 and next(iter(must))[0] == 0 and is_pick(op, next(iter(must))[1]) and op.shape.kind != "pred"
            group = must if picked else next((set(group) for group in t.summed if must <= set(group)), None)
            if group is None:
                raise refuse()
            code = root_code(module, op) if op.code in ("reduce", "scatter") else "add"
            if code not in ORDER or isinstance(op.shape, Tuple) or (op.code == "scatter" and 0 in [k for k, _ in must]):
                raise refuse()
            summing[name], parts[name] = code, {k for k, i in cut if (k, i) in group}
            body.append(name)
    inside = set(body)
    # What needs a sum over all blocks is made in another pass over them, behind it.
    turn = {}
    for name in own.order():
        waits = lambda o: o in summing or (o in marks and name not in inside)
        turn[name] = max([turn[o] + waits(o) for o in own.ops[name].operands], default=0)
    results = [name for name in body if name in summing or name == own.root or any(u not in inside for u in users[name])]
    for name in results:
        if name not in summing and name in large:
            raise Cannot("%s is needed whole: it is a result, or another loop takes it" % (own.ops[name].path or name))
    passes = sorted({turn[name] for name in results})
    if len(passes) > PASSES:
        raise Cannot("%s would have to be made %d times" % (own.ops[target.name].path or target.name, len(passes)))
    for name in inside & set(marks):
        if own.ops[name].shape.dims[at[name]] % n:
            raise Cannot("an extent of %s can't be divided by %d" % (own.ops[name].path or name, n))
    plans, ended, old = [], {}, {name: own.ops[name] for name in body}
    for one in passes:
        ends = [name for name in results if turn[name] == one]
        need = reach(own, ends, lambda name: [o for o in own.ops[name].operands if o in inside and o in marks])
        plans.append((ends, [name for name in body if name in need]))
    for ends, part in plans:
        in_pass(module, own, ends, part, inside, old, marks, at, summing, parts, n, ended)
    for name in body:
        if name in own.ops:
            own.ops.pop(name)
    again = "" if len(passes) < 2 else ", %d times over" % len(passes)
    return "%s in %d blocks of its dimension %d%s" % (target.shape, n, dim, again)


def in_pass(module, own, results, body, region, old, marks, at, summing, parts, n, ended):
    """One loop over all blocks; `ended` has what those before it gave."""
    inside = set(body)
    inputs = []
    for name in body:
        for o in old[name].operands:
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
    constants = {o for name in body for o in old[name].operands if o not in inside and own.ops[o].code == "constant"}
    extents = {name: (own.ops[name].shape.dims[at[name]], at[name]) for name in list(inside & set(marks)) + [i for i in inputs if i in at]}
    for name, (extent, _) in extents.items():
        if extent % n:
            raise Cannot("an extent of %s can't be divided by %d" % (own.ops[name].path or name, n))
    if any(old[name].operands[k] in constants for name in body for k in parts[name]):
        raise Cannot("a constant would have to be cut")
    fixed = {name: own.ops[name] for name in constants}

    def make(inner, index, names):
        given = dict(zip(inputs, names[: len(inputs)]))
        held = dict(zip(results, names[len(inputs) :]))
        new, starts = {}, {}

        def start(extent):
            if extent not in starts:
                starts[extent] = module.binary(inner, "multiply", index, module.constant(inner, extent // n))
            return starts[extent]

        def value(name, k):
            o = old[name].operands[k]
            key = (o, o in at and k in parts[name])
            if o in new:
                return new[o]
            if o in fixed:
                copy = fixed[o].copy()
                copy.name = module.name(o)
                new[o] = inner.add(copy)
                return new[o]
            if key not in new:
                new[key] = given[o]
                if key[1]:
                    extent, d = extents[o]
                    new[key] = module.sliced(inner, given[o], d, start(extent), extent // n)
            return new[key]

        for name in body:
            op = old[name].copy()
            op.name = module.name(name)
            if name in summing and op.code == "scatter":
                op.operands = [held[name]] + [value(name, k) for k in range(1, len(op.operands))]
                new[name] = inner.add(op)
                continue
            op.operands = [value(name, k) for k in range(len(op.operands))]
            if name in summing and op.code == "gather":
                d = at[old[name].operands[0]]
                extent = old_extent(own, old, old[name].operands[0], d)
                op.operands[1], mask = shifted(module, inner, op, op.operands[1], d, extent, start(extent), extent // n)
                batch = [j for j in range(len(op.shape.dims)) if j not in op.ints("offset_dims")]
                sizes = op.ints("slice_sizes")
                inner.add(op)
                flags = inner.add(Op(module.name("broadcast"), Array("pred", op.shape.dims), "broadcast", [mask], attrs={"dimensions": braces(batch)}))
                picked = inner.add(Op(module.name("select"), op.shape, "select", [flags, op.name, module.filled(inner, op.shape)]))
                new[name] = module.binary(inner, "add", held[name], picked)
                continue
            if name in marks:
                extent, d = extents[name]
                if op.code == "scatter" and is_pick(op, d):
                    op.operands[1], _ = shifted(module, inner, op, op.operands[1], d, extent, start(extent), extent // n)
                    # The order of indices is the same, and those of other blocks lie outside.
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

    done = module.loop(own, n, [ended.get(i, i) for i in inputs] + begin, make)
    for name, end in zip(results, done[len(inputs) :]):
        ended[name] = end
        own.replace(name, end, but=region)


def old_extent(own, old, name, d):
    return (old[name] if name in old else own.ops[name]).shape.dims[d]


PAIRS = 1024
WORDS = 4096
OF_LOSS = ("log_softmax", "logsumexp", "cross_entropy", "nll_loss", "logits", "lm_head", "unembed")


# Values so many times smaller than the largest product that is meant stay.
LESS = 16


def each_computation(module, is_meant, choose, n):
    """Makes what is meant in blocks in all computations, first in that with the largest product that is meant: other values may be weights."""
    found = {own.name: meant(own, is_meant) for own in module.all.values()}
    most = lambda ops: max((op.shape.count() for op in ops), default=0)
    product = lambda own: most(op for op in found[own.name] if op.code == "dot")
    least = (max(product(own) for own in module.all.values()) or max(most(ops) for ops in found.values())) // LESS
    said, why = [], None
    for own in sorted(module.all.values(), key=product, reverse=True):
        made, other = in_blocks(module, own, is_meant, choose, n, least)
        said += made
        why = why or other
    if not said:
        raise Cannot(why or "no such value is in the program before it is optimised")
    return "; ".join(one if said.count(one) == 1 else "%s, at %d places" % (one, said.count(one)) for one in dict.fromkeys(said))


def blockwise(module, n):
    is_pairs = lambda op: len(op.shape.dims) > 1 and op.shape.dims[-1] == op.shape.dims[-2] >= PAIRS
    rows_first = lambda dims: [len(dims) - 2] + list(range(len(dims) - 2)) + [len(dims) - 1]
    return each_computation(module, is_pairs, rows_first, n)


def chunked_loss(module, n):
    wide = lambda op: len(op.shape.dims) > 1 and op.shape.dims[-1] >= WORDS
    said = {(op.shape.dims[-1], op.shape.count()) for own in module.all.values() for op in own.ops.values() if isinstance(op.shape, Array) and wide(op) and any(w in op.path for w in OF_LOSS)}
    is_logits = lambda op: wide(op) and (op.shape.dims[-1], op.shape.count()) in said
    tokens = lambda dims: sorted(range(len(dims) - 1), key=lambda d: -dims[d])
    return each_computation(module, is_logits, tokens, n)
