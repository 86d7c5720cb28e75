"""Image statistics by a scan over 2400 small patches where one batched operation does."""
import jax
import jax.numpy as jnp
from common import FIXED, loop
patches = jax.random.normal(jax.random.key(0), (2400, 8, 8))
kernel = jax.random.normal(jax.random.key(1), (8, 8)) * 0.2
w = jax.random.normal(jax.random.key(2), (64, 64)) * 0.05


def feature(patch):
    return jnp.tanh(kernel @ patch @ kernel.T).reshape(-1)


@jax.jit
def describe(patches, w):
    if FIXED:
        features = jax.vmap(feature)(patches)
    else:
        _, features = jax.lax.scan(lambda c, p: (c, feature(p)), 0.0, patches)
    for _ in range(6):
        features = jnp.tanh(features @ w)
    return features


def step(i):
    describe(patches, w).block_until_ready()


loop(step, n=40)
