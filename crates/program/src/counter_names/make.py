#!/usr/bin/env python3
"""Writes v6e.txt and v7x.txt from what xprof 2.24.2 answers to `perf_counters?names_only=1&device_type=KIND`.

    python make.py      # in a Python with xprof==2.24.2

The driver numbers counters by address, and the same block of counters stands at regular distances for every tile and memory channel.
So the answer's thousands of rows come down to blocks: `@ NAME-WITH-{} BASE STRIDE INDICES` says where the block stands for each
index, the lines below name its counters and their distances from there; a block without lines has those of the one before.
"""
import itertools
import pathlib
import re

from xprof.convert import counter_extractor

NAME = re.compile(r"(.*_(?:stats_counters|debug_stats|packet_counters|fixed_stats_counters))_(.*)")


def blocks(rows):
    """Consecutive rows of one instance as (instance, [(counter, address)])."""
    split = [(*NAME.fullmatch(row["name"]).groups(), row["val"]) for row in rows]
    for instance, group in itertools.groupby(split, lambda row: row[0]):
        yield instance, [(counter, address) for _, counter, address in group]


def runs(rows):
    """Neighbours that differ in their last number only, with the same counters at the same distances."""
    open_run = None
    for instance, counters in blocks(rows):
        head, index, tail = re.fullmatch(r"(.*?)(\d+)?(\D*)", instance).groups()
        first = min(address for _, address in counters)
        shape = tuple((counter, address - first) for counter, address in counters)
        if open_run and index is not None and open_run[0] == (head, tail, shape):
            open_run[1].append((int(index), first))
            continue
        if open_run:
            yield open_run
        open_run = ((head, tail, shape), [(None if index is None else int(index), first)])
    yield open_run


def affine(places):
    """Base and stride of a run, or None where its addresses are not regular."""
    (i, a), (j, b) = places[0], places[-1] if len(places) > 1 else places[0]
    stride = (b - a) // (j - i) if i != j else 0
    base = a - stride * (i or 0)
    return (base, stride) if all(base + stride * (k or 0) == at for k, at in places) else None


def main():
    for kind in ("v6e", "v7x"):
        rows = counter_extractor.get_all_counters(kind)
        lines, last = [], None
        for (head, tail, shape), places in runs(rows):
            parts = [places] if affine(places) else [[place] for place in places]
            for part in parts:
                base, stride = affine(part)
                indices = ",".join("-" if i is None else str(i) for i, _ in part)
                lines.append(f"@ {head}{{}}{tail} {base} {stride} {indices}")
                if shape != last:
                    lines += [f"{counter} {distance}" for counter, distance in shape]
                last = shape
        path = pathlib.Path(__file__).parent / f"{kind}.txt"
        path.write_text("\n".join(lines) + "\n")
        print(path.name, len(rows), "counters in", len(lines), "lines")


main()
