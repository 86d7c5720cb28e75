"""All weights are copied to the host after each step, for a norm that the device could give."""

import jax
import jax.numpy as jnp
import numpy as np
from common import FIXED, layers, loop, update

weights, x, y = layers(6, 1536), jnp.ones((8, 1536)), jnp.zeros((8, 1536))
train = jax.jit(update)
norm_of = jax.jit(lambda weights: sum(jnp.vdot(w, w) for w in weights))
norms = []


def step(i):
    global weights
    weights, value = train(weights, x, y)
    if FIXED:
        norms.append(float(norm_of(weights)))
    else:
        norms.append(sum(float((np.array(w, dtype=np.float64) ** 2).sum()) for w in weights))


loop(step)
