"""Two answers held against each other, leaf by leaf.

A leaf is a number, a string, a flag or null with its path. Numbers agree within a relative 1e-6; numbers inside strings within one
unit of the last digit that is printed. Rows (objects in a list) may stand in another order as far as XProf's do from run to run, as
it orders ties by a hash: those that share a number ([`tied_rows`]), or all that are equal ([`equal_rows`]).
"""
import collections
import gzip
import json
import re

from perfetto import readable

RELATIVE, TINY = 1e-6, 1e-9
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
# What XProf itself prints differently from run to run: hash order and heap addresses.
FREE = re.compile(r"\.(flow_id|bind_id|fingerprint|uid|numbered|named)$")
PLACES = ("rank", "percentile", "cumulative_total_self_time_percent")


def read(raw):
    """An answer as Python values: JSON, a Perfetto trace made readable, or the lines of a text."""
    if raw[:2] == b"\x1f\x8b":
        return readable(gzip.decompress(raw))
    text = raw.decode("utf-8", "replace")
    try:
        return tidy(json.loads(text))
    except ValueError:
        return text.splitlines()


def tidy(value):
    """Tables of cells as rows by column, so that a path says which column."""
    if isinstance(value, list):
        return [tidy(v) for v in value]
    if not isinstance(value, dict):
        return value
    if "cols" not in value or "rows" not in value:
        return {k: tidy(v) for k, v in value.items()}
    ids = [c.get("id") for c in value["cols"]]
    cell = lambda c: {"v": c.get("v"), "f": c["f"]} if c and "f" in c else (c or {}).get("v")
    rows = [{k: cell(c) for k, c in zip(ids, row["c"])} for row in value["rows"]]
    heads = [{k: c.get(k) for k in ("id", "label", "type")} for c in value["cols"]]
    return {"columns": heads, "properties": value.get("p") or {}, "rows": rows}


def same(a, b):
    if isinstance(a, bool) or isinstance(b, bool) or a is None or b is None:
        return a is b
    if isinstance(a, str) and isinstance(b, str):
        return a == b or same_words(a, b)
    try:
        a, b = float(a), float(b)  # protobuf's JSON prints 64-bit integers as strings
    except (TypeError, ValueError):
        return False
    return a == b or (a != a and b != b) or abs(a - b) <= max(TINY, RELATIVE * max(abs(a), abs(b)))


def same_words(a, b):
    """Strings with the same words around numbers that agree to the last digit printed."""
    ours, theirs = NUMBER.findall(a), NUMBER.findall(b)
    if not ours or NUMBER.sub("#", a) != NUMBER.sub("#", b):
        return False
    for x, y in zip(ours, theirs):
        digits = len(x.split(".")[1]) if "." in x and "e" not in x.lower() else None
        unit = 0.0 if digits is None else 1.0001 * 10.0**-digits
        if abs(float(x) - float(y)) > max(unit, RELATIVE * abs(float(x))):
            return False
    return True


def empty(value):
    """What protobuf's JSON may leave out."""
    return value in (None, 0, "", "0", False) or value in ([], {})


class Result:
    def __init__(self, known=()):
        self.leaves = self.good = self.excused = self.more = 0
        self.known, self.wrong = known, []

    def leaf(self, path, want, got, ok):
        if FREE.search(path):
            return
        if not ok and any(rule.search(path) for rule in self.known):
            self.excused += 1
            return
        self.leaves += 1
        self.good += ok
        if not ok:
            self.wrong.append(f"{path}: XProf {short(want)}, Haloscope {short(got)}")


def short(value):
    return "nothing" if value is None else json.dumps(value, ensure_ascii=False)[:100]


def leaves(value, path="$"):
    if isinstance(value, dict):
        for k, v in value.items():
            yield from leaves(v, f"{path}.{k}")
    elif isinstance(value, list):
        for i, v in enumerate(value):
            yield from leaves(v, f"{path}[{i}]")
    else:
        yield path, value


def lose(want, path, result):
    """Nothing stands where XProf says something."""
    if not empty(want):
        for at, value in leaves(want, path):
            result.leaf(at, value, None, False)


def equal(want, got):
    trial = Result()
    compare(want, got, "$", trial)
    return not trial.wrong and not trial.more


def tied(a, b):
    """Whether two rows share a number, so that their order says nothing."""
    if not isinstance(a, dict) or not isinstance(b, dict):
        return False
    number = lambda v: isinstance(v, (int, float)) and not isinstance(v, bool)
    return any(k not in PLACES and number(v) and k in b and number(b[k]) and same(v, b[k]) for k, v in a.items())


