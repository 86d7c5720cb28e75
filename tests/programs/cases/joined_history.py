"""All losses so far are joined after each step: one more each time, and each number of them is compiled."""

import jax
import jax.numpy as jnp
import numpy as np
from common import FIXED, layers, loop, update

weights, x, y = layers(4, 256), jnp.ones((128, 256)), jnp.zeros((128, 256))
train = jax.jit(update)
history = []


def step(i):
    global weights
    weights, value = train(weights, x, y)
    if FIXED:
        history.append(float(value))
        np.mean(history)
    else:
        history.append(value)
        jnp.mean(jnp.stack(history)).block_until_ready()


loop(step)
