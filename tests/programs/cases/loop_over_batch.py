"""A Python loop calls the model for each row of a batch and joins the results, where one call takes the batch."""

import jax
import jax.numpy as jnp
from common import FIXED, forward, layers, loop

weights = layers(3, 128)
rows = jax.random.normal(jax.random.key(3), (96, 128))
model = jax.jit(forward)


def step(i):
    if FIXED:
        out = model(weights, rows)
    else:
        out = jnp.stack([model(weights, rows[k]) for k in range(96)])
    out.block_until_ready()


loop(step)
