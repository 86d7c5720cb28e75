"""Gradients are compiled, the optimizer is not: some hundreds of small programs follow each gradient."""

import jax
import jax.numpy as jnp
from common import FIXED, layers, loop, loss

weights, x, y = layers(12, 96), jnp.ones((32, 96)), jnp.zeros((32, 96))
first, second = [jnp.zeros_like(w) for w in weights], [jnp.zeros_like(w) for w in weights]
gradients_of = jax.jit(jax.grad(loss))


def adam(weights, first, second, gradients):
    first = [0.9 * m + 0.1 * g for m, g in zip(first, gradients)]
    second = [0.99 * v + 0.01 * g * g for v, g in zip(second, gradients)]
    return [w - 1e-3 * m / (jnp.sqrt(v) + 1e-8) for w, m, v in zip(weights, first, second)], first, second


if FIXED:
    adam = jax.jit(adam)


def step(i):
    global weights, first, second
    weights, first, second = adam(weights, first, second, gradients_of(weights, x, y))
    jax.block_until_ready(weights)


loop(step)
