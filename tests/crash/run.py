#!/usr/bin/env python3
"""Things that go wrong on real machines: a file is cut, overwritten or replaced while it is read; a process is killed while it
writes the index or a ledger; the disk is full; the cache folder cannot be written.

    python3 tests/crash/run.py --bin target/release/haloscope [--quick] [--kills 200] [--seed N]

Whatever happens, an answer is right or an error that says what happened, and no process ends by a signal that it did not get
from here. Linux only: processes are stopped and looked at through /proc. Needs the standard library alone.
"""
import argparse
import os
import pathlib
import random
import sys
import tempfile
import time

import changing
import index
import ledger
from processes import failures
from profiles import pair

# 60 kB each: 12 MB, which takes long enough to read, and is enough to be indexed.
STEPS = 200
# What a ledger is kept of.
SMALL = pathlib.Path(__file__).parents[2] / "fixtures/runs/tpu-gate/plugins/profile/2026_01_01_00_00_00/tpu-host.xplane.pb"
ROUNDS, QUICK_ROUNDS = 20, 5
KILLS, QUICK_KILLS = 200, 40


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROUNDS} rounds of each kind, not {ROUNDS}, and fewer kills")
    parser.add_argument("--kills", type=int, help=f"how often a process is killed while it writes the index, and as often while it writes a ledger [{KILLS}; {QUICK_KILLS} with --quick]")
    parser.add_argument("--only", choices=["changing", "index", "ledger"], help="one of the parts")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"steps of the profile, 60 kB each [{STEPS}]")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    given = parser.parse_args()
    random.seed(given.seed)
    print(f"seed {given.seed}")
    begun = time.monotonic()
    profiles = pair(given.steps)
    with tempfile.TemporaryDirectory(prefix="haloscope-crash-") as folder:
        folder = pathlib.Path(folder)
        rounds = QUICK_ROUNDS if given.quick else ROUNDS
        env = {**os.environ, "HALOSCOPE_CACHE": "off"}
        binary = given.bin.resolve()
        kills = given.kills or (QUICK_KILLS if given.quick else KILLS)
        if given.only in (None, "changing"):
            changing.all_of(changing.Case(binary, folder / "changing", env, profiles, rounds))
        if given.only in (None, "index"):
            index.all_of(index.Case(binary, folder / "index", profiles), kills, rounds)
        if given.only in (None, "ledger"):
            ledger.kills(ledger.Case(binary, folder / "ledger", SMALL), kills)
    print(f"{time.monotonic() - begun:.0f} s, {len(failures)} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
