"""A training loop in JAX that serves its profiler: `loop.py PORT`. SIGUSR1 makes its steps three times as slow."""

import signal
import sys
import time

import jax
import jax.numpy as jnp

pause = 0.005


def slower(*_):
    global pause
    pause = 0.05


signal.signal(signal.SIGUSR1, slower)
jax.profiler.start_server(int(sys.argv[1]))


@jax.jit
def step(x, w):
    return jnp.tanh(x @ w)


x = w = jnp.ones((256, 256))
step(x, w).block_until_ready()
print("ready", flush=True)
number = 0
while True:
    with jax.profiler.StepTraceAnnotation("train", step_num=number):
        x = step(x, w).block_until_ready()
        time.sleep(pause)
    number += 1
