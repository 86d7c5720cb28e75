# ---- which dimensions belong together

ELEMENTWISE = set(
    "abs add and atan2 cbrt ceil clamp compare complex convert copy cosine count-leading-zeros divide erf exponential exponential-minus-one floor imag is-finite log log-plus-one "
    "logistic maximum minimum multiply negate not or popcnt power real reduce-precision remainder round-nearest-afz round-nearest-even rsqrt select shift-left shift-right-arithmetic "
    "shift-right-logical sign sine sqrt stochastic-convert subtract tan tanh xor all-reduce optimization-barrier-element".split()
)
# Calls that change nothing of a value.
SAME = ('"Sharding"', '"SPMDFullToShardShape"', '"SPMDShardToFullShape"')
ORDER = ("add", "maximum", "minimum", "and", "or", "multiply")


def root_code(module, op):
    callee = module.called(op)
    own = callee[0] if callee else None
    return own.ops[own.root].code if own and own.root in own.ops else ""


def groups(a, b):
    """Dimensions of two shapes of as many elements that make the same product: pairs of lists."""
    out, i, j = [], 0, 0
    while i < len(a) or j < len(b):
        left, right, m, n = [], [], 1, 1
        while True:
            if m == n and left and right:
                break
            if (m <= n and i < len(a)) or j >= len(b):
                if i >= len(a):
                    break
                m *= a[i]
                left.append(i)
                i += 1
            else:
                n *= b[j]
                right.append(j)
                j += 1
        while i < len(a) and a[i] == 1 and i + 1 == len(a):
            left.append(i)
            i += 1
        out.append((left, right))
    return out


class Ties:
    """What an instruction makes of the dimensions of its operands: `same` has (operand, its dimension, the result's part or None, its dimension), `summed` lists of (operand, dimension)
    over which it sums, `free` dimensions of the result that it makes itself, `ordered`
    those, as in `same`, that may become smaller, but not be worked on in pieces. Whatever stands in none can't be cut."""

    def __init__(self):
        self.same, self.summed, self.free, self.ordered = [], [], [], []


