"""The text of an HLO program as data, and as text again."""

import re


class Cannot(Exception):
    """Why a change can't be made here."""


# ---- text


class Array:
    def __init__(self, kind, dims, layout=""):
        self.kind, self.dims, self.layout = kind, tuple(dims), layout

    def __str__(self):
        return "%s[%s]%s" % (self.kind, ",".join(map(str, self.dims)), self.layout)

    def count(self):
        n = 1
        for d in self.dims:
            n *= d
        return n

    def bytes(self):
        return self.count() * WIDTH.get(self.kind, 4)

    def of(self, dims, kind=None):
        """The same kind of array with other extents."""
        return Array(kind or self.kind, dims, self.layout if len(dims) == len(self.dims) else "")


WIDTH = {"pred": 1, "s8": 1, "u8": 1, "bf16": 2, "f16": 2, "s16": 2, "u16": 2, "f32": 4, "s32": 4, "u32": 4, "f64": 8, "s64": 8, "u64": 8, "c64": 8, "c128": 16}
WIDTH.update({"f8e4m3fn": 1, "f8e5m2": 1, "s4": 1, "u4": 1, "s2": 1, "u2": 1})


class Tuple:
    def __init__(self, parts):
        self.parts = parts

    def __str__(self):
        return "(%s)" % ", ".join(map(str, self.parts))

    def bytes(self):
        return sum(p.bytes() for p in self.parts)


class Other:
    """A shape that is no array: a token."""

    def __init__(self, text):
        self.text = text

    def __str__(self):
        return self.text

    def bytes(self):
        return 0


def closing(text, at):
    """Where the bracket that opens at a place closes."""
    depth, quoted, i = 0, False, at
    while i < len(text):
        c = text[i]
        if quoted:
            if c == "\\":
                i += 1
            elif c == '"':
                quoted = False
        elif c == '"':
            quoted = True
        elif c in "({[":
            depth += 1
        elif c in ")}]":
            depth -= 1
            if depth == 0:
                return i
        i += 1
    raise Cannot("the HLO text ends within a bracket")


def split(text):
    """The parts between commas that stand in no bracket."""
    parts, start, i = [], 0, 0
    while i < len(text):
        c = text[i]
        if c in "({[":
            i = closing(text, i)
        elif c == '"':
            i += 1
            while i < len(text) and text[i] != '"':
                i += 2 if text[i] == "\\" else 1
        elif c == ",":
            parts.append(text[start:i].strip())
            start = i + 1
        i += 1
    last = text[start:].strip()
    return parts + [last] if last else parts


ARRAY = re.compile(r"([a-z][a-z0-9]*)\[([\d,]*)\](\{[^}]*\})?")


def shape_at(text):
    """The shape that a text begins with, and what follows."""
    text = re.sub(r"^(\s|/\*.*?\*/)+", "", text)
    if text.startswith("("):
        end = closing(text, 0)
        return Tuple([shape_at(part)[0] for part in split(text[1:end])]), text[end + 1 :]
    found = ARRAY.match(text)
    if found:
        dims = [int(d) for d in found[2].split(",") if d]
        return Array(found[1], dims, found[3] or ""), text[found.end() :]
    word = re.match(r"[^\s,)]+", text)
    if not word:
        raise Cannot("a shape of the HLO text is not known")
    return Other(word[0]), text[word.end() :]


class Op:
    """An instruction."""

    def __init__(self, name, shape, code, operands=(), literal=None, attrs=None):
        self.name, self.shape, self.code = name, shape, code
        self.operands, self.literal, self.attrs = list(operands), literal, dict(attrs or {})

    def copy(self):
        return Op(self.name, self.shape, self.code, self.operands, self.literal, self.attrs)

    def __str__(self):
        inside = self.literal if self.literal is not None else ", ".join("%" + o for o in self.operands)
        attrs = "".join(", %s=%s" % (k, v) for k, v in self.attrs.items())
        return "%%%s = %s %s(%s)%s" % (self.name, self.shape, self.code, inside, attrs)

    def ints(self, key):
        """The whole numbers of an attribute."""
        return [int(n) for n in re.findall(r"-?\d+", self.attrs.get(key, ""))]

    @property
    def path(self):
        found = re.search(r'op_name="((?:[^"\\]|\\.)*)"', self.attrs.get("metadata", ""))
        return found[1] if found else ""


def read_op(line):
    """An instruction of a line, and whether it is its computation's result."""
    line = line.strip()
    is_root = line.startswith("ROOT ")
    name, rest = (line[5:] if is_root else line).split(" = ", 1)
    shape, rest = shape_at(rest)
    rest = rest.lstrip()
    at = rest.index("(")
    end = closing(rest, at)
    inside = rest[at + 1 : end]
    op = Op(name.lstrip("%"), shape, rest[:at])
    if op.code in ("parameter", "constant", "iota") or not inside.strip():
        op.literal = inside
    else:
        # Older texts have shapes in front of operands.
        op.operands = [re.sub(r"/\*.*?\*/", "", part).split()[-1].lstrip("%") for part in split(inside)]
    for part in split(rest[end + 1 :].lstrip(", ")):
        key, _, value = part.partition("=")
        op.attrs[key] = value
    return op, is_root