def compare(want, got, path, result, lists=None):
    """Holds two answers against each other, leaf by leaf; `lists` does it for lists."""
    lists = lists or tied_rows
    if isinstance(want, dict) and isinstance(got, dict):
        for k, v in want.items():
            if k in got:
                compare(v, got[k], f"{path}.{k}", result, lists)
            else:
                lose(v, f"{path}.{k}", result)
        result.more += sum(1 for k, v in got.items() if k not in want and not empty(v) for _ in leaves(v))
    elif isinstance(want, list) and isinstance(got, list):
        lists(want, got, path, result)
    elif isinstance(want, (dict, list)):
        lose(want, path, result)
    else:
        result.leaf(path, want, got, same(want, got))


def rough(row):
    """A key that rows which agree nearly always share: numbers to five digits."""
    if isinstance(row, dict):
        return tuple((k, rough(v)) for k, v in sorted(row.items()) if not empty(v))
    if isinstance(row, list):
        return tuple(map(rough, row))
    return f"{row:.5g}" if isinstance(row, float) else str(row)


def tied_rows(want, got, path, result):
    """Rows that share a number may stand in another order."""
    apart = {i for i, row in enumerate(want) if i >= len(got) or not equal(row, got[i])}
    spare = {j: None for j in range(len(got)) if j >= len(want) or j in apart}
    shelf = {}
    for j in reversed(spare):
        shelf.setdefault(rough(got[j]), []).append(j)
    swaps = {}
    for i in sorted(apart):
        place = shelf.get(rough(want[i]))
        # Rows that stand elsewhere count only as ties of what stands here.
        if place and (i >= len(got) or tied(want[i], got[i])) and equal(want[i], got[place[-1]]):
            swaps[i] = place.pop()
            del spare[swaps[i]]
    for i, row in enumerate(want):
        if i not in apart:
            compare(row, got[i], f"{path}[{i}]", result)
        elif i in swaps:
            compare(row, got[swaps[i]], f"{path}[{i}]", result)
        elif spare:
            j = i if i in spare else next(iter(spare))
            del spare[j]
            compare(row, got[j], f"{path}[{i}]", result)
        else:
            lose(row, f"{path}[{i}]", result)
    result.more += sum(1 for j in spare for _ in leaves(got[j]))


class Digests:
    """What a value says in one number: to six digits, without what may be left out, and how many leaves it has."""

    def __init__(self):
        self.known = {}

    def of(self, value):
        if not isinstance(value, (dict, list)):
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            return hash(f"{value:.6g}" if number else str(value)), 1
        if id(value) not in self.known:
            items = sorted(value.items()) if isinstance(value, dict) else enumerate(value)
            parts = [(k, *self.of(v)) for k, v in items if not (isinstance(value, dict) and empty(v))]
            self.known[id(value)] = hash(tuple((k, d) for k, d, _ in parts)), sum(n for _, _, n in parts)
        return self.known[id(value)]


def name(row):
    """What a row is about, for pairing rows whose numbers differ."""
    keys = ("name", "hlo_op_name", "operation", "kernel_name", "ph", "pid", "tid", "ts", "step", "program_id")
    return tuple(str(row[k]) for k in keys if k in row) if isinstance(row, dict) else ()


def equal_rows():
    """Equal rows may stand in another order; for lists too long for [`tied_rows`], one such comparison an answer."""
    digests = Digests()

    def lists(want, got, path, result):
        shelves = collections.defaultdict(list), collections.defaultdict(list)
        for j in reversed(range(len(got))):
            shelves[0][digests.of(got[j])[0]].append(j)
        left, used = [], set()
        for i, row in enumerate(want):
            digest, count = digests.of(row)
            if shelves[0][digest]:
                used.add(shelves[0][digest].pop())
                result.leaves, result.good = result.leaves + count, result.good + count
            else:
                left.append(i)
        for j in sorted(set(range(len(got))) - used, reverse=True):
            shelves[1][name(got[j])].append(j)
        rest = []
        for i in left:
            shelf = shelves[1][name(want[i])]
            if shelf:
                compare(want[i], got[shelf.pop()], f"{path}[{i}]", result, lists)
            else:
                rest.append(i)
        spare = sorted(j for shelf in shelves[1].values() for j in shelf)
        for at, i in enumerate(rest):
            if at < len(spare):
                compare(want[i], got[spare[at]], f"{path}[{i}]", result, lists)
            else:
                lose(want[i], f"{path}[{i}]", result)

    return lists
