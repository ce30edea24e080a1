"""Iterations in a range: in each, `slow` computes four times as long as `fast`."""
import ctypes
import time

import truth
from truth import check, cuda, launch


def slow(seconds=0.04):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))


def fast(seconds=0.01):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))


def outside():
    slow(0.1)


def iteration():
    launch()
    slow()
    fast()
    launch()
    check(cuda.cuCtxSynchronize())


truth.start()
launch()
outside()
check(cuda.cuProfilerStart())
for _ in range(8):
    iteration()
check(cuda.cuProfilerStop())
outside()
launch()
