"""Runs one program of cases/ or of ../shared/programs: how long a step takes without the profiler, then with it, then without again.

    PYTHONPATH=FOLDER python measure.py PROGRAM.py LOGDIR

Prints a line of JSON: milliseconds a step (`before`, `profiled`, `after`), steps profiled, and FLOP/s of one large product as this
process reaches it (`product`, the program one_matmul). The programs hand their step to `common.loop`, which is replaced here.
"""

import json
import os
import runpy
import sys
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
PROGRAM, LOGDIR = sys.argv[1:3]
EDGE = 2048


def product():
    """The best FLOP/s of three products of two square matrices, the first as it is and turned around: XLA has a library for each."""
    import jax
    import jax.numpy as jnp

    a = jnp.ones((EDGE, EDGE))
    best = float("inf")
    for turned in (0, 1):
        multiply = jax.jit(lambda a: jax.lax.dot_general(a, a, (((1 - turned,), (0,)), ((), ()))))
        multiply(a).block_until_ready()
        for _ in range(3):
            began = time.perf_counter()
            multiply(a).block_until_ready()
            best = min(best, time.perf_counter() - began)
    return 2 * EDGE**3 / best


def loop(step, n=20, warm=3):
    """In place of the programs' own: the same steps unprofiled, profiled and unprofiled."""
    import jax

    number = iter(range(1 << 20))

    def timed():
        began = time.perf_counter()
        for _ in range(n):
            step(next(number))
        return (time.perf_counter() - began) / n * 1e3

    for _ in range(warm):
        step(next(number))
    before = timed()
    with jax.profiler.trace(LOGDIR):
        profiled = timed()
    after = timed()
    said = {"before": before, "profiled": profiled, "after": after, "steps": n, "product": product()}
    print(json.dumps(said), flush=True)


import common  # noqa: E402

common.loop = loop
runpy.run_path(PROGRAM, run_name="__main__")
