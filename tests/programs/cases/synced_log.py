"""A line of a log is forced to the disk after each step."""

import json
import os
import tempfile

import jax
import jax.numpy as jnp
from common import FIXED, layers, loop, update

weights, x, y = layers(3, 256), jnp.ones((128, 256)), jnp.zeros((128, 256))
train = jax.jit(update)
log = tempfile.NamedTemporaryFile("w", dir=".")


def write(i, value):
    for name in range(40):
        log.write(json.dumps({"step": i, "name": name, "loss": value}) + "\n")
        if not FIXED:
            log.flush()
            os.fsync(log.fileno())


def step(i):
    global weights
    weights, value = train(weights, x, y)
    write(i, float(value))


loop(step)
