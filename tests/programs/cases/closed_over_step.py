"""The number of the step is a constant of the function that is compiled: each step is a program of its own."""

import jax
import jax.numpy as jnp
from common import FIXED, layers, loop, loss

weights, x, y = layers(4, 224), jnp.ones((96, 224)), jnp.zeros((96, 224))


def update(weights, i):
    value, gradients = jax.value_and_grad(loss)(weights, x, y)
    return [w - 1e-2 / (1 + i) * g for w, g in zip(weights, gradients)], value


train = jax.jit(update)


def step(i):
    global weights
    if FIXED:
        weights, value = train(weights, float(i))
    else:

        @jax.jit
        def train_now(weights):
            return update(weights, float(i))

        weights, value = train_now(weights)
    value.block_until_ready()


loop(step, n=12)
