"""Another Python thread is busy all the time and holds the interpreter's lock while the loop wants to launch."""
import threading
import time
import jax
import jax.numpy as jnp
from common import FIXED, loop


def busy():
    count = 0
    while True:
        if FIXED:
            time.sleep(0.05)
        else:
            for k in range(1000):
                count += k * k


threading.Thread(target=busy, daemon=True).start()
w = jax.random.normal(jax.random.key(0), (64, 64)) * 0.1


@jax.jit
def roll(w, x):
    return jax.lax.fori_loop(0, 1500, lambda _, x: jnp.tanh(x @ w), x)


def step(i):
    float(roll(w, jnp.ones((16, 64))).sum())


loop(step, n=30)
