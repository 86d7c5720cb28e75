"""A depthwise convolution by feature_group_count, which XLA has no fast way for on the CPU; nine shifted products do."""
import jax
import jax.numpy as jnp
from common import FIXED, loop
C = 96
x = jax.random.normal(jax.random.key(0), (4, 32, 32, C))
depth = jax.random.normal(jax.random.key(1), (3, 3, 1, C)) * 0.2
point = jax.random.normal(jax.random.key(2), (C, C)) * 0.1


def depthwise(x):
    if FIXED:
        padded = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
        return sum(padded[:, a:a + 32, b:b + 32] * depth[a, b, 0] for a in range(3) for b in range(3))
    return jax.lax.conv_general_dilated(x, depth, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=C)


@jax.jit
def network(x):
    for _ in range(3):
        x = x + jax.nn.relu(depthwise(x) @ point)
    return x


def step(i):
    network(x).block_until_ready()


loop(step)
