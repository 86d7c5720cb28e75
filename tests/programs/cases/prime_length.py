"""Rows of 4099 samples, a prime number, are filtered in the frequency domain as they are."""
import jax
import jax.numpy as jnp
from common import FIXED, loop
LENGTH = 4099
rows = jax.random.normal(jax.random.key(1), (256, LENGTH))


@jax.jit
def smooth(rows):
    count = 4320 if FIXED else LENGTH
    spectrum = jnp.fft.rfft(rows, n=count)
    gain = jnp.exp(-jnp.arange(spectrum.shape[-1]) / 200)
    return jnp.fft.irfft(spectrum * gain, n=count)[:, :LENGTH]


def step(i):
    smooth(rows).block_until_ready()


loop(step)
