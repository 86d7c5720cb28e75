"""Captures a profile of JAX on CPU with about as many events as asked: capture.py FOLDER EVENTS.

A loop of many small ops, so that every run of the compiled function gives several hundred events. A short capture first says
how many events a run gives; the capture that is kept runs as often as that takes.
"""

import glob
import os
import shutil
import sys
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

LAYERS = 40


@jax.jit
def train_step(weights, x):
    def loss(weights):
        h = x
        for w in weights:
            h = jnp.tanh(jnp.sort(h @ w, axis=-1) + jnp.cumsum(h, axis=0) * 1e-3)
        return (h * h).mean()

    grads = jax.grad(loss)(weights)
    return [w - 1e-3 * g for w, g in zip(weights, grads)]


def capture(folder, weights, x, steps):
    with jax.profiler.trace(folder):
        for step in range(steps):
            with jax.profiler.StepTraceAnnotation("train", step_num=step):
                weights = train_step(weights, x)
                jax.block_until_ready(weights)
    return weights


def events(folder):
    (path,) = glob.glob(os.path.join(folder, "plugins/profile/*/*.xplane.pb"))
    data = jax.profiler.ProfileData.from_file(path)
    return sum(1 for plane in data.planes for line in plane.lines for _ in line.events)


def main():
    folder, wanted = sys.argv[1], int(sys.argv[2])
    weights = [jnp.eye(32) * 0.5 for _ in range(LAYERS)]
    x = jnp.ones((8, 32))
    weights = train_step(weights, x)
    trial = os.path.join(folder, "trial")
    capture(trial, weights, x, 50)
    per_step = events(trial) / 50
    shutil.rmtree(trial)
    steps = max(2, round(wanted / per_step))
    start = time.time()
    capture(folder, weights, x, steps)
    print(f"{per_step:.0f} events a step, {steps} steps, {time.time() - start:.0f} s")


main()