class Computation:
    def __init__(self, name, is_entry=False):
        self.name, self.is_entry, self.ops, self.root = name, is_entry, {}, None

    def add(self, op):
        self.ops[op.name] = op
        return op.name

    def parameters(self):
        return sorted((op for op in self.ops.values() if op.code == "parameter"), key=lambda op: int(op.literal))

    def users(self):
        users = {name: [] for name in self.ops}
        for op in self.ops.values():
            for operand in dict.fromkeys(op.operands):
                users[operand].append(op.name)
        return users

    def order(self):
        """Names with operands first, as they stand otherwise."""
        done, out = set(), []
        for first in list(self.ops):
            stack = [(first, 0)]
            while stack:
                name, at = stack.pop()
                if name in done:
                    continue
                operands = self.ops[name].operands
                while at < len(operands) and operands[at] in done:
                    at += 1
                if at == len(operands):
                    done.add(name)
                    out.append(name)
                else:
                    stack += [(name, at + 1), (operands[at], 0)]
                    if len(stack) > 4 * len(self.ops) + 8:
                        raise Cannot("the change makes a circle")
        return out

    def replace(self, old, new, but=()):
        for op in self.ops.values():
            if op.name not in but:
                op.operands = [new if o == old else o for o in op.operands]
        if self.root == old:
            self.root = new

    def sweep(self):
        """Leaves out what nothing uses."""
        acts = lambda op: op.code in ACTS or op.attrs.get("custom_call_has_side_effect") == "true"
        alive, stack = set(), [self.root] + [op.name for op in self.ops.values() if acts(op)]
        while stack:
            name = stack.pop()
            if name not in alive:
                alive.add(name)
                stack += self.ops[name].operands
        self.ops = {name: op for name, op in self.ops.items() if name in alive}


# What stays though nothing uses it.
ACTS = ("parameter", "send", "recv", "send-done", "recv-done", "infeed", "outfeed")
CALLED = ("to_apply", "body", "condition", "calls", "true_computation", "false_computation", "comparator", "select", "scatter")


