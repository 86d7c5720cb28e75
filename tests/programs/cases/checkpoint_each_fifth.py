"""The weights are written to a file in every fifth step, while the device waits."""

import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from common import FIXED, layers, loop, update

weights, x, y = layers(6, 768), jnp.ones((512, 768)), jnp.zeros((512, 768))
train = jax.jit(update)
folder = tempfile.TemporaryDirectory()


def step(i):
    global weights
    weights, value = train(weights, x, y)
    value.block_until_ready()
    if not FIXED and i % 5 == 0:
        np.savez_compressed(f"{folder.name}/{i % 2}.npz", *weights[:2])


loop(step)
