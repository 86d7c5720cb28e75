"""The loss is fetched after each of thirty small updates, where fetching the last suffices."""

import jax
import jax.numpy as jnp
from common import FIXED, layers, loop, update

weights, x, y = layers(3, 160), jnp.ones((64, 160)), jnp.zeros((64, 160))
train = jax.jit(update)


def step(i):
    global weights
    for k in range(30):
        weights, value = train(weights, x, y)
        if not FIXED:
            float(value)
    float(value)


loop(step)
