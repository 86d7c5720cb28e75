"""The host waits for each of twenty layers before it launches the next."""

import jax
import jax.numpy as jnp
from common import FIXED, layers, loop

weights, x = layers(20, 256), jnp.ones((64, 256))
layer = jax.jit(lambda weight, x: jnp.tanh(x @ weight))


def step(i):
    out = x
    for weight in weights:
        out = layer(weight, out)
        if not FIXED:
            out.block_until_ready()
    out.block_until_ready()


loop(step)
