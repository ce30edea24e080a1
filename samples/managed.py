#!/usr/bin/env python3
"""Managed memory that goes back and forth: the host writes an array, a kernel doubles it, the host
reads it. Each round moves the array to the GPU and back, with page faults on both sides.

    miniprof nvprof --print-summary python3 samples/managed.py
"""
import argparse
import ctypes

import cupy
import numpy


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    count = arguments.mib * (1 << 20) // 4
    cupy.cuda.set_allocator(cupy.cuda.MemoryPool(cupy.cuda.malloc_managed).malloc)
    on_gpu = cupy.zeros(count, dtype=numpy.float32)
    on_host = numpy.ctypeslib.as_array((ctypes.c_float * count).from_address(on_gpu.data.ptr))
    cupy.cuda.Device().synchronize()
    for turn in range(arguments.rounds):
        on_host[:] = turn
        on_gpu *= 2
        cupy.cuda.Device().synchronize()
        if float(on_host.sum()) != 2.0 * turn * count:
            raise SystemExit("managed.py: a wrong sum")
    print(f"managed: {arguments.rounds} rounds of {arguments.mib} MiB")


if __name__ == "__main__":
    main()
