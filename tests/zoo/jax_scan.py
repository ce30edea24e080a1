#!/usr/bin/env python3
"""JAX: a recurrent loop by lax.scan under jit, which XLA makes a while loop. Iterations have no
names.
"""
import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import zoo  # pylint: disable=wrong-import-position

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    zoo.skip(error)

ITERATIONS, LENGTH, SIZE = 60, 16, 512


@jax.jit
def model(state, weight, inputs):
    def cell(carry, value):
        carry = jnp.tanh(carry @ weight + value)
        return carry, carry.sum()
    return jax.lax.scan(cell, state, inputs)


def main():
    if jax.devices()[0].platform != "gpu":
        zoo.skip("JAX has no GPU")
    keys = jax.random.split(jax.random.key(1), 2)
    weight = jax.random.normal(keys[0], (SIZE, SIZE)) / SIZE ** 0.5
    inputs = jax.random.normal(keys[1], (LENGTH, 64, SIZE))
    state = jnp.zeros((64, SIZE))

    def step():
        jax.block_until_ready(model(state, weight, inputs))

    zoo.timed(10, step)
    with zoo.driver_profiler():
        seconds = zoo.timed(ITERATIONS, step)
    zoo.say_truth(seconds)


if __name__ == "__main__":
    main()