def ties(module, own, op):
    t = Ties()
    shapes = [own.ops[o].shape for o in op.operands]
    out = op.shape
    dims = [s.dims if isinstance(s, Array) else () for s in shapes]
    code = op.code
    if code == "custom-call" and any(s in op.attrs.get("custom_call_target", "") for s in SAME):
        code = "copy"
    if code in ELEMENTWISE and isinstance(out, Array):
        for k, d in enumerate(dims):
            if d == out.dims:
                t.same += [(k, i, None, i) for i in range(len(d))]
    elif code == "broadcast":
        to = op.ints("dimensions")
        t.same += [(0, i, None, j) for i, j in enumerate(to) if dims[0][i] == out.dims[j]]
        t.free += [(None, j) for j in range(len(out.dims)) if j not in to]
    elif code == "iota":
        t.free += [(None, j) for j in range(len(out.dims))]
    elif code == "transpose":
        t.same += [(0, i, None, j) for j, i in enumerate(op.ints("dimensions"))]
    elif code in ("reshape", "bitcast"):
        if isinstance(out, Array):
            for left, right in groups(dims[0], out.dims):
                a = [i for i in left if dims[0][i] != 1]
                b = [j for j in right if out.dims[j] != 1]
                if a and b:
                    t.same.append((0, a[0], None, b[0]))
    elif code == "reverse":
        gone = op.ints("dimensions")
        t.same += [(0, i, None, i) for i in range(len(out.dims)) if i not in gone]
    elif code == "reduce":
        gone, n = op.ints("dimensions"), len(op.operands) // 2
        kept = [i for i in range(len(dims[0])) if i not in gone]
        many = isinstance(out, Tuple)
        for k in range(n):
            for e in range(n if many else 1):
                t.same += [(k, i, e if many else None, j) for j, i in enumerate(kept)]
        if not many:
            t.summed += [[(0, i)] for i in gone]
        else:
            t.summed += [[(k, i) for k in range(n)] for i in gone]
    elif code == "dot":
        lb, rb = op.ints("lhs_batch_dims"), op.ints("rhs_batch_dims")
        lc, rc = op.ints("lhs_contracting_dims"), op.ints("rhs_contracting_dims")
        for j, (a, b) in enumerate(zip(lb, rb)):
            t.same += [(0, a, None, j), (1, b, None, j)]
        j = len(lb)
        for k, gone in ((0, lb + lc), (1, rb + rc)):
            for i in range(len(dims[k])):
                if i not in gone:
                    t.same.append((k, i, None, j))
                    j += 1
        t.summed += [[(0, a), (1, b)] for a, b in zip(lc, rc)]
    elif code == "convolution":
        found = re.match(r"(\w+)_(\w+)->(\w+)", op.attrs["dim_labels"])
        if "feature_group_count" not in op.attrs and "batch_group_count" not in op.attrs:
            a, b, c = found[1], found[2], found[3]
            t.same += [(0, a.index("b"), None, c.index("b")), (1, b.index("o"), None, c.index("f"))]
            t.summed.append([(0, a.index("f")), (1, b.index("i"))])
    elif code == "concatenate":
        at = op.ints("dimensions")[0]
        for k in range(len(dims)):
            t.same += [(k, i, None, i) for i in range(len(out.dims)) if i != at]
    elif code == "slice":
        t.same += [(0, i, None, i) for i in range(len(out.dims)) if dims[0][i] == out.dims[i]]
    elif code == "pad":
        pads = op.attrs["padding"].split("x")
        t.same += [(0, i, None, i) for i in range(len(out.dims)) if re.fullmatch(r"0_0(_0)?", pads[i])]
    elif code == "dynamic-slice":
        t.same += [(0, i, None, i) for i in range(len(out.dims)) if dims[0][i] == out.dims[i]]
    elif code == "dynamic-update-slice":
        whole = [i for i in range(len(out.dims)) if dims[1][i] == out.dims[i]]
        t.same += [(0, i, None, i) for i in whole] + [(1, i, None, i) for i in whole]
    elif code == "gather":
        offset, gone = op.ints("offset_dims"), op.ints("collapsed_slice_dims") + op.ints("operand_batching_dims")
        sizes, vector = op.ints("slice_sizes"), int(op.attrs.get("index_vector_dim", len(dims[1])))
        batch = [j for j in range(len(out.dims)) if j not in offset]
        indices = [i for i in range(len(dims[1])) if i != vector]
        t.same += [(1, i, None, j) for i, j in zip(indices, batch)]
        window = [i for i in range(len(dims[0])) if i not in gone]
        t.same += [(0, i, None, j) for i, j in zip(window, offset) if sizes[i] == dims[0][i]]
        for a, b in zip(op.ints("operand_batching_dims"), op.ints("start_indices_batching_dims")):
            t.same.append((0, a, None, batch[indices.index(b)]))
    elif code == "scatter" and len(op.operands) == 3:
        window, gone = op.ints("update_window_dims"), op.ints("inserted_window_dims") + op.ints("input_batching_dims")
        vector = int(op.attrs.get("index_vector_dim", len(dims[1])))
        t.same += [(0, i, None, i) for i in range(len(out.dims)) if i not in gone and i not in op.ints("scatter_dims_to_operand_dims")]
        kept = [i for i in range(len(out.dims)) if i not in gone]
        t.same += [(2, j, None, i) for i, j in zip(kept, window) if dims[2][j] == out.dims[i]]
        batch = [j for j in range(len(dims[2])) if j not in window]
        indices = [i for i in range(len(dims[1])) if i != vector]
        held = dict(zip(op.ints("scatter_indices_batching_dims"), op.ints("input_batching_dims")))
        for i, j in zip(indices, batch):
            if i in held:
                t.same += [(0, held[i], None, held[i]), (1, i, None, held[i]), (2, j, None, held[i])]
            else:
                t.summed.append([(1, i), (2, j)])
    elif code == "sort":
        at, many = op.ints("dimensions")[0], isinstance(out, Tuple)
        for k in range(len(dims)):
            for e in range(len(dims) if many else 1):
                t.same += [(k, i, e if many else None, i) for i in range(len(dims[k])) if i != at]
                t.ordered.append((k, at, e if many else None, at))
    elif code == "topk":
        t.same += [(0, i, e, i) for e in range(len(out.parts)) for i in range(len(dims[0]) - 1)]
    elif code == "reduce-window" and isinstance(out, Array):
        sizes = re.search(r"size=([\dx]+)", op.attrs["window"])[1].split("x")
        t.same += [(0, i, None, i) for i in range(len(out.dims)) if sizes[i] == "1" and dims[0][i] == out.dims[i]]
    elif code == "select-and-scatter":
        # Of a pooling's gradient: the window's source has as many entries along what no window goes over.
        sizes = re.search(r"size=([\dx]+)", op.attrs["window"])[1].split("x")
        whole = [i for i in range(len(out.dims)) if sizes[i] == "1" and dims[1][i] == out.dims[i]]
        t.same += [(k, i, None, i) for k in (0, 1) for i in whole]
    elif code == "fft":
        n = len(op.ints("fft_length"))
        t.same += [(0, i, None, i) for i in range(len(out.dims) - n)]
    elif code in ("cholesky", "triangular-solve"):
        for k in range(len(dims)):
            t.same += [(k, i, None, i) for i in range(len(out.dims) - 2)]
    return t


