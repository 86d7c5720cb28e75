"""Tables of sines, cosines and a bias are computed anew inside of each decode step, where they could be made once."""
import jax
import jax.numpy as jnp
from common import FIXED, loop
S, D, B = 2048, 128, 4
keys = jax.random.split(jax.random.key(0), 4)
w = [jax.random.normal(k, (D, D)) * 0.08 for k in keys]
cache = jax.random.normal(jax.random.key(5), (B, S, D))
token = jnp.ones((B, D))


def tables():
    angle = jnp.arange(S, dtype=jnp.float32)[:, None] / 10000 ** (jnp.arange(D // 2) / (D // 2))
    return jnp.sin(angle), jnp.cos(angle)


made = jax.jit(tables)()


@jax.jit
def decode(w, cache, token, at, made):
    sin, cos = made if FIXED else tables()
    a, b = jnp.split(cache @ w[1], 2, -1)
    k = jnp.concatenate([a * cos - b * sin, a * sin + b * cos], -1)
    s = jnp.einsum("bd,bsd->bs", token @ w[0], k) * 0.09
    s = jnp.where(jnp.arange(S) <= at, s, -1e9)
    token = jnp.einsum("bs,bsd->bd", jax.nn.softmax(s), cache @ w[2]) @ w[3]
    return jnp.tanh(token), cache


def step(i):
    global token
    token, _ = decode(w, cache, token, i, made)
    token.block_until_ready()


loop(step, n=40)
