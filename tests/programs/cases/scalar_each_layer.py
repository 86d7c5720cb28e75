"""The host asks for a number after each of 24 layers and only then launches the next."""

import jax
import jax.numpy as jnp
from common import FIXED, layers, loop

weights, x = layers(24, 128), jnp.ones((32, 128))


@jax.jit
def layer(weight, x):
    x = jnp.tanh(x @ weight)
    return x, jnp.max(jnp.abs(x))


@jax.jit
def all_layers(weights, x):
    most = 0.0
    for weight in weights:
        x, peak = layer(weight, x)
        most = jnp.maximum(most, peak)
    return x, most


def step(i):
    if FIXED:
        float(all_layers(weights, x)[1])
    else:
        out = x
        for weight in weights:
            out, peak = layer(weight, out)
            if float(peak) > 1e6:
                break


loop(step)
