"""Programs for `haloscope run` to start. Each is one argument of this file.

    python tests/run/programs.py NAME [ARGS...]
"""

import os
import signal
import sys
import time


def loop(seconds, between=0.004, mark=True, compile_again=0):
    """Steps of a small product for so long. The first `compile_again` steps compile anew and are slow."""
    import jax
    import jax.numpy as jnp

    step = jax.jit(lambda x, w: jnp.tanh(x @ w))
    weights = jnp.ones((256, 256))
    end, number = time.time() + seconds, 0
    while time.time() < end:
        x = jnp.ones((256 + (number if number < compile_again else 0), 256))
        if mark:
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                step(x, weights).block_until_ready()
        else:
            step(x, weights).block_until_ready()
        number += 1
        time.sleep(between + (0.15 if number <= compile_again else 0))
    return number


def train(seconds, code="0"):
    """A training loop whose first twelve steps compile and are slow; ends with `code`."""
    print("steps", loop(float(seconds), compile_again=12))
    sys.exit(int(code))


def unmarked(seconds):
    """A loop without step markers."""
    loop(float(seconds), mark=False)


def own_server(seconds, port):
    """Starts a profiler server of its own, as programs do that are captured by hand."""
    import jax

    jax.numpy.ones(3).block_until_ready()
    time.sleep(0.5)
    jax.profiler.start_server(int(port))
    loop(float(seconds))


def early():
    """Ends before there is anything to capture."""
    loop(0.3)
    sys.exit(7)


def no_jax():
    """Has nothing to do with a device."""
    time.sleep(0.3)
    print("no device here")
    sys.exit(3)


def no_device():
    """Imports JAX, and uses no device."""
    import jax  # noqa: F401

    time.sleep(0.2)


def stepless(seconds):
    """Runs one program once, and then waits."""
    import jax.numpy as jnp

    jnp.ones((8, 8)).block_until_ready()
    time.sleep(float(seconds))


def interrupted():
    """Says when it is interrupted, once for each time."""
    times = []
    signal.signal(signal.SIGINT, lambda *_: times.append(1))
    loop(0.2)
    print("ready", flush=True)
    end = time.time() + 30
    while time.time() < end and not times:
        time.sleep(0.02)
    time.sleep(0.7)
    print("interrupts", len(times), flush=True)
    sys.exit(5)


def two(seconds):
    """Two processes of one program, each with a loop."""
    import subprocess

    children = [subprocess.Popen([sys.executable, __file__, "train", seconds]) for _ in range(2)]
    sys.exit(max(child.wait() for child in children))


def surroundings():
    """Prints what is in the environment, and whether the sitecustomize of another is in effect."""
    import sitecustomize

    print("theirs", getattr(sitecustomize, "MARK", None), os.environ.get("HALOSCOPE_LOGDIR"))
    print("paths", [place for place in sys.path if "haloscope-run" in place])


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
