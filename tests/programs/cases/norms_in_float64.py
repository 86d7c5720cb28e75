"""A transformer encoder whose layer norms and softmax are computed in float64 'for stability'."""
import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
from common import FIXED, loop
F = jnp.float32
WIDE = F if FIXED else jnp.float64
D, H, L, B, S = 128, 8, 3, 4, 256
keys = jax.random.split(jax.random.key(0), 4 * L)
params = [
    {
        "qkv": jax.random.normal(keys[4 * i], (D, 3 * D), F) * 0.05,
        "out": jax.random.normal(keys[4 * i + 1], (D, D), F) * 0.05,
        "up": jax.random.normal(keys[4 * i + 2], (D, 4 * D), F) * 0.05,
        "down": jax.random.normal(keys[4 * i + 3], (4 * D, D), F) * 0.05,
    }
    for i in range(L)
]


def norm(x):
    wide = x.astype(WIDE)
    wide = (wide - wide.mean(-1, keepdims=True)) / jnp.sqrt(wide.var(-1, keepdims=True) + 1e-5)
    return wide.astype(F)


def block(p, x):
    q, k, v = jnp.split((norm(x) @ p["qkv"]).reshape(B, S, H, -1), 3, axis=-1)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * F(0.125)
    weights = jax.nn.softmax(scores.astype(WIDE)).astype(F)
    x = x + jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(B, S, D) @ p["out"]
    return x + jax.nn.gelu(norm(x) @ p["up"]) @ p["down"]


@jax.jit
def encode(params, x):
    for p in params:
        x = block(p, x)
    return x


x = jax.random.normal(jax.random.key(9), (B, S, D), F)


def step(i):
    encode(params, x).block_until_ready()


loop(step)
