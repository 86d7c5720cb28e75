"""The learning rate is a static argument and changes in each step: each value is compiled."""

from functools import partial

import jax
import jax.numpy as jnp
from common import FIXED, layers, loop, loss

weights, x, y = layers(5, 192), jnp.ones((128, 192)), jnp.zeros((128, 192))


def train(weights, x, y, rate):
    value, gradients = jax.value_and_grad(loss)(weights, x, y)
    return [weight - rate * gradient for weight, gradient in zip(weights, gradients)], value


train = jax.jit(train) if FIXED else partial(jax.jit, static_argnames="rate")(train)


def step(i):
    global weights
    weights, value = train(weights, x, y, rate=1e-2 / (1 + i))
    value.block_until_ready()


loop(step, n=15)
