"""vmap of a cond: both branches are computed for all rows, though 1 in 4 needs the expensive one."""
import jax
import jax.numpy as jnp
from common import FIXED, loop
B, D = 128, 96
x = jax.random.normal(jax.random.key(0), (B, D))
flags = jnp.arange(B) % 4 == 0
chosen = jnp.nonzero(flags)[0]
w = jax.random.normal(jax.random.key(1), (D, D)) * 0.07
cheap_w = jax.random.normal(jax.random.key(2), (D, D)) * 0.07


def costly(row):
    return jax.lax.fori_loop(0, 6, lambda _, r: jnp.tanh(r @ w), row)


def cheap(row):
    return jnp.tanh(row @ cheap_w)


@jax.jit
def route(x, flags, chosen):
    if FIXED:
        out = jax.vmap(cheap)(x)
        return out.at[chosen].set(jax.vmap(costly)(x[chosen]))
    return jax.vmap(lambda row, flag: jax.lax.cond(flag, costly, cheap, row))(x, flags)


def step(i):
    for _ in range(2):
        out = route(x, flags, chosen)
    out.block_until_ready()


loop(step, n=30)
