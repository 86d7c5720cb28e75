"""`jax_debug_nans` was left on."""
import jax
from common import FIXED, layers, loop, update
jax.config.update("jax_debug_nans", not FIXED)
weights = layers(60, 128)
x, y = (jax.random.normal(jax.random.key(n), (32, 128)) for n in (1, 2))
train = jax.jit(update)


def step(i):
    global weights
    weights, value = train(weights, x, y)
    value.block_until_ready()


loop(step)
