"""Two hundred small arrays of the host go to the device in each step, one by one."""

import jax
import jax.numpy as jnp
import numpy as np
from common import FIXED, layers, loop, update

weights = layers(2, 64)
names = [f"feature{i}" for i in range(200)]
host = {name: np.ones((64,), np.float32) for name in names}
train = jax.jit(update)


def step(i):
    global weights
    if FIXED:
        x = jnp.asarray(np.stack([host[name] for name in names]))
    else:
        x = jnp.stack([jnp.asarray(host[name]) for name in names])
    weights, value = train(weights, x, x)
    value.block_until_ready()


loop(step)