class Classes:
    """The dimensions of a whole program that must be cut together, and why some can't be."""

    def __init__(self, module):
        self.module, self.above, self.why = module, {}, {}
        reached, stack = set(), [module.entry]
        while stack:
            own = stack.pop()
            if own.name in reached:
                continue
            reached.add(own.name)
            for op in own.ops.values():
                stack += self.read(own, op)
        self.reached = reached

    def find(self, node):
        path = []
        while node in self.above:
            path.append(node)
            node = self.above[node]
        for one in path:
            self.above[one] = node
        return node

    def join(self, a, b):
        a, b = self.find(a), self.find(b)
        if a != b:
            self.above[b] = a
            if b in self.why and a not in self.why:
                self.why[a] = self.why[b]

    def nodes(self, own, name):
        shape = own.ops[name].shape
        parts = [(None, shape)] if isinstance(shape, Array) else list(enumerate(shape.parts)) if isinstance(shape, Tuple) else []
        for e, part in parts:
            if isinstance(part, Array):
                for d in range(len(part.dims)):
                    yield own.name, name, e, d

    def whole(self, a, b):
        """Two values are the same."""
        for x, y in zip(self.nodes(*a), self.nodes(*b)):
            self.join(x, y)

    def read(self, own, op):
        code, more = op.code, []
        if code == "parameter" or code == "constant":
            return more
        if code == "tuple":
            for e, o in enumerate(op.operands):
                for node in self.nodes(own, o):
                    if node[2] is None:
                        self.join(node, (own.name, op.name, e, node[3]))
            return more
        if code == "get-tuple-element":
            e = int(op.attrs["index"])
            for node in self.nodes(own, op.name):
                self.join(node, (own.name, op.operands[0], e, node[3]))
            return more
        if code == "opt-barrier":
            self.whole((own, op.operands[0]), (own, op.name))
            return more
        if code == "while":
            inner = self.module.all[op.attrs["body"].lstrip("%")]
            test = self.module.all[op.attrs["condition"].lstrip("%")]
            first = (own, op.operands[0])
            for other in ((own, op.name), (inner, inner.root), (inner, inner.parameters()[0].name), (test, test.parameters()[0].name)):
                self.whole(first, other)
            return [inner, test]
        if code == "conditional":
            inside = self.module.called(op)
            for k, callee in enumerate(inside):
                self.whole((own, op.name), (callee, callee.root))
                self.whole((own, op.operands[k + 1]), (callee, callee.parameters()[0].name))
            return inside
        t = ties(self.module, own, op)
        known_in, known_out = set(), {(e, j) for e, j in t.free}
        for k, i, e, j in t.same + t.ordered:
            known_in.add((k, i))
            known_out.add((e, j))
            self.join((own.name, op.operands[k], None, i), (own.name, op.name, e, j))
        for group in t.summed:
            known_in.update(group)
            for k, i in group[1:]:
                self.join((own.name, op.operands[group[0][0]], None, group[0][1]), (own.name, op.operands[k], None, i))
        word = "%s of %s" % (code, op.path or op.name)
        for k, o in enumerate(op.operands):
            for node in self.nodes(own, o):
                if node[2] is None and (k, node[3]) not in known_in and own.ops[o].shape.dims[node[3]] != 1:
                    self.why.setdefault(self.find(node), word)
        for node in self.nodes(own, op.name):
            if (node[2], node[3]) not in known_out:
                shape = op.shape if node[2] is None else op.shape.parts[node[2]]
                if shape.dims[node[3]] != 1:
                    self.why.setdefault(self.find(node), word)
        return more


def part_of(shape, e):
    return shape if e is None else shape.parts[e]


