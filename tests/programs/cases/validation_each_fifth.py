"""All of a validation set is evaluated every fifth step; where that is left out, never."""
import jax
import jax.numpy as jnp
from common import FIXED, layers, loop, loss, update
weights = layers(4, 384)
x, y = (jax.random.normal(jax.random.key(n), (256, 384)) for n in (1, 2))
held_out = jax.random.normal(jax.random.key(3), (4096, 384))
train, evaluate = jax.jit(update), jax.jit(loss)


def step(i):
    global weights
    weights, value = train(weights, x, y)
    if i % 5 == 4 and not FIXED:
        value = evaluate(weights, held_out, held_out)
    jax.block_until_ready((weights, value))


loop(step)
