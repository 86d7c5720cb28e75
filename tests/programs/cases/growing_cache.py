"""A decoder joins one more key to its cache at each token: every length is a program of its own."""

import jax
import jax.numpy as jnp
from common import FIXED, layers, loop

WIDTH, LONGEST = 256, 64
weights = layers(4, WIDTH)
token = jnp.ones((8, 1, WIDTH))
cache = jnp.zeros((8, LONGEST if FIXED else 1, WIDTH))


def attend(weights, token, cache, length):
    query, key, value, out = weights
    scores = jnp.einsum("bqd,bkd->bqk", token @ query, cache @ key)
    scores = jnp.where(jnp.arange(cache.shape[1]) <= length, scores, -1e9)
    return token + jax.nn.softmax(scores) @ (cache @ value) @ out


@jax.jit
def grown(weights, token, cache):
    cache = jnp.concatenate([cache, token], axis=1)
    return attend(weights, token, cache, cache.shape[1]), cache


@jax.jit
def in_place(weights, token, cache, length):
    cache = jax.lax.dynamic_update_slice(cache, token, (0, length, 0))
    return attend(weights, token, cache, length), cache


def step(i):
    global token, cache
    token, cache = in_place(weights, token, cache, i) if FIXED else grown(weights, token, cache)
    token.block_until_ready()


loop(step)