def shrink(module, members, n):
    """Divides dimensions by n: their arrays, and what instructions say of them."""
    cut = {}
    for own, name, e, d in members:
        cut.setdefault(own, {}).setdefault(name, {}).setdefault(e, set()).add(d)
    for own_name, names in cut.items():
        own = module.all[own_name]
        for name, parts in names.items():
            op = own.ops[name]
            whole = op.shape

            def small(shape, marked):
                return shape.of([x // n if i in marked else x for i, x in enumerate(shape.dims)])

            for e, marked in parts.items():
                if any(part_of(whole, e).dims[d] % n for d in marked):
                    raise Cannot("an extent of %s can't be divided by %d" % (op.path or name, n))
            if isinstance(whole, Tuple):
                shape = Tuple([small(p, parts[e]) if e in parts else p for e, p in enumerate(whole.parts)])
            else:
                shape = small(whole, parts[None])
            if op.code == "constant":
                big = op.copy()
                big.name = module.name(name)
                own.add(big)
                limits = ", ".join("[0:%d]" % x for x in shape.dims)
                own.ops[name] = Op(name, shape, "slice", [big.name], attrs={"slice": "{%s}" % limits})
                continue
            op.shape = shape
            adapt(op, parts.get(None, set()), n)
        # Gathers say how large their slices of an operand are.
        for op in own.ops.values():
            if op.code == "gather" and op.operands[0] in names:
                sizes = op.ints("slice_sizes")
                marked = names[op.operands[0]].get(None, set())
                op.attrs["slice_sizes"] = braces([s // n if i in marked and s > 1 else s for i, s in enumerate(sizes)])


def adapt(op, marked, n):
    """What an instruction says of its own extents."""
    if op.code == "dynamic-slice":
        op.attrs["dynamic_slice_sizes"] = braces(op.shape.dims)
    elif op.code == "slice":
        limits = re.findall(r"\[(\d+):(\d+)(?::(\d+))?\]", op.attrs["slice"])
        words = ["[0:%d]" % op.shape.dims[i] if i in marked else "[%s:%s%s]" % (a, b, ":" + c if c else "") for i, (a, b, c) in enumerate(limits)]
        op.attrs["slice"] = "{%s}" % ", ".join(words)


def replaced(head):
    """The numbers of arguments that results take the place of, or that are donated."""
    out = set()
    for key in ("input_output_alias=", "buffer_donor="):
        at = head.find(key)
        if at >= 0:
            inside = head[at + len(key) : closing(head, at + len(key)) + 1]
            out |= {int(n) for n in re.findall(r"\((\d+), \{", inside)}
    return out


def smaller_batch(module, n):
    """The batch that arguments share, n times smaller: the leading dimension, first in each argument that has it, with which most of the memory of temporaries shrinks."""
    classes = Classes(module)
    members = {}
    for own_name in classes.reached:
        own = module.all[own_name]
        for name in own.ops:
            for node in classes.nodes(own, name):
                members.setdefault(classes.find(node), []).append(node)
    firsts = {}
    for op in module.entry.parameters():
        for node in classes.nodes(module.entry, op.name):
            firsts.setdefault(classes.find(node), set()).add(node)
    kept = replaced(module.head)
    found, why, refused = [], "no argument has a leading dimension that is a batch", 0
    for root, places in firsts.items():
        # Behind a dimension that a loop goes through the batch is second.
        second = {node for node in places if node[3] == 1 and classes.find(node[:3] + (0,)) in classes.why and len(module.entry.ops[node[1]].shape.dims) > 2}
        if any(node[3] != 0 for node in places - second):
            continue
        # A batch comes from outside; what results replace in all its arguments are weights and their like.
        if all(int(module.entry.ops[node[1]].literal) in kept for node in places):
            continue
        touched, arguments = members[root], sum(module.entry.ops[node[1]].shape.bytes() for node in places)
        shapes = [part_of(module.all[own].ops[name].shape, e) for own, name, e, d in touched]
        weight = sum(shape.bytes() for shape in shapes)
        if min(shape.dims[node[3]] for shape, node in zip(shapes, touched)) < n:
            continue
        if root not in classes.why:
            found.append((weight, arguments, touched))
        elif weight > refused:
            refused, why = weight, "the leading dimension can't be cut at a " + classes.why[root]
    if not found:
        raise Cannot(why)
    # Of those with which most becomes smaller a batch is of the smallest arguments.
    most = max(weight for weight, _, _ in found)
    best = min((one for one in found if one[0] >= most / 2), key=lambda one: one[1])
    names = [module.entry.ops[name].path or name for own, name, e, d in best[2] if own == module.entry.name and module.entry.ops[name].code == "parameter"]
    shrink(module, best[2], n)
    return "the leading dimension of %s is %d times smaller" % (words(names), n)


def words(names, most=4):
    return ", ".join(names[:most]) + (" and %d more" % (len(names) - most) if len(names) > most else "")