class Module:
    def __init__(self, text):
        lines = text.split("\n")
        self.head, self.preamble, self.all, self.fresh = lines[0], [], {}, 0
        own = None
        for line in lines[1:]:
            found = re.match(r"(ENTRY )?%?([^\s(]+) (?:\(.*)?\{$", line.rstrip()) if own is None else None
            if found:
                own = Computation(found[2], bool(found[1]))
                self.all[own.name] = own
            elif own is None:
                self.preamble.append(line)
            elif line.strip() == "}":
                own = None
            elif line.strip():
                op, is_root = read_op(line)
                own.add(op)
                if is_root:
                    own.root = op.name
        self.entry = next((c for c in self.all.values() if c.is_entry), None)
        if self.entry is None:
            raise Cannot("the HLO text has no entry computation")
        for own in self.all.values():
            own.root = own.root or list(own.ops)[-1]
        self.inline()
        self.all = {own.name: own for own in self.reached()}

    def reached(self):
        """The computations that are used, the entry first."""
        out, stack = [], [self.entry]
        while stack:
            own = stack.pop(0)
            if own not in out:
                out.append(own)
                stack += [c for op in own.ops.values() for c in self.called(op)]
        return out

    def name(self, word):
        self.fresh += 1
        return "%s.hs%d" % (word.split(".hs")[0], self.fresh)

    def called(self, op):
        names = [op.attrs[key].lstrip("%") for key in CALLED if key in op.attrs]
        names += [n.strip().lstrip("%") for n in op.attrs.get("branch_computations", "").strip("{}").split(",") if n.strip()]
        return [self.all[n] for n in names if n in self.all]

    def inline(self):
        """Puts what is called in the place of the call."""
        for own in self.all.values():
            while True:
                # A choice of one branch is a call.
                is_call = lambda op: op.code == "call" or (op.code == "conditional" and len(self.called(op)) == 1)
                call = next((op for op in own.ops.values() if is_call(op)), None)
                if call is None:
                    break
                callee = self.called(call)[0]
                given = call.operands if call.code == "call" else call.operands[1:]
                new = {}
                for name in callee.order():
                    op = callee.ops[name].copy()
                    if op.code == "parameter":
                        new[name] = given[int(op.literal)]
                        continue
                    op.operands = [new[o] for o in op.operands]
                    op.name = new[name] = self.name(name)
                    if call.path and op.path and not op.path.startswith("jit("):
                        op.attrs["metadata"] = '{op_name="%s/%s"}' % (call.path, op.path)
                    own.add(op)
                del own.ops[call.name]
                own.replace(call.name, new[callee.root])
            own.ops = {name: own.ops[name] for name in own.order()}
            self.untuple(own)
            own.sweep()

    def untuple(self, own):
        for op in list(own.ops.values()):
            if op.code == "get-tuple-element" and own.ops[op.operands[0]].code == "tuple":
                own.replace(op.name, own.ops[op.operands[0]].operands[int(op.attrs["index"])])

    def text(self):
        for own in self.reached():
            own.sweep()
        out = [self.head] + self.preamble
        done = set()

        def write(own):
            if own.name in done:
                return
            done.add(own.name)
            for op in own.ops.values():
                for callee in self.called(op):
                    write(callee)
            out.append("%s%%%s {" % ("ENTRY " if own.is_entry else "", own.name))
            for name in own.order():
                out.append("  %s%s" % ("ROOT " if name == own.root else "", own.ops[name]))
            out.extend(["}", ""])

        write(self.entry)
        self.entry_layout()
        out[0] = self.head
        return "\n".join(out)

    def entry_layout(self):
        """Makes the layouts in the header those of the shapes as they are now."""
        key = "entry_computation_layout="
        at = self.head.find(key)
        if at < 0:
            return
        start = at + len(key)
        end = closing(self.head, start)
        inside = self.head[start + 1 : end]
        close = closing(inside, 0)
        arguments = [shape_at(part)[0] for part in split(inside[1:close])]
        result = shape_at(inside[close + 1 :].split("->", 1)[1])[0]

        def now(layout, shape):
            if isinstance(layout, Tuple) and isinstance(shape, Tuple):
                return Tuple([now(a, b) for a, b in zip(layout.parts, shape.parts)])
            if isinstance(layout, Array) and isinstance(shape, Array):
                same = layout.dims == shape.dims and layout.kind == shape.kind
                # XLA reads no empty layout, which is left of a number's.
                return layout if same else Array(shape.kind, shape.dims, re.sub(r":[^}]*", "", layout.layout).replace("{}", ""))
            return layout

        parameters = [op.shape for op in self.entry.parameters()]
        words = ", ".join(str(now(a, b)) for a, b in zip(arguments, parameters))
        result = now(result, self.entry.ops[self.entry.root].shape)
        self.head = "%s{(%s)->%s}%s" % (self.head[:start], words, result, self.head[end + 1 :])

    # Small pieces.

    def constant(self, own, value, kind="s32"):
        return own.add(Op(self.name("constant"), Array(kind, ()), "constant", literal=str(value)))

    def binary(self, own, code, a, b, shape=None, **attrs):
        return own.add(Op(self.name(code), shape or own.ops[a].shape, code, [a, b], attrs=attrs))

    def element(self, own, of, index):
        shape = own.ops[of].shape.parts[index]
        return own.add(Op(self.name("part"), shape, "get-tuple-element", [of], attrs={"index": index}))

    def filled(self, own, shape, value="0"):
        word = {"pred": {"0": "false", "1": "true"}.get(value, value)}.get(shape.kind, value)
        scalar = self.constant(own, word, shape.kind)
        return own.add(Op(self.name("filled"), shape, "broadcast", [scalar], attrs={"dimensions": "{}"})) if shape.dims else scalar

    def sliced(self, own, of, dim, start, extent):
        shape = own.ops[of].shape
        dims = [extent if i == dim else d for i, d in enumerate(shape.dims)]
        zero = self.constant(own, 0)
        starts = [start if i == dim else zero for i in range(len(dims))]
        return own.add(Op(self.name("slice"), shape.of(dims), "dynamic-slice", [of] + starts, attrs={"dynamic_slice_sizes": braces(dims)}))

    def updated(self, own, of, part, dim, start):
        zero = self.constant(own, 0)
        starts = [start if i == dim else zero for i in range(len(own.ops[of].shape.dims))]
        return own.add(Op(self.name("update"), own.ops[of].shape, "dynamic-update-slice", [of, part] + starts))

    def loop(self, own, count, inputs, body):
        """A loop in a computation: `inputs` are names of what it begins with, `body(computation, index, names)` gives the next of them, in
        the computation of the body. Gives the names of what it ends with."""
        shapes = [Array("s32", ())] + [own.ops[i].shape for i in inputs]
        state = Tuple(shapes)
        inner, test = Computation(self.name("body")), Computation(self.name("condition"))
        for one in (inner, test):
            self.all[one.name] = one
        arg = inner.add(Op(self.name("state"), state, "parameter", literal="0"))
        names = [self.element(inner, arg, i) for i in range(len(shapes))]
        after = body(inner, names[0], names[1:])
        step = self.binary(inner, "add", names[0], self.constant(inner, 1))
        inner.root = inner.add(Op(self.name("next"), state, "tuple", [step] + after))
        arg = test.add(Op(self.name("state"), state, "parameter", literal="0"))
        last = count if isinstance(count, int) else None
        if last is not None:
            bound = self.constant(test, last)
        else:
            bound = self.element(test, arg, 1 + inputs.index(count))
        test.root = self.binary(test, "compare", self.element(test, arg, 0), bound, Array("pred", ()), direction="LT")
        begin = own.add(Op(self.name("begin"), state, "tuple", [self.constant(own, 0)] + list(inputs)))
        done = own.add(Op(self.name("while"), state, "while", [begin], attrs={"condition": "%" + test.name, "body": "%" + inner.name}))
        return [self.element(own, done, i + 1) for i in range(len(inputs))]


def braces(numbers):
    return "{%s}" % ",".join(map(str, numbers))
