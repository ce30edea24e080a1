"""Loops whose time lies in known lines: advice.py graph | host | package FOLDER.

graph: nodes that `kernel` makes and `replay` launches. host: `tokenise` between the calls of
`step`. package: `norm` of a package in FOLDER launches by a function of PyTorch.
"""
import ctypes
import sys

import truth
from truth import check, cuda, launch, wait


def kernel(stream):
    size = (1,) * 6 + (0, stream, None, None)
    check(cuda.cuLaunchKernel(truth.gpu.function, *size))


def capture(stream):
    graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
    check(cuda.cuStreamBeginCapture_v2(stream, 0))
    for _ in range(20):
        kernel(stream)
    check(cuda.cuStreamEndCapture(stream, ctypes.byref(graph)))
    check(cuda.cuGraphInstantiateWithFlags(ctypes.byref(executable), graph, ctypes.c_uint64(0)))
    return executable


def replay(stream, executable):
    check(cuda.cuGraphLaunch(executable, stream))
    check(cuda.cuStreamSynchronize(stream))


def graph():
    stream = ctypes.c_void_p()
    check(cuda.cuStreamCreate(ctypes.byref(stream), 1))
    executable = capture(stream)
    check(cuda.cuProfilerStart())
    for _ in range(20):
        replay(stream, executable)
    check(cuda.cuProfilerStop())


def tokenise():
    x = 0
    for i in range(500000):
        x += i * i % 7
    return x


def step():
    launch()
    tokenise()
    launch()
    tokenise()
    wait()


def host():
    for _ in range(20):
        step()


def package(folder):
    sys.path.insert(0, folder)  # before an installed PyTorch
    import pack
    size = (1,) * 6 + (0, None, None, None)
    for _ in range(20):
        for _ in range(5):
            pack.norm(cuda.cuLaunchKernel, (truth.gpu.function, *size))
        check(cuda.cuCtxSynchronize())


truth.start()
globals()[sys.argv[1]](*sys.argv[2:])
