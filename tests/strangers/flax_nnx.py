#!/usr/bin/env python3
"""Flax NNX: a model whose state is in Python objects, which nnx.jit takes apart and puts together
again in each call. Iterations have no names.
"""
import os
import sys

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../zoo"))

import zoo  # pylint: disable=wrong-import-position

try:
    import jax
    from flax import nnx
except ImportError as error:
    zoo.skip(error)

ITERATIONS, BLOCKS, SIZE = 200, 16, 512


class Block(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.LayerNorm(SIZE, rngs=rngs)
        self.up = nnx.Linear(SIZE, 4 * SIZE, rngs=rngs)
        self.down = nnx.Linear(4 * SIZE, SIZE, rngs=rngs)

    def __call__(self, state):
        return state + self.down(nnx.gelu(self.up(self.norm(state))))


class Model(nnx.Module):
    def __init__(self, rngs):
        for i in range(BLOCKS):  # an attribute each: what a list may hold differs by version
            setattr(self, f"block{i}", Block(rngs))

    def __call__(self, state):
        for i in range(BLOCKS):
            state = getattr(self, f"block{i}")(state)
        return state


@nnx.jit
def forward(model, data):
    return model(data)


def main():
    if jax.devices()[0].platform != "gpu":
        zoo.skip("JAX has no GPU")
    model = Model(nnx.Rngs(1))
    data = jax.random.normal(jax.random.key(1), (64, SIZE))

    def step():
        jax.block_until_ready(forward(model, data))

    zoo.timed(10, step)
    with zoo.driver_profiler():
        seconds = zoo.timed(ITERATIONS, step)
    assert bool(jax.numpy.isfinite(forward(model, data)).all())
    zoo.say_truth(seconds)


if __name__ == "__main__":
    main()
