"""A recurrent network is unrolled in Python: one launch of a compiled cell for each of 256 moments, where a scan is one."""

import jax
import jax.numpy as jnp
from common import FIXED, layers, loop

weights = layers(2, 64)
inputs = jnp.ones((256, 16, 64))


@jax.jit
def cell(weights, state, x):
    return jnp.tanh(state @ weights[0] + x @ weights[1])


@jax.jit
def scanned(weights, state, inputs):
    return jax.lax.scan(lambda state, x: (cell(weights, state, x), None), state, inputs)[0]


moments = list(inputs)


def step(i):
    state = jnp.zeros((16, 64))
    if FIXED:
        state = scanned(weights, state, inputs)
    else:
        for x in moments:
            state = cell(weights, state, x)
    state.block_until_ready()


loop(step)
