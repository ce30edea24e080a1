#!/usr/bin/env python3
"""Numba: two kernels, a copy to the device and one back. Iterations have no names."""
import zoo

try:
    import numpy
    from numba import cuda
except (ImportError, AttributeError) as error:  # AttributeError: NumPy is newer than it knows
    zoo.skip(error)

ITERATIONS, NUMBERS = 100, 1 << 18


@cuda.jit
def scale(data, factor):
    i = cuda.grid(1)
    if i < data.size:
        data[i] *= factor


@cuda.jit
def smooth(data, result):
    i = cuda.grid(1)
    if 0 < i < data.size - 1:
        result[i] = (data[i - 1] + data[i] + data[i + 1]) / 3


def main():
    if not cuda.is_available():
        zoo.skip("Numba has no GPU")
    host = cuda.pinned_array(NUMBERS, numpy.float32)
    host[:] = 1
    back = cuda.pinned_array(NUMBERS, numpy.float32)
    stream = cuda.stream()
    data, result = cuda.device_array_like(host), cuda.device_array_like(host)
    blocks = NUMBERS // 256

    def step():
        data.copy_to_device(host, stream)
        scale[blocks, 256, stream](data, numpy.float32(3))
        smooth[blocks, 256, stream](data, result)
        result.copy_to_host(back, stream)
        stream.synchronize()

    try:
        zoo.timed(10, step)
    except (ImportError, OSError, RuntimeError) as error:
        zoo.skip(f"Numba cannot compile: {error}")
    with zoo.driver_profiler():
        seconds = zoo.timed(ITERATIONS, step)
    assert back[1] == 3
    zoo.say_truth(seconds, kernels=2 * ITERATIONS)


if __name__ == "__main__":
    main()
