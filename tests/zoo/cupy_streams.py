#!/usr/bin/env python3
"""CuPy on two streams: copies from pinned memory, elementwise kernels, and reductions by CUB, whose
NVTX ranges are not the program's. Iterations have no names.
"""
import zoo

try:
    import cupy
    import cupyx
    import cupyx.profiler
except ImportError as error:
    zoo.skip(error)

ITERATIONS, NUMBERS = 100, 1 << 20


def main():
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        zoo.skip(error)
    host = cupyx.empty_pinned(NUMBERS, cupy.float32)
    host[:] = 1.5
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
    data = [cupy.zeros(NUMBERS, cupy.float32) for _ in range(2)]
    sums = [cupy.zeros((), cupy.float32) for _ in range(2)]
    copied = cupy.cuda.Event(disable_timing=True)
    cupy.cuda.Device().synchronize()

    def step():
        with streams[0]:
            data[0].set(host, stream=streams[0])
            copied.record(streams[0])
            cupy.sqrt(data[0] * data[0] + 1).sum(out=sums[0])
        with streams[1]:
            streams[1].wait_event(copied)
            cupy.multiply(data[0], 3, out=data[1])
            data[1].sum(out=sums[1])
        for stream in streams:
            stream.synchronize()

    zoo.timed(10, step)
    with cupyx.profiler.profile():
        seconds = zoo.timed(ITERATIONS, step)
    assert abs(float(sums[1]) / (4.5 * NUMBERS) - 1) < 1e-3
    zoo.say_truth(seconds)


if __name__ == "__main__":
    main()
