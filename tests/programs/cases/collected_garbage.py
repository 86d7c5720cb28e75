"""The whole heap of Python is searched for garbage in every third step."""

import gc

import jax
import jax.numpy as jnp
from common import FIXED, layers, loop, update

weights, x, y = layers(4, 384), jnp.ones((256, 384)), jnp.zeros((256, 384))
train = jax.jit(update)
heap = [{"sample": [i]} for i in range(400_000)]


def step(i):
    global weights
    weights, value = train(weights, x, y)
    value.block_until_ready()
    if not FIXED and i % 3 == 0:
        gc.collect()


loop(step)
