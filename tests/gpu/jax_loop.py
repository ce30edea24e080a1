#!/usr/bin/env python3
"""A JAX loop: a function under jit, called again and again, each time until its result is there.

    jax_loop.py [--iterations N] [--warmup N]

XLA makes CUDA graphs of it. The host waits by a host function of the stream and a condition
variable, with no CUDA call that synchronises. The loop lies between cuProfilerStart and
cuProfilerStop. Prints the median of a step, the loop's time, and the time that the main thread was
on a processor, all in us and by the operating system's clocks; and the zoo's line of truth.
"""
import argparse
import os
import statistics
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../zoo"))

import zoo  # pylint: disable=wrong-import-position

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    zoo.skip(error)

LAYERS, SIZE = 24, 1024


@jax.jit
def model(state, weights):
    for weight in weights:
        state = jnp.tanh(state @ weight)
    return state


def main():
    parser = argparse.ArgumentParser(description="A JAX loop.")
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--warmup", type=int, default=20)
    arguments = parser.parse_args()
    if not any(device.platform == "gpu" for device in jax.devices()):
        zoo.skip("JAX has no GPU")
    keys = jax.random.split(jax.random.key(1), LAYERS + 1)
    weights = [jax.random.normal(key, (SIZE, SIZE), jnp.bfloat16) / 32 for key in keys[1:]]
    state = jax.random.normal(keys[0], (SIZE, SIZE), jnp.bfloat16)
    for _ in range(arguments.warmup):
        state = model(state, weights).block_until_ready()
    steps = []
    with zoo.driver_profiler():
        loop, cpu = time.perf_counter(), time.thread_time()
        for _ in range(arguments.iterations):
            begin = time.perf_counter()
            state = model(state, weights).block_until_ready()
            steps.append(time.perf_counter() - begin)
        cpu, loop = time.thread_time() - cpu, time.perf_counter() - loop
    if not bool(jnp.isfinite(state).all()):
        raise SystemExit("the result is not finite")
    print(f"step_us {statistics.median(steps) * 1e6:.1f}")
    print(f"loop_us {loop * 1e6:.1f}\ncpu_us {cpu * 1e6:.1f}")
    zoo.say_truth(steps)


if __name__ == "__main__":
    main()
