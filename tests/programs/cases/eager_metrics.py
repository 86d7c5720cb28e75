"""The step is compiled; accuracy, precision, recall and norms behind it are not."""

import jax
import jax.numpy as jnp
from common import FIXED, forward, layers, loop, update

weights, x, y = layers(4, 128), jnp.ones((64, 128)), jnp.zeros((64, 128))
train = jax.jit(update)


def metrics(weights, x, y):
    out = forward(weights, x)
    right = (out > 0) == (y > 0)
    true = jnp.sum(right & (y > 0))
    precision = true / jnp.maximum(jnp.sum(out > 0), 1)
    recall = true / jnp.maximum(jnp.sum(y > 0), 1)
    norms = [jnp.sqrt(jnp.sum(jnp.square(w))) for w in weights]
    return jnp.mean(right), precision, recall, 2 * precision * recall / jnp.maximum(precision + recall, 1e-6), norms


if FIXED:
    metrics = jax.jit(metrics)


def step(i):
    global weights
    weights, value = train(weights, x, y)
    jax.block_until_ready(metrics(weights, x, y))


loop(step)
