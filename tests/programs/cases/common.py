"""What the programs share: a small model, and `loop`, which `measure.py` replaces. FIXED=1 leaves the slowness out."""

import os
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp

FIXED = os.environ.get("FIXED") == "1"


def layers(count, width, seed=0):
    keys = jax.random.split(jax.random.key(seed), count)
    return [jax.random.normal(key, (width, width)) * 0.05 for key in keys]


def forward(weights, x):
    for weight in weights:
        x = jnp.tanh(x @ weight)
    return x


def loss(weights, x, y):
    return jnp.mean((forward(weights, x) - y) ** 2)


def update(weights, x, y):
    value, gradients = jax.value_and_grad(loss)(weights, x, y)
    return [weight - 1e-2 * gradient for weight, gradient in zip(weights, gradients)], value


def loop(step, n=20, warm=3):
    for i in range(warm):
        step(i)
    began = time.perf_counter()
    for i in range(warm, warm + n):
        step(i)
    print(f"{(time.perf_counter() - began) / n * 1e3:.2f} ms/step", flush=True)
