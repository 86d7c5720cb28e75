"""Each batch is made on the host, by NumPy, after the step before it has ended."""

import jax
import jax.numpy as jnp
import numpy as np
from common import FIXED, layers, loop, update

weights = layers(4, 384)
random = np.random.default_rng(0)
train = jax.jit(update)


def batch():
    images = random.standard_normal((256, 384, 12), dtype=np.float32)
    return np.sort(images, axis=-1).mean(-1), np.zeros((256, 384), np.float32)


ready = [tuple(jnp.asarray(each) for each in batch()) for _ in range(4)]


def step(i):
    global weights
    x, y = ready[i % 4] if FIXED else batch()
    weights, value = train(weights, x, y)
    value.block_until_ready()


loop(step)
