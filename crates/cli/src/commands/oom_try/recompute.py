# ---- values of the forward pass that are computed again

FORWARD, BACKWARD = "jvp(", "transpose("


def is_forward(op):
    return FORWARD in op.path and BACKWARD not in op.path


def layer_of(op):
    for part in op.path.split("/")[:-1]:
        found = re.search(r"(?:^|\()([A-Za-z]+[A-Za-z_.]*_?\d+)\)*$", part)
        if found and not part.startswith("jit("):
            return found[1]
    return None


def segments(own, order, forward):
    """Which part of the forward pass an instruction is of: its layer's, by the names of ops, else one of eight, cut where the fewest bytes go across."""
    named = {name: layer_of(own.ops[name]) for name in forward}
    layers = list(dict.fromkeys(named[name] for name in order if name in forward and named[name]))
    if len(layers) >= 4:
        out, last = {}, -1
        for name in order:
            if name in forward:
                last = layers.index(named[name]) if named[name] else last
                out[name] = last
        return out, len(layers)
    line = [name for name in order if name in forward]
    place = {name: i for i, name in enumerate(line)}
    users = own.users()
    across = [0] * (len(line) + 1)
    for name in line:
        last = max([place[u] for u in users[name] if u in place], default=place[name])
        across[place[name]] += own.ops[name].shape.bytes()
        across[last] -= own.ops[name].shape.bytes()
    for i in range(1, len(across)):
        across[i] += across[i - 1]
    count = min(8, len(line) // 4)
    if count < 2:
        raise Cannot("the forward pass has too few instructions to be cut")
    step = len(line) / count
    cuts = []
    for k in range(1, count):
        window = range(int((k - 0.5) * step), int((k + 0.5) * step))
        cuts.append(min(window, key=lambda i: across[i]))
    return {name: sum(i > cut for cut in cuts) for name, i in place.items()}, count


def checkpoint_layers(module, own, group):
    """The values that `group` layers at a time make of a forward pass are computed again from what these begin with."""
    order = own.order()
    forward = {name for name in order if is_forward(own.ops[name]) and own.ops[name].code not in ("parameter", "constant")}
    line = {name: i for i, name in enumerate(order)}
    users = own.users()
    backward = reach(own, [name for name in order if BACKWARD in own.ops[name].path], lambda name: users[name])
    backward -= forward
    if not forward or not backward:
        raise Cannot("by the names of its ops the program has no forward and backward pass")
    part, count = segments(own, order, forward)
    part = {name: s // group for name, s in part.items()}
    rooted = reach(own, [name for name in order if own.ops[name].code == "parameter"], lambda name: users[name])
    made = 0
    for s in sorted(set(part.values())):
        inside = {name for name in forward if part[name] == s and name in rooted}
        kept = {name for name in inside if any(u in forward and part.get(u) != s for u in users[name])}
        uses = [(line[u], u, name) for name in inside - kept for u in users[name] if u in backward]
        cotangent = None
        for at, u, name in sorted(uses):
            found = [o for o in own.ops[u].operands if o in backward and isinstance(own.ops[o].shape, Array)]
            if found:
                cotangent, first = found[0], at
                break
        if cotangent is None:
            continue
        uses = [use for use in uses if use[0] >= first]
        need = reach(own, [name for _, _, name in uses], lambda name: [o for o in own.ops[name].operands if o in inside - kept])
        need = [name for name in order if name in need]
        inputs = list(dict.fromkeys(o for name in need for o in own.ops[name].operands if o not in need and o in rooted))
        inputs = [o for o in inputs if isinstance(own.ops[o].shape, Array)]
        group_ = inputs + [cotangent]
        shape = Tuple([own.ops[o].shape for o in group_])
        packed = own.add(Op(module.name("kept"), shape, "tuple", group_))
        barrier = own.add(Op(module.name("barrier"), shape, "opt-barrier", [packed]))
        new = {o: module.element(own, barrier, i) for i, o in enumerate(inputs)}
        for name in need:
            op = own.ops[name].copy()
            op.name = new[name] = module.name(name)
            op.operands = [new.get(o, o) for o in op.operands]
            own.add(op)
        for _, u, name in uses:
            own.ops[u].operands = [new[name] if o == name else o for o in own.ops[u].operands]
        made += len(need)
    if not made:
        raise Cannot("the backward pass takes nothing of the forward pass that could be computed again")
    return "%d instructions of the forward pass are computed again, %d layers or parts at a time" % (made, group)


class Loop:
    """A while loop: its state, what it begins with, and its body."""

    def __init__(self, module, own, op):
        self.module, self.own, self.op = module, own, op
        self.begin = own.ops[op.operands[0]]
        self.body = module.all[op.attrs["body"].lstrip("%")]
        self.test = module.all[op.attrs["condition"].lstrip("%")]
        self.state = self.body.parameters()[0]
        self.root = self.body.ops[self.body.root]
        if self.begin.code != "tuple" or self.root.code != "tuple":
            raise Cannot("a loop's state is not made of parts")

    def parts(self, own, of):
        """The names of the elements of a value by their index."""
        out = {}
        for op in own.ops.values():
            if op.code == "get-tuple-element" and op.operands[0] == of:
                out.setdefault(int(op.attrs["index"]), []).append(op.name)
        return out

    def shapes(self, change):
        shape = Tuple(change(list(self.op.shape.parts)))
        for op in (self.op, self.begin, self.state, self.root, self.test.parameters()[0]):
            op.shape = shape

    def grow(self, begin, shape):
        """Another element, which the body gives on as it is; its index, and its name in the body."""
        self.begin.operands.append(begin)
        self.shapes(lambda parts: parts + [shape])
        index = len(self.op.shape.parts) - 1
        inside = self.module.element(self.body, self.state.name, index)
        self.root.operands.append(inside)
        return index, inside

    def blank(self, index):
        """An element that nothing uses becomes a number."""
        scalar = Array("s32", ())
        self.begin.operands[index] = self.module.constant(self.own, 0)
        self.shapes(lambda parts: [scalar if i == index else part for i, part in enumerate(parts)])
        self.root.operands[index] = self.module.element(self.body, self.state.name, index)
        for own, of in ((self.body, self.state.name), (self.own, self.op.name), (self.test, self.test.parameters()[0].name)):
            for name in self.parts(own, of).get(index, []):
                own.ops[name].shape = scalar


def cone(own, ends, stop):
    """What values are made of, in order, without what they are made from."""
    need = reach(own, ends, lambda name: [] if stop(name) else own.ops[name].operands)
    return [name for name in own.order() if name in need and not stop(name)]


def checkpoint_loop(module, own, group):
    """What a loop keeps of each trip for a loop that goes through them again is computed again there, from what each trip (or the first of each `group` trips) begins with."""
    loops = [op for op in own.ops.values() if op.code == "while"]
    said = []
    for first in loops:
        for second in loops:
            if first is not second:
                try:
                    said.append(recompute(module, Loop(module, own, first), Loop(module, own, second), group))
                except Cannot as error:
                    why = str(error)
    if said:
        return "; ".join(said)
    raise Cannot(why if len(loops) > 1 else "no loop keeps values for another one")


def recompute(module, one, two, group):
    own, fw, bw = one.own, one.body, two.body
    results = one.parts(own, one.op.name)
    inside, again = one.parts(fw, one.state.name), two.parts(bw, two.state.name)
    users_own, users_bw = own.users(), bw.users()
    where = {name: k for k, names in inside.items() for name in names}
    is_part = lambda name: name in where
    constant = lambda o: o if fw.ops[o].code == "constant" else None
    stacks, changing, same = {}, [], []
    for k, name in enumerate(one.root.operands):
        op = fw.ops[name]
        if where.get(name) == k:
            same.append(k)
        elif op.code == "dynamic-update-slice" and where.get(op.operands[0]) == k and fw.ops[op.operands[1]].shape.dims[:1] == (1,) and op.shape.dims[0] > 1:
            stacks[k] = op
        else:
            changing.append(k)
    counters = [k for k in changing if fw.ops[one.root.operands[k]].code == "add" and not fw.ops[one.root.operands[k]].shape.dims and fw.ops[one.root.operands[k]].shape.kind == "s32"
                and any(where.get(o) == k for o in fw.ops[one.root.operands[k]].operands)]
    if not counters:
        raise Cannot("a loop counts no trips")
    dropped = {}
    for k, op in stacks.items():
        names = results.get(k, [])
        places = [m for m, o in enumerate(two.begin.operands) if o in names]
        only = all(set(users_own[name]) <= {two.begin.name} for name in names)
        if not names or not only or len(places) != 1:
            continue
        slices = [u for name in again.get(places[0], []) for u in users_bw[name] if u != bw.root]
        is_read = all(bw.ops[u].code == "dynamic-slice" and bw.ops[u].shape.dims[0] == 1 and bw.ops[u].shape.dims[1:] == op.shape.dims[1:] for u in slices)
        if slices and is_read and any(two.root.operands[places[0]] == name for name in again[places[0]]):
            dropped[k] = (places[0], slices)
    if not dropped:
        raise Cannot("no loop keeps values for another one")
    trips = {stacks[k].shape.dims[0] for k in dropped}
    if len(trips) > 1:
        raise Cannot("a loop keeps values of different numbers of trips")
    n = trips.pop()
    if group > 1:
        group = min((d for d in range(2, n) if n % d == 0), key=lambda d: abs(d - group), default=1)
    values = [stacks[k].operands[1] for k in dropped]
    begins = cone(fw, values, is_part)
    needed = {where[o] for name in begins for o in fw.ops[name].operands if is_part(o)} | {where[v] for v in values if is_part(v)}
    if group > 1:
        # What a trip hands on is computed again too.
        while True:
            carried = [k for k in changing if k in needed and k not in counters]
            more = cone(fw, [one.root.operands[k] for k in carried], is_part)
            grown = needed | {where[o] for name in more for o in fw.ops[name].operands if is_part(o)} | {where[one.root.operands[k]] for k in carried if is_part(one.root.operands[k])}
            if grown == needed:
                break
            needed = grown
    if needed & set(stacks):
        raise Cannot("a trip of a loop reads what trips before it have kept")
    carried = [k for k in changing if k in needed and k not in counters]
    index = next(iter(stacks[k].operands[2] for k in dropped))
    entries = n // group

    def at(own_, of, start):
        """An entry of a stack, without its leading dimension."""
        one_ = module.sliced(own_, of, 0, start, 1)
        shape = own_.ops[one_].shape
        return own_.add(Op(module.name("entry"), shape.of(shape.dims[1:]), "reshape", [one_]))

    def put(own_, of, value, start):
        shape = own_.ops[value].shape
        row = own_.add(Op(module.name("row"), Array(shape.kind, (1,) + shape.dims), "reshape", [value]))
        return module.updated(own_, of, row, 0, start)

    held = {}
    for k in carried:
        shape = one.op.shape.parts[k]
        stack = Array(shape.kind, (entries,) + shape.dims)
        i, name = one.grow(module.filled(own, stack), stack)
        now = inside[k][0] if k in inside else module.element(fw, one.state.name, k)
        if group > 1:
            size = module.constant(fw, group)
            place = module.binary(fw, "divide", index, size)
            is_first = module.binary(fw, "compare", module.binary(fw, "remainder", index, size), module.constant(fw, 0), Array("pred", ()), direction="EQ")
            before = at(fw, name, place)
            flags = is_first
            if shape.dims:
                flags = fw.add(Op(module.name("first"), Array("pred", shape.dims), "broadcast", [is_first], attrs={"dimensions": "{}"}))
            row = fw.add(Op(module.name("select"), shape, "select", [flags, now, before]))
            one.root.operands[i] = put(fw, name, row, place)
        else:
            one.root.operands[i] = put(fw, name, now, index)
        held[k] = module.element(own, one.op.name, i)
    old = {name: op.copy() for name, op in fw.ops.items()}
    given = {k: two.grow(one.begin.operands[k], one.op.shape.parts[k])[1] for k in sorted(needed & set(same))}
    kept = {k: two.grow(held[k], own.ops[held[k]].shape)[1] for k in carried}
    trip = bw.ops[next(iter(dropped.values()))[1][0]].operands[1]

    def clone(own_, names, parts, ends):
        new = {name: parts[k] for name, k in where.items() if k in parts}
        for name in names:
            op = old[name].copy()
            op.name = new[name] = module.name(name)
            op.operands = [new[o] for o in op.operands]
            own_.add(op)
        return [new[end] for end in ends]

    def of_trip(parts, trip_):
        return {**parts, **{k: trip_ for k in counters}}

    if group > 1:
        size = module.constant(bw, group)
        place = module.binary(bw, "divide", trip, size)
        base = module.binary(bw, "multiply", place, size)
        last, known = two.grow(module.constant(own, -1), Array("s32", ()))
        is_new = module.binary(bw, "compare", place, known, Array("pred", ()), direction="NE")
        two.root.operands[last] = place
        count = bw.add(Op(module.name("count"), Array("s32", ()), "select", [is_new, size, module.constant(bw, 0)]))
        rows = {}
        for k in carried:
            shape = one.op.shape.parts[k]
            wide = Array(shape.kind, (group,) + shape.dims)
            rows[k] = two.grow(module.filled(own, wide), wide)
        begin = [at(bw, kept[k], place) for k in carried] + [rows[k][1] for k in carried] + list(given.values()) + [base, count]
        c = len(carried)

        def body(inner, r, names):
            now, wide, rest, base_ = names[:c], names[c : 2 * c], names[2 * c : -2], names[-2]
            parts = of_trip({**dict(zip(carried, now)), **dict(zip(given, rest))}, module.binary(inner, "add", base_, r))
            ends = [one.root.operands[k] for k in carried]
            after = clone(inner, cone(fw, ends, is_part), parts, ends)
            return after + [put(inner, w, v, r) for w, v in zip(wide, now)] + rest + names[-2:]

        done = module.loop(bw, count, begin, body)
        for k, end in zip(carried, done[c : 2 * c]):
            two.root.operands[rows[k][0]] = end
        own_trip = module.binary(bw, "subtract", trip, base)
        parts = {k: at(bw, end, own_trip) for k, end in zip(carried, done[c : 2 * c])}
    else:
        parts = {k: at(bw, kept[k], trip) for k in carried}
    new = clone(bw, begins, of_trip({**parts, **given}, trip), values)
    for (k, (m, slices)), value in zip(dropped.items(), new):
        for name in slices:
            bw.replace(name, value)
            del bw.ops[name]
    for k, (m, _) in dropped.items():
        one.blank(k)
        two.blank(m)
    size = ", from what each of %d trips begins with" % n if group == 1 else ", %d trips at a time, from what the first of them begins with" % group
    return "%d values that a loop keeps for each trip are computed again%s" % (len(dropped), size)


def checkpoint(module, group):
    why = None
    for own in module.reached():
        for change in (checkpoint_loop, checkpoint_layers):
            try:
                return change(module, own, group)
            except Cannot as error:
                if why is None or "no loop keeps" in why:
                    why = str(error)
    raise Cannot(why)
