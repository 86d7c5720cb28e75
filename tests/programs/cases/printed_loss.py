"""A print in the body of a scan: a callback to the host at each of its trips."""

import jax
import jax.numpy as jnp
from common import FIXED, layers, loop

weights = layers(2, 128)


@jax.jit
def run(weights, x):
    def body(x, i):
        x = jnp.tanh(x @ weights[0]) @ weights[1]
        if not FIXED:
            jax.debug.callback(lambda norm: None, jnp.linalg.norm(x))
        return x, None

    return jax.lax.scan(body, x, jnp.arange(64))[0]


x = jnp.ones((64, 128))


def step(i):
    run(weights, x).block_until_ready()
    jax.effects_barrier()


loop(step)
